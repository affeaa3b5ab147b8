"""Round robin: everyone meets everyone, `rounds` times over.

All rounds are drawn at once, since no meeting depends on a result. Pairs come in the order of the circle method
(Berger), so that a tournament cut short has everyone near the same number of matches.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from simarena.arena.messages import Frozen
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.tally import undrawn


class RoundRobin(Frozen):
    kind: Literal["round-robin"] = "round-robin"
    rounds: int = Field(default=1, ge=1)
    """Times everyone meets everyone."""

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        contest.require_duels(self.kind)
        pairs = circle(contest.entrants)
        return [
            meeting
            for round in undrawn(self.rounds, results)
            for pair in pairs  # in even rounds the other seat first, as in the second half of a league
            for meeting in contest.legs(round, pair if round % 2 else pair[::-1])
        ]


def circle(entrants: Sequence[str]) -> list[tuple[str, str]]:
    """Every pair once, each entrant first in half of its pairs or one off.

    With an odd number n, entrant i meets i + 1 … i + (n−1)/2 (mod n) as first and the others as second; with an
    even one the last entrant stands in the middle and is first against every other of the circle.
    """
    ring = list(entrants if len(entrants) % 2 else entrants[:-1])
    size = len(ring)
    pairs: list[tuple[str, str]] = []
    for day in range(size):
        if size < len(entrants):
            hub = (entrants[-1], ring[day])
            pairs.append(hub if day % 2 else hub[::-1])
        for step in range(1, (size + 1) // 2):
            one, other = (day + step) % size, (day - step) % size
            ahead = (other - one) % size <= size // 2
            pairs.append((ring[one], ring[other]) if ahead else (ring[other], ring[one]))
    return pairs
