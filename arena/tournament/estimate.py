"""The estimate: how much a tournament will be, before it starts.

Counts matches by playing the format through on results drawn by lot; where the course depends on results, twice.
Knows no arena: what a match takes is measured by who can play some.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simarena.arena.seeds import uniform
from simarena.arena.tournament.contest import Contest
from simarena.arena.tournament.results import Match, Result
from simarena.arena.tournament.script import Script

MOST = 300_000
"""Matches after which counting stops."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What will be played if nothing stops it early."""

    rounds: int
    low: int
    high: int
    """Matches; `low` and `high` differ where the course depends on results."""
    capped: bool
    """Counting stopped at `MOST`: it will be more."""

    def matches(self) -> str:
        """The number of matches in words."""
        if self.capped:
            return f"more than {self.high}"
        return str(self.low) if self.low == self.high else f"about {self.low} to {self.high}"


def estimate(script: Script, contest: Contest) -> Estimate:
    """Play the format through, once with favourites winning and once by lot. Raises as the format does."""
    courses = [_course(script, contest, decide) for decide in (_first_wins, _by_lot)]
    counts = [matches for _, matches in courses]
    return Estimate(max(rounds for rounds, _ in courses), min(counts), max(counts), max(counts) >= MOST)


def _course(script: Script, contest: Contest, decide: Callable[[Match], float]) -> tuple[int, int]:
    """(rounds, matches) of one course."""
    budget = min(script.budget.matches or MOST, MOST)
    results: list[Result] = []
    rounds, size = 0, contest.size
    while meetings := script.format.draw(contest, results):
        rounds += 1
        room = (budget - len(results)) // size
        if len(meetings) >= room:
            return rounds, len(results) + size * min(room, len(meetings))
        matches = [match for meeting in meetings for match in contest.matches(meeting)]
        results += [_result(match, decide(match)) for match in matches]
    return rounds, len(results)


def _result(match: Match, share: float) -> Result:
    first, *others = match.seats
    outcome = {first: share, **dict.fromkeys(others, 1 - share)}
    return Result(match=match, ending="finished", outcome=outcome)


def _first_wins(match: Match) -> float:
    """The entrant whose name sorts first."""
    first, *others = match.seats.values()
    return float(all(first <= other for other in others))


def _by_lot(match: Match) -> float:
    return float(uniform("estimate", match.id) < 0.5)
