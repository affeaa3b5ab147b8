"""Cycles: whether "better" is one line at all, or A beats B beats C beats A.

Reports the share of cyclic triples, whether luck alone could bend one line of strengths into these results, and
alpha-rank, which orders entrants without assuming a line. Knows no table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from simarena.arena.tournament.ratings.bradley_terry import POINTS, Strengths
from simarena.arena.tournament.ratings.choices import Floats
from simarena.arena.tournament.results import Result

_PRESSURE, _POPULATION = 10.0, 50
_REPLAYS = 400
_NAMED = 5
"""Entrants that the words name at most."""
_LUCK = 0.05
"""Below this, luck is not believed."""


@dataclass(frozen=True)
class Cycles:
    """How far the field is from one line."""

    triples: int
    """Triples of entrants of which every two met and one is ahead."""
    share: float
    """Share of them that are cyclic; a coin toss for every pair would give 0.25. 0 without triples."""
    by_luck: float
    """Share of replays by the fitted line of strengths that stray from it as far as the results do (χ²)."""
    alpha_rank: Mapping[str, float]
    """Entrant → share of time evolution spends on it (Omidshafiei et al. 2019); sums to 1."""

    @property
    def words(self) -> str:
        """The finding in one sentence."""
        if not self.triples:
            return "No three entrants all met with a winner: whether the field has cycles cannot be told."
        shown = f"{self.share:.1%} of {self.triples} triples are cyclic (A beats B beats C beats A)"
        if self.by_luck < _LUCK:
            first = sorted(self.alpha_rank.items(), key=lambda item: (-round(item[1], 6), item[0]))[:_NAMED]
            ranked = ", ".join(f"{name} {part:.0%}" for name, part in first)
            return (
                f"{shown}; luck does not explain how far results stray from one line. Alpha-rank, which "
                f"assumes no line, puts first, by share of evolution's time: {ranked}."
            )
        return f"{shown}; results stray from one line of ratings no further than luck allows."


def cycles(results: Sequence[Result], strengths: Strengths, seed: int = 0) -> Cycles:
    """Cyclic triples of the majority of direct encounters; pairs that never met count by fitted strength."""
    names = strengths.estimate.entrants
    points, meetings = _encounters(results, names)
    gaps = (strengths.estimate.values[:, None] - strengths.estimate.values[None, :]) / POINTS
    triples, share = cyclic(np.sign(2 * points - meetings))
    met, chance = meetings > 0, 1 / (1 + np.exp(-gaps))
    payoff = np.where(met, np.divide(points, meetings, out=np.zeros_like(points), where=met), chance)
    ranks = dict(zip(names, alpha_rank(payoff).tolist(), strict=True))
    return Cycles(triples, share, _by_luck(points, meetings, gaps, strengths.tie, seed), ranks)


def _by_luck(points: Floats, meetings: Floats, gaps: Floats, tie: float, seed: int) -> float:
    """How often replays by the fitted strengths are as far from them as the results: (r + 1) / (replays + 1)."""
    rows, columns = np.nonzero(np.triu(meetings))
    played = meetings[rows, columns]
    weights = np.exp(
        np.stack([gaps[rows, columns] / 2, np.full(len(rows), tie), -gaps[rows, columns] / 2], axis=1)
    )
    odds = weights / weights.sum(axis=1, keepdims=True)
    worth = np.array([1.0, 0.5, 0.0])
    mean = odds @ worth
    variance = np.maximum(odds @ worth**2 - mean**2, 1e-12)
    replayed = np.random.default_rng(seed).multinomial(played.astype(np.int64), odds, size=(_REPLAYS, len(rows)))
    distance = np.square(np.vstack([points[rows, columns], replayed @ worth]) - played * mean) / (
        played * variance
    )
    total = distance.sum(axis=1)
    return float(np.mean(total >= total[0] - 1e-9))


def alpha_rank(payoff: Floats, pressure: float = _PRESSURE, population: int = _POPULATION) -> Floats:
    """Stationary distribution [n] of single mutants taking over a population, payoff[i, j] of i against j.

    Omidshafiei et al. 2019, "α-Rank", equations 8 to 10 for one population; `pressure` is their α, `population`
    their m.
    """
    count = len(payoff)
    if count == 1:
        return np.ones(1)
    edge = pressure * (payoff.T - payoff)  # [resident, mutant]: how much better the mutant does
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        fixation = np.where(np.abs(edge) < 1e-12, 1 / population, np.expm1(-edge) / np.expm1(-population * edge))
    moves = np.nan_to_num(fixation) / (count - 1)
    moves = np.maximum(moves, 1e-300)  # so that there is one answer even where a step is next to impossible
    np.fill_diagonal(moves, 0.0)
    return _stationary(moves)


def _stationary(moves: Floats) -> Floats:
    """The stationary distribution of a chain by its rates off the diagonal.

    Eliminates states one by one without subtraction (Grassmann, Taksar & Heyman 1985), so that rates of very
    different size keep their digits.
    """
    rates = moves.copy()
    last = len(rates) - 1
    for k in range(last, 0, -1):
        rates[:k, k] /= rates[k, :k].sum()
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    share = np.ones(last + 1)
    for k in range(1, last + 1):
        share[k] = share[:k] @ rates[:k, k]
        share[: k + 1] /= share[: k + 1].sum()
    return share


def _encounters(results: Sequence[Result], names: Sequence[str]) -> tuple[Floats, Floats]:
    """(points [n, n], meetings [n, n]): a win is 1, a tie ½; members of two sides all meet."""
    place = {name: k for k, name in enumerate(names)}
    points, meetings = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for result in results:
        scores, teams = result.scores(), result.match.teams()
        for a, b in combinations(scores, 2):
            won = 0.5 + 0.5 * np.sign(round(scores[a] - scores[b], 9))
            for i in (place[result.match.seats[seat]] for seat in teams[a]):
                for j in (place[result.match.seats[seat]] for seat in teams[b]):
                    if i != j:
                        meetings[i, j] += 1
                        meetings[j, i] += 1
                        points[i, j] += won
                        points[j, i] += 1 - won
    return points, meetings


def cyclic(ahead: Floats) -> tuple[int, float]:
    """(decided triples, share cyclic) of a majority matrix of −1, 0 and 1."""
    beats = (ahead > 0).astype(np.float64)
    decided = beats + beats.T
    triples = round(float(np.sum((decided @ decided) * decided)) / 6)
    rings = round(float(np.sum((beats @ beats) * beats.T)) / 3)
    return triples, rings / triples if triples else 0.0
