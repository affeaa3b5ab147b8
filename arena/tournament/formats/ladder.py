"""Ladder: the next matches are those that tell most about who is better.

After each round OpenSkill rates everyone anew from all results; among neighbours in that order, the pairs with the
highest expected information are drawn, each entrant in at most one. Near equals of whom little is known meet
first.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from simarena.arena.messages import Frozen
from simarena.arena.seeds import derive
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.tally import last_round

NEIGHBOURS = 8
"""Places down the order in which opponents are looked for."""


class Ladder(Frozen):
    kind: Literal["ladder"] = "ladder"
    rounds: int = Field(ge=1)
    """Times meetings are drawn."""
    meetings: int | None = Field(default=None, ge=1)
    """Meetings of one round; left out: as many as pairs can be made. Fewer use each result sooner, more keep more
    workers busy."""

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        contest.require_duels(self.kind)
        round = last_round(results) + 1
        if round > self.rounds:
            return []
        from simarena.arena.tournament.ratings.ladder import Ladder as Ratings

        in_order = sorted(results, key=lambda result: (result.match.round, result.match.id))
        ratings = Ratings(contest.entrants, in_order)
        lot = {name: derive(contest.seed, "ladder", round, name) for name in contest.entrants}
        order = sorted(contest.entrants, key=lambda name: (-ratings.rating(name)[0], lot[name]))
        pairs = [(a, b) for place, a in enumerate(order) for b in order[place + 1 : place + 1 + NEIGHBOURS]]
        pairs.sort(key=lambda pair: (-ratings.information(*pair), lot[pair[0]] ^ lot[pair[1]]))
        chosen = _disjoint(pairs, self.meetings or len(order))
        seated = [pair if lot[pair[0]] < lot[pair[1]] else pair[::-1] for pair in chosen]
        return [meeting for pair in seated for meeting in contest.legs(round, pair)]


def _disjoint(pairs: Sequence[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """The first pairs in which nobody occurs twice."""
    taken: set[str] = set()
    chosen: list[tuple[str, str]] = []
    for pair in pairs:
        if len(chosen) < most and taken.isdisjoint(pair):
            taken.update(pair)
            chosen.append(pair)
    return chosen
