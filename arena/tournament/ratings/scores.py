"""Mean scores, success and pass^k: ratings where an entrant plays against a task, or for points.

Errors count a mirrored pair, or with one seat a deal that all entrants share, as one observation. They are draws
of a Bayesian bootstrap with a Jeffreys prior of half a success and half a failure: for yes-or-no outcomes of
single matches that is exactly the Beta posterior, so 20 of 20 is not called certain. Opponents met in two or more
pairs are taken as given, so errors are about more games in this field; those met in one pair only count as a
sample of opponents. Knows no strengths.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from simarena.arena.tournament.ratings.choices import Floats
from simarena.arena.tournament.ratings.estimates import Effect, Estimate, effect
from simarena.arena.tournament.results import Result

_REPLICATES = 2000


@dataclass(frozen=True)
class _Sample:
    """Observations of one entrant that weigh alike: one row per cluster."""

    sums: Floats
    counts: Floats
    weights: Floats
    """[B, rows], of mean 1."""


def mean_scores(results: Sequence[Result], *, entrants: Iterable[str] = (), seed: int = 0) -> Estimate:
    """Mean outcome in [0, 1] per entrant over all its seats; 0.5 and (nearly) [0, 1] for one without a match."""
    names = tuple(sorted({*entrants, *(e for r in results for e in r.match.seats.values())}))
    clusters: dict[str, dict[str, list[float]]] = {}
    for result in results:
        for seat, value in result.outcome.items():
            cluster = clusters.setdefault(result.match.pair, {})
            cluster.setdefault(result.match.seats[seat], []).append(value)
    alone = {r.match.pair for r in results if r.outcome and len(set(r.match.seats.values())) == 1}
    field = {pair: frozenset(cluster) for pair, cluster in sorted(clusters.items()) if pair not in alone}
    met = {entrants: sum(other == entrants for other in field.values()) for entrants in set(field.values())}
    chance = np.random.default_rng(seed)
    weights = {pair: _weights(chance, met.get(field.get(pair, frozenset()), 1)) for pair in sorted(clusters)}
    values, draws = np.full(len(names), 0.5), np.empty((_REPLICATES, len(names)))
    for place, name in enumerate(names):
        strata: dict[frozenset[str], list[str]] = {}
        for pair in weights:
            if name in clusters[pair]:
                company = field.get(pair, frozenset())
                strata.setdefault(company if met.get(company, 1) > 1 else frozenset(), []).append(pair)
        samples = [
            _sample([clusters[pair][name] for pair in pairs], [weights[p] for p in pairs])
            for pairs in strata.values()
        ]
        if samples:
            values[place] = sum(s.sums.sum() for s in samples) / sum(s.counts.sum() for s in samples)
        draws[:, place] = _draws(samples, chance)
    return Estimate(names, values, draws)


def _weights(chance: np.random.Generator, alike: int) -> Floats:
    """[B] weights of one cluster among `alike` of the same entrants.

    Exponential for one of many. Few repetitions would understate their own variance, by (n − 1) / (n + 1): gamma
    weights of shape (n − 2) / n give it in full.
    """
    shape = max(alike - 2, 1) / alike if alike > 1 else 1.0
    return chance.gamma(shape, size=_REPLICATES) / shape


def _sample(outcomes: Sequence[Sequence[float]], weights: Sequence[Floats]) -> _Sample:
    sums, counts = np.array([sum(values) for values in outcomes]), np.array([len(values) for values in outcomes])
    return _Sample(sums, counts.astype(np.float64), np.stack(weights, axis=1))


def _draws(samples: Sequence[_Sample], chance: np.random.Generator) -> Floats:
    """[B] means: those of the samples, in their given shares, and the prior as one more observation."""
    prior = chance.gamma(0.5, size=(2, _REPLICATES))
    weight, total = np.zeros(_REPLICATES), np.zeros(_REPLICATES)
    share = sum(sample.counts.sum() for sample in samples)
    for sample in samples:
        mean = (sample.weights @ sample.sums) / np.maximum(sample.weights @ sample.counts, 1e-300)
        total += mean * sample.counts.sum() / share
        weight += sample.weights.sum(axis=1)
    return np.asarray((weight * total + prior[0]) / (weight + prior.sum(axis=0)))


@dataclass(frozen=True)
class Success:
    """How reliably one entrant solves its tasks."""

    entrant: str
    tasks: int
    """Deals it has played."""
    trials: int
    rate: Effect
    """Share of trials that succeed."""
    pass_hat: dict[int, Effect]
    """k → pass^k: the chance that k fresh trials of one task all succeed (Yao et al. 2024, tau-bench)."""


def success(results: Sequence[Result], k: Sequence[int] = (1, 2, 4, 8), seed: int = 0) -> tuple[Success, ...]:
    """By entrant, best pass^1 first. A trial succeeds with outcome 1; trials of one deal are of one task.

    pass^k is the mean over tasks of C(successes, k) / C(trials, k), unbiased; only for k no larger than every
    task's trials.
    """
    trials: dict[str, dict[int, list[bool]]] = {}
    for result in results:
        for seat, value in result.outcome.items():
            trials.setdefault(result.match.seats[seat], {}).setdefault(result.match.deal, []).append(value >= 1)
    rows = [_success(entrant, tasks, k, seed) for entrant, tasks in sorted(trials.items())]
    return tuple(sorted(rows, key=lambda row: (-row.rate.value, row.entrant)))


def _success(entrant: str, tasks: dict[int, list[bool]], k: Sequence[int], seed: int) -> Success:
    outcomes = [tasks[deal] for deal in sorted(tasks)]
    feasible = [size for size in k if size <= min(len(trials) for trials in outcomes)]
    return Success(
        entrant=entrant,
        tasks=len(outcomes),
        trials=sum(len(trials) for trials in outcomes),
        rate=share(outcomes, seed),
        pass_hat={
            size: share([[comb(sum(trials), size) / comb(len(trials), size)] for trials in outcomes], seed)
            for size in feasible
        },
    )


def share(outcomes: Sequence[Sequence[float]], seed: int = 0) -> Effect:
    """The mean of values in [0, 1], given by cluster, with its interval; ½ and (nearly) [0, 1] without any."""
    chance = np.random.default_rng(seed)
    if not outcomes:
        return effect(0.5, _draws([], chance))
    sample = _sample(outcomes, [_weights(chance, 1) for _ in outcomes])
    return effect(float(sample.sums.sum() / sample.counts.sum()), _draws([sample], chance))
