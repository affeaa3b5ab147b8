"""Gauntlet: each challenger meets every other entrant, `rounds` times over; the others do not meet each other."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from simarena.arena.errors import UnknownName
from simarena.arena.messages import Frozen
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.tally import undrawn


class Gauntlet(Frozen):
    kind: Literal["gauntlet"] = "gauntlet"
    rounds: int = Field(default=1, ge=1)
    """Times each challenger meets every other entrant."""
    challengers: tuple[str, ...] = ()
    """Who runs it; empty: the first entrant."""

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        contest.require_duels(self.kind)
        for name in self.challengers:
            if name not in contest.entrants:
                raise UnknownName("challenger", name, contest.entrants)
        return [meeting for round in undrawn(self.rounds, results) for meeting in self._round(contest, round)]

    def _round(self, contest: Contest, round: int) -> list[Meeting]:
        challengers = tuple(dict.fromkeys(self.challengers)) or contest.entrants[:1]
        drawn: list[Meeting] = []
        for number, challenger in enumerate(challengers):
            others = [name for name in contest.entrants if name not in challengers[: number + 1]]
            for place, other in enumerate(others):
                first = (place + number + round) % 2 == 0  # seats change from one opponent and round to the next
                drawn += contest.legs(round, (challenger, other) if first else (other, challenger))
        return drawn
