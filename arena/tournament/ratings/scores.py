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
    """[B, rows]: weights of mean 1, or multipliers of mean 0 and variance 1 if `given`."""
    given: bool = False
    """Whether they are games against one opponent, so that only chance tells them apart."""

    def errors(self) -> Floats:
        """[B] errors of the mean of the rows. If `given`, their variance is s²/n, even of two rows."""
        mean, count = self.sums.sum() / self.counts.sum(), len(self.sums)
        if not self.given:
            return np.asarray((self.weights @ self.sums) / (self.weights @ self.counts) - mean)
        return np.asarray(self.weights @ (self.sums / self.counts - mean) / np.sqrt(count * (count - 1)))

    @property
    def reach(self) -> float:
        """How far a row lies from the mean of all, at most."""
        return float(np.max(np.abs(self.sums / self.counts - self.sums.sum() / self.counts.sum())))


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
    weights = {pair: _weights(chance, met.get(field.get(pair, frozenset()), 1) > 1) for pair in sorted(clusters)}
    samples: dict[str, list[_Sample]] = {}
    for name in names:
        strata: dict[frozenset[str], list[str]] = {}
        for pair in weights:
            if name in clusters[pair]:
                company = field.get(pair, frozenset())
                strata.setdefault(company if met.get(company, 1) > 1 else frozenset(), []).append(pair)
        samples[name] = [
            _sample([clusters[pair][name] for pair in pairs], [weights[p] for p in pairs], given=bool(company))
            for company, pairs in strata.items()
        ]
    reach = max((s.reach for of_one in samples.values() for s in of_one if s.given), default=0.0)
    values = [_mean(of_one) for of_one in samples.values()]
    draws = [_draws(of_one, chance, reach) for of_one in samples.values()]
    return Estimate(names, np.array(values), np.stack(draws, axis=1) if draws else np.empty((_REPLICATES, 0)))


def _mean(samples: Sequence[_Sample]) -> float:
    return sum(s.sums.sum() for s in samples) / sum(s.counts.sum() for s in samples) if samples else 0.5


def _weights(chance: np.random.Generator, given: bool) -> Floats:
    """[B] of one cluster: exponential weights, or for a given opponent normal multipliers of its deviation."""
    return chance.normal(size=_REPLICATES) if given else chance.exponential(size=_REPLICATES)


def _sample(outcomes: Sequence[Sequence[float]], weights: Sequence[Floats], given: bool = False) -> _Sample:
    sums, counts = np.array([sum(values) for values in outcomes]), np.array([len(values) for values in outcomes])
    return _Sample(sums, counts.astype(np.float64), np.stack(weights, axis=1), given)


def _draws(samples: Sequence[_Sample], chance: np.random.Generator, reach: float = 1.0) -> Floats:
    """[B] means: those of the samples, in their given shares, and the prior as one more observation.

    The prior lies at 0 and 1. Where all opponents are given it lies no farther off than `reach`, the most by which
    any two games of one meeting differed from their mean: agents that play alike each time leave nothing open.
    """
    low_weight, high_weight = chance.gamma(0.5, size=(2, _REPLICATES))
    weight, error = np.zeros(_REPLICATES), np.zeros(_REPLICATES)
    total = sum(sample.counts.sum() for sample in samples)
    for sample in samples:
        error += sample.errors() * sample.counts.sum() / total
        weight += len(sample.sums) if sample.given else sample.weights.sum(axis=1)
    if samples and all(sample.given for sample in samples):
        freedom = sum(len(sample.sums) - 1 for sample in samples)
        error *= np.sqrt(freedom / chance.chisquare(freedom, size=_REPLICATES))  # Student's t for few games
    else:
        reach = 1.0
    mean = np.clip(_mean(samples) + error, 0.0, 1.0)
    low, high = np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0)
    return np.asarray(
        (weight * mean + low_weight * low + high_weight * high) / (weight + low_weight + high_weight)
    )


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
    sample = _sample(outcomes, [_weights(chance, False) for _ in outcomes])
    return effect(float(sample.sums.sum() / sample.counts.sum()), _draws([sample], chance))
