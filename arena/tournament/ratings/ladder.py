"""OpenSkill for the ladder: ratings that move with every result, for choosing who should meet next.

A thin hold on the openskill package (Weng & Lin 2011, Plackett–Luce). `sigma` says how much the model still
expects to learn, and is no confidence interval: for the final table use `bradley_terry`. Imports no numpy until
an estimate is asked for, so that a scheduler can hold a ladder.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from openskill.models import PlackettLuce, PlackettLuceRating

from simarena.arena.tournament.results import Result

if TYPE_CHECKING:
    from simarena.arena.tournament.ratings.estimates import Estimate

_DRAWS = 2000


class Ladder:
    """Ratings so far. Results are taken in the order they are given."""

    def __init__(self, entrants: Iterable[str] = (), results: Iterable[Result] = ()) -> None:
        self._model = PlackettLuce()
        self._ratings = {entrant: self._new(entrant) for entrant in entrants}
        for result in results:
            self.update(result)

    @classmethod
    def of(cls, ratings: Mapping[str, tuple[float, float]]) -> "Ladder":
        """One that goes on from these ratings."""
        ladder = cls()
        for entrant, (mu, sigma) in ratings.items():
            ladder._ratings[entrant] = ladder._model.rating(mu=mu, sigma=sigma, name=entrant)
        return ladder

    @property
    def ratings(self) -> dict[str, tuple[float, float]]:
        """(mu, sigma) of everyone known."""
        return {entrant: self.rating(entrant) for entrant in self._ratings}

    def _new(self, entrant: str) -> PlackettLuceRating:
        return self._model.rating(name=entrant)

    def update(self, result: Result) -> None:
        """Learn from one result; a void one, one with a single side, or an entrant against itself says nothing."""
        scores = result.scores()
        sides = [
            tuple({result.match.seats[seat]: None for seat in seats}) for seats in result.match.teams().values()
        ]
        members = [entrant for side in sides for entrant in side]
        if len(scores) < 2 or len(set(members)) < len(members):
            return
        self.meet(sides, list(scores.values()))

    def meet(self, sides: Sequence[Sequence[str]], scores: Sequence[float]) -> None:
        """Learn from one match between sides of distinct entrants, by their scores; equal ones are a tie."""
        teams = [[self._ratings.setdefault(name, self._new(name)) for name in side] for side in sides]
        rated = self._model.rate(teams, scores=[round(score, 9) for score in scores])
        for side, team in zip(sides, rated, strict=True):
            self._ratings.update(zip(side, team, strict=True))

    def rating(self, entrant: str) -> tuple[float, float]:
        """(mu, sigma); (25, 25/3) for one that has not played."""
        known = self._ratings.get(entrant) or self._new(entrant)
        return float(known.mu), float(known.sigma)

    def chance(self, first: str, second: str) -> float:
        """Chance in (0, 1) that the first is ahead of the second, ties aside."""
        (mu, sigma), (nu, tau) = self.rating(first), self.rating(second)
        spread = math.sqrt(2 * float(self._model.beta) ** 2 + sigma**2 + tau**2)
        return 0.5 * math.erfc((nu - mu) / spread / math.sqrt(2))

    def information(self, first: str, second: str) -> float:
        """Nats one more match is expected to tell about the gap: most for equals of whom little is known.

        Half the log of variance before over expected variance after, for a probit observation of a normal gap
        (by the law of total variance, exact).
        """
        (mu, sigma), (nu, tau) = self.rating(first), self.rating(second)
        noise, doubt = 2 * float(self._model.beta) ** 2, sigma**2 + tau**2
        total = noise + doubt
        density = math.exp(-((mu - nu) ** 2) / (2 * total)) / math.sqrt(2 * math.pi)
        chance = min(max(self.chance(first, second), 1e-12), 1 - 1e-12)
        return -0.5 * math.log1p(-doubt / total * density**2 / (chance * (1 - chance)))

    def estimate(self, entrants: Iterable[str] = (), seed: int = 0) -> "Estimate":
        """mu with independent normal draws of deviation sigma."""
        import numpy as np

        from simarena.arena.tournament.ratings.estimates import Estimate

        names = tuple(sorted({*entrants, *self._ratings}))
        mu, sigma = (np.array(column) for column in zip(*(self.rating(name) for name in names), strict=True))
        return Estimate(names, mu, np.random.default_rng(seed).normal(mu, sigma, (_DRAWS, len(names))))


def openskill(results: Sequence[Result], *, entrants: Iterable[str] = (), seed: int = 0) -> "Estimate":
    """Ratings after the last result, on OpenSkill's own scale (25 ± 25/3 for a newcomer)."""
    return Ladder(entrants, results).estimate(entrants, seed)
