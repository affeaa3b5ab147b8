"""Mean scores, success and pass^k: ratings where an entrant plays against a task, not against entrants.

Errors count a pair (for one seat: a deal, shared by all entrants) as one observation. They are draws of a
Bayesian bootstrap with a Jeffreys prior, half a success and half a failure: for yes-or-no outcomes of single
matches that is exactly the Beta posterior, so 20 of 20 is not called certain. Knows no strengths.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from simarena.arena.tournament.ratings.choices import Floats
from simarena.arena.tournament.ratings.estimates import Effect, Estimate, effect
from simarena.arena.tournament.results import Result

_REPLICATES = 2000


def mean_scores(results: Sequence[Result], *, entrants: Iterable[str] = (), seed: int = 0) -> Estimate:
    """Mean outcome in [0, 1] per entrant over all its seats; 0.5 and (nearly) [0, 1] for one without a match."""
    names = tuple(sorted({*entrants, *(e for r in results for e in r.match.seats.values())}))
    scored = [r for r in results if r.outcome]
    clusters = sorted({r.match.pair for r in scored})
    sums, counts = np.zeros((len(clusters), len(names))), np.zeros((len(clusters), len(names)))
    row, column = {c: k for k, c in enumerate(clusters)}, {n: k for k, n in enumerate(names)}
    for result in scored:
        for seat, entrant in result.match.seats.items():
            sums[row[result.match.pair], column[entrant]] += result.outcome[seat]
            counts[row[result.match.pair], column[entrant]] += 1
    total = counts.sum(axis=0)
    values = np.divide(sums.sum(axis=0), total, out=np.full(len(names), 0.5), where=total > 0)
    return Estimate(names, values, _draws(sums, counts, np.random.default_rng(seed)))


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
    wins, played = (np.array([f(t) for t in outcomes], dtype=np.float64)[:, None] for f in (sum, len))
    feasible = [size for size in k if size <= min(len(t) for t in outcomes)]
    passed = {size: np.array([[comb(sum(t), size) / comb(len(t), size)] for t in outcomes]) for size in feasible}
    chance = np.random.default_rng(seed)
    return Success(
        entrant=entrant,
        tasks=len(outcomes),
        trials=int(played.sum()),
        rate=effect(float(wins.sum() / played.sum()), _draws(wins, played, chance)[:, 0]),
        pass_hat={
            size: effect(float(share.mean()), _draws(share, np.ones_like(share), chance)[:, 0])
            for size, share in passed.items()
        },
    )


def _draws(sums: Floats, counts: Floats, chance: np.random.Generator) -> Floats:
    """[B, n] means under Dirichlet weights of the clusters [C, n] and the prior's two half observations."""
    weights = chance.exponential(size=(_REPLICATES, len(sums)))
    size = np.divide(
        counts.sum(axis=0), (counts > 0).sum(axis=0), out=np.ones(counts.shape[1]), where=counts.any(axis=0)
    )
    prior = size * chance.gamma(0.5, size=(2, _REPLICATES, counts.shape[1]))
    return np.asarray((weights @ sums + prior[0]) / (weights @ counts + prior.sum(axis=0)))
