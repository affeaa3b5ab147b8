"""Estimates with their error: what every method of rating gives, and all that is read from it.

Errors are draws, one row a possible world, so intervals, gaps and ranks of any method are read the same way.
Rank intervals follow Mogstad, Romano, Shaikh & Wilhelm (2024, "Inference for ranks"): an entrant's best rank is
one more than the number of entrants surely better. "Surely" holds for all pairs at once: the bound is the 95 %
quantile of the largest studentised gap over all pairs, so more entrants do not mean more false claims.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simarena.arena.tournament.ratings.choices import Floats

LEVEL = 0.95
_PAIRWISE_DRAWS, _PAIRWISE_WORK = (100, 500), 2e8
"""Draws used for the largest gap; every one looks at all pairs, so a thousand entrants get fewer."""


@dataclass(frozen=True)
class Effect:
    """One number with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2g} ({self.low:+.2g} to {self.high:+.2g})"


@dataclass(frozen=True)
class Estimate:
    """Values of n entrants and B draws of where the truth may lie instead."""

    entrants: tuple[str, ...]
    values: Floats
    """[n]."""
    draws: Floats
    """[B, n], centred where the method's error is: their quantiles are the interval."""
    in_order: Floats | None = None
    """[B, n]: draws without what draws the whole table out or in, by which the order is judged; None: `draws`."""

    def effect(self, entrant: str) -> Effect:
        place = self.entrants.index(entrant)
        return effect(float(self.values[place]), self.draws[:, place])

    def gap(self, first: str, second: str) -> Effect:
        """How much better the first is; this pair alone, without allowance for other pairs."""
        i, j = self.entrants.index(first), self.entrants.index(second)
        return effect(float(self.values[i] - self.values[j]), self.draws[:, i] - self.draws[:, j])

    @cached_property
    def better(self) -> "np.ndarray[tuple[int, int], np.dtype[np.bool_]]":
        """[n, n]: whether the row is surely better than the column, at 95 % for all pairs at once."""
        gaps = self.values[:, None] - self.values[None, :]
        return np.asarray(gaps > self._bound * self._shortfall)

    def ranks(self) -> list[tuple[int, int]]:
        """(best, worst) rank of each entrant; all hold at once with probability 95 % or more."""
        ahead, behind = self.better.sum(axis=0), self.better.sum(axis=1)
        return [(int(a) + 1, len(self.entrants) - int(b)) for a, b in zip(ahead, behind, strict=True)]

    def _deviations(self) -> Iterator[Floats]:
        """[n, n] for each draw: how much smaller the row's lead over the column is than estimated."""
        count = int(np.clip(_PAIRWISE_WORK / len(self.entrants) ** 2, *_PAIRWISE_DRAWS))
        for row in (self.draws if self.in_order is None else self.in_order)[:count] - self.values:
            yield row[None, :] - row[:, None]

    @cached_property
    def _shortfall(self) -> Floats:
        """[n, n]: deviation of each lead to its low side, as of half a normal; infinite on the diagonal.

        One side only, because an undefeated entrant may be far better than estimated but hardly worse.
        """
        squares, count = np.zeros((len(self.entrants), len(self.entrants))), 0
        for count, deviation in enumerate(self._deviations(), 1):  # noqa: B007
            squares += np.square(np.maximum(deviation, 0.0))
        shortfall = np.sqrt(np.maximum(2 * squares / max(count, 1), 1e-18))
        np.fill_diagonal(shortfall, np.inf)
        return shortfall

    @cached_property
    def _bound(self) -> float:
        """The 95 % quantile of the largest studentised shortfall over all pairs."""
        largest = [float(np.max(deviation / self._shortfall)) for deviation in self._deviations()]
        return float(np.quantile(largest, LEVEL))


def effect(value: float, draws: Floats) -> Effect:
    """The value with the middle 95 % of its draws; the value itself is never left out (all of 20 solved is 1)."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Effect(value, min(float(low), value), max(float(high), value))
