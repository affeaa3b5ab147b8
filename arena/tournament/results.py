"""What was played and what it means: matches, results and standings, the values all of a tournament shares.

A match is asked for, a result is its record, a standing is one row of the final table. Knows no format, no
runner, no statistics and no file.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from simarena.arena.errors import RecordError
from simarena.arena.messages import Frozen

ResultEnding = Literal["finished", "capped", "forfeit", "timeout", "invalid", "crash", "void"]
"""`finished` by the rules, `capped` by the harness, or by one side's fault (`scoring.py` states the rule);
`void` is nobody's: never scored."""


class Match(Frozen):
    """One game to play. Producer: a format. Consumers: the runner, and ratings through `Result`."""

    id: str
    """Names the match within its tournament; deals and seeds derive from it, not from the order of play."""
    seats: dict[str, str]
    """Seat → entrant. Seats that are not contested (a simulated user) are left out."""
    pair: str
    """Mirrored matches (same deal, seats swapped) share it; they are one cluster for every interval."""
    deal: int
    round: int = 0
    """The round it was drawn for; the next one is drawn when all of it is played."""
    sides: dict[str, str] = Field(default_factory=dict)
    """Seat → side, where several seats win and lose together; empty: every seat is a side of its own."""

    @model_validator(mode="after")
    def _cover(self) -> "Match":
        if not self.seats:
            raise RecordError(f"match {self.id!r} seats nobody: name at least one seat and its entrant")
        if self.sides and set(self.sides) != set(self.seats):
            raise RecordError(f"match {self.id!r} has sides for {sorted(self.sides)}, seats {sorted(self.seats)}")
        return self

    def teams(self) -> Mapping[str, tuple[str, ...]]:
        """Side → its seats, both in the order of `seats`."""
        teams: dict[str, list[str]] = {}
        for seat in self.seats:
            teams.setdefault(self.sides.get(seat, seat), []).append(seat)
        return {side: tuple(seats) for side, seats in teams.items()}


class Result(Frozen):
    """How one match ended. Producer: the runner. Consumers: formats, ratings, reports."""

    match: Match
    ending: ResultEnding
    outcome: dict[str, float] = Field(default_factory=dict)
    """Seat → [0, 1], higher is better; equal is a tie. After a fault it holds what the stated rule gives.
    Empty exactly if `void`. Ratings compare sides by the mean of their seats."""
    fault: str = ""
    """The entrant at fault and what it did, for endings by a fault."""
    covariates: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Name → seat → value, such as `length` in characters said; a fitted covariate needs it for every seat."""
    episode: str = ""
    """Id of the episode that shows it."""
    tokens: int = 0
    """Tokens sampled by engines in it."""
    seconds: float = 0.0
    """Wall time it took."""
    at: float = 0.0
    """Wall time at its end, in seconds since the epoch."""

    @model_validator(mode="after")
    def _agree(self) -> "Result":
        expected = set() if self.ending == "void" else set(self.match.seats)
        if set(self.outcome) != expected:
            raise RecordError(
                f"result of {self.match.id!r} ({self.ending}) has outcomes for {sorted(self.outcome)}, "
                f"expected {sorted(expected)}"
            )
        if outside := {seat: value for seat, value in self.outcome.items() if not 0 <= value <= 1}:
            raise RecordError(f"result of {self.match.id!r} has outcomes outside [0, 1]: {outside}")
        return self

    def scores(self) -> Mapping[str, float]:
        """Side → mean outcome of its seats; empty if void."""
        if not self.outcome:
            return {}
        teams = self.match.teams().items()
        return {side: sum(self.outcome[seat] for seat in seats) / len(seats) for side, seats in teams}


class Standing(Frozen):
    """One row of the table. Producer: ratings. Consumers: reports, screens, training."""

    entrant: str
    rating: float
    """On the scale of the method: Elo points around 1500, or a share in [0, 1] for `score`."""
    low: float
    high: float
    """The 95 % interval of the rating."""
    rank_low: int
    rank_high: int
    """The 95 % interval of the rank, 1 is best; holds for all entrants at once."""
    matches: int
    """Scored matches it took part in."""
