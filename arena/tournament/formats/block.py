"""Block design: every entrant in every role. For any number of sides: one, two, or a table of many.

With one side, a round gives every entrant the same deals, so that their scores are compared pair by pair. With
more, a round shuffles the entrants by hash into a circle and seats neighbours together; mirrored tables rotate all
roles among themselves, unmirrored ones start at every place of the circle, so that in either case every entrant
plays every role equally often in each round.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from simarena.arena.messages import Frozen
from simarena.arena.seeds import rng
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.tally import undrawn


class Block(Frozen):
    kind: Literal["block"] = "block"
    rounds: int = Field(default=1, ge=1)
    """Blocks; in each, every entrant plays every side equally often."""

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        return [meeting for round in undrawn(self.rounds, results) for meeting in self._block(contest, round)]

    def _block(self, contest: Contest, round: int) -> list[Meeting]:
        if len(contest.sides) == 1:
            legs = range(1, contest.best_of + 1)
            return [Meeting(round, (name,), leg, deal="all") for leg in legs for name in contest.entrants]
        tables = self._tables(contest, round)
        return [meeting for table in tables for meeting in contest.legs(round, table)]

    def _tables(self, contest: Contest, round: int) -> list[tuple[str, ...]]:
        circle = list(contest.entrants)
        rng(contest.seed, "block", round).shuffle(circle)
        size, seats = len(circle), len(contest.sides)
        whole = contest.mirrored and size % seats == 0
        starts = range(0, size, seats if whole else 1)
        return [tuple(circle[(start + place) % size] for place in range(seats)) for start in starts]
