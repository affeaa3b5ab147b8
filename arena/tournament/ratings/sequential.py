"""When to stop: tests that may be looked at after every match and still keep their error rate.

Each claim is a bet against it on every mirrored pair; capital that grew to 1/level refutes it, and by Ville's
inequality a true claim is ever refuted with probability at most `level` (Waudby-Smith & Ramdas 2024, betting).
It holds for any scores in [0, 1], ties included, and any rule of stopping. Knows no scheduler.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simarena.arena.errors import UsageError
from simarena.arena.tournament.ratings.choices import Floats
from simarena.arena.tournament.results import Result

Answer = Literal["first", "second", "equal", "open"]
_STAKES = np.geomspace(0.02, 0.95, 24)
"""Shares of the capital at risk; a mixture of all of them needs no tuning."""


@dataclass(frozen=True)
class Question:
    """Which of two entrants is better, with probability of a wrong answer at most `error` for ever."""

    first: str
    second: str
    error: float = 0.05
    margin: float = 0.0
    """Answer `equal` once the mean score surely lies within ½ ± margin; 0: never."""

    def __post_init__(self) -> None:
        if not 0 < self.error < 1 or not 0 <= self.margin < 0.5:
            raise UsageError(f"error = {self.error} must be in (0, 1), margin = {self.margin} in [0, 0.5)")

    def after(self, results: Sequence[Result]) -> Answer:
        """The answer so far. Give whole mirrored pairs in the order they were scheduled, not as they ended."""
        return self.answer(pair_scores(results, self.first, self.second))

    def answer(self, scores: Sequence[float]) -> Answer:
        """The same from the first entrant's score in [0, 1] of every pair; the first answer reached stays."""
        x = np.asarray(scores, dtype=np.float64)
        level = self.error / 2
        above, below = _refuted(x, 0.5, level), _refuted(1 - x, 0.5, level)
        reached: list[tuple[int, Answer]] = [(above, "first"), (below, "second")]
        if self.margin:
            close = max(_refuted(x, 0.5 - self.margin, level), _refuted(1 - x, 0.5 - self.margin, level))
            reached.append((close, "equal"))
        when, answer = min(reached)
        return answer if when < len(x) else "open"


def leader(results: Sequence[Result], entrants: Sequence[str], error: float = 0.05) -> str | None:
    """The entrant that surely beats every other head to head, or None so far.

    Wrong with probability at most `error`, however many entrants and looks: each rival must be beaten at
    error / (entrants − 1).
    """
    if len(entrants) < 2:
        return None
    level = error / (len(entrants) - 1)

    def beats(first: str, second: str) -> bool:
        scores = np.array(pair_scores(results, first, second))
        return _refuted(scores, 0.5, level) < len(scores)

    return next((a for a in entrants if all(beats(a, b) for b in entrants if b != a)), None)


def pair_scores(results: Sequence[Result], first: str, second: str) -> list[float]:
    """The first's mean points (win 1, tie ½) in each pair of matches against the second, in the order given."""
    pairs: dict[str, list[float]] = {}
    for result in results:
        scores, teams = result.scores(), result.match.teams().items()
        sides = {
            entrant: side for side, seats in teams for entrant in {result.match.seats[seat] for seat in seats}
        }
        if len(scores) == 2 and {first, second} == set(sides):
            difference = round(scores[sides[first]] - scores[sides[second]], 9)
            pairs.setdefault(result.match.pair, []).append(0.5 + 0.5 * float(np.sign(difference)))
    return [sum(points) / len(points) for points in pairs.values()]


def _refuted(scores: Floats, mean: float, level: float) -> int:
    """Index of the score that refutes "the mean is at most `mean`"; len(scores) if none does."""
    wealth = np.cumsum(np.log1p(np.outer(scores - mean, _STAKES / mean)), axis=0)
    capital = np.logaddexp.reduce(wealth, axis=1) - np.log(len(_STAKES))
    reached = np.nonzero(capital >= -np.log(level))[0]
    return int(reached[0]) if len(reached) else len(scores)
