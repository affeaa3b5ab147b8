"""A contest: who competes on which sides, and the matches that a meeting of entrants is played as.

Deals and ids derive by hash from (seed, round, entrants, leg), so they do not depend on what is played when or by
how many workers. Knows no format (who meets whom) and no runner.
"""

from dataclasses import dataclass

from pydantic import Field, field_validator, model_validator

from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen
from simarena.arena.seeds import derive
from simarena.arena.tournament.results import Match

DEAL_BITS = 30
"""Deals are numbers below 2**30: short enough to read in an id, and two of 10,000 collide in 1 of 20 tournaments,
where a deal played twice harms nobody."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Entrants who play one deal against each other. Producer: a format. Consumer: `Contest.matches`."""

    round: int
    entrants: tuple[str, ...]
    """By side. Mirrored, each of them plays every side."""
    leg: int = 1
    """Counts the deals of the same entrants in this round, for best-of-n."""
    deal: str = ""
    """Meetings of one round with the same deal name are dealt the same, and compared with each other; empty: a
    deal of its own."""

    @property
    def id(self) -> str:
        return f"r{self.round}/{':'.join(self.entrants)}/{self.leg}"


class Contest(Frozen):
    """The frame all formats draw in."""

    entrants: tuple[str, ...]
    """In seeding order where a format has seeds."""
    seed: int = 0
    sides: dict[str, tuple[str, ...]] = Field(min_length=1)
    """Side → its seats, all played by one entrant. Two sides in most games; one where nobody is opposed."""
    mirrored: bool = True
    """Play every deal once per rotation of the sides, so that neither the deal nor the seat favours anyone."""
    best_of: int = Field(default=1, ge=1)
    """Deals per meeting of a round. Elimination stops when the winner is sure; other formats play them all, since
    a rating uses every match."""

    trials: int = Field(default=1, ge=1)
    """Times each match is played, on the same deal with fresh chance of the agents: for pass^k."""

    @property
    def size(self) -> int:
        """Matches that one meeting is played as."""
        return self.trials * (len(self.sides) if self.mirrored else 1)

    @field_validator("entrants")
    @classmethod
    def _distinct(cls, entrants: tuple[str, ...]) -> tuple[str, ...]:
        if twice := sorted({name for name in entrants if entrants.count(name) > 1}):
            raise ValueError(f"entrants named twice: {', '.join(twice)}")
        return entrants

    @model_validator(mode="after")
    def _enough(self) -> "Contest":
        if len(self.entrants) < max(2, len(self.sides)):
            raise ValueError(
                f"{len(self.entrants)} entrants cannot fill {max(2, len(self.sides))} places: add entrants, or "
                "let one entrant play several seats with `sides`"
            )
        return self

    def require_duels(self, kind: str) -> None:
        """Raise UsageError unless exactly two sides meet."""
        if len(self.sides) != 2:
            raise UsageError(
                f"format {kind!r} needs two sides, this contest has {list(self.sides)}: use format 'block', or "
                "group the seats into two sides"
            )

    def legs(self, round: int, entrants: tuple[str, ...], which: range | None = None) -> list[Meeting]:
        """The meetings of these entrants: all of best-of-n, or these legs. Unmirrored ones change seats."""
        turned = entrants if self.mirrored else entrants[1:] + entrants[:1]
        which = range(1, self.best_of + 1) if which is None else which
        return [Meeting(round, entrants if leg % 2 else turned, leg) for leg in which]

    def matches(self, meeting: Meeting) -> list[Match]:
        """What is played when they meet: one match per rotation of the sides, or one if not mirrored."""
        name = meeting.deal or ":".join(sorted(meeting.entrants))
        deal = derive(self.seed, "deal", meeting.round, name, meeting.leg) % (1 << DEAL_BITS)
        teams = {seat: side for side, seats in self.sides.items() for seat in seats}
        grouped = len(teams) > len(self.sides)
        return [
            Match(
                id=f"{meeting.id}{chr(ord('a') + turn)}{trial or ''}",
                seats=self._seats(meeting.entrants, turn),
                pair=f"r{meeting.round}/{meeting.deal}/{meeting.leg}" if meeting.deal else meeting.id,
                deal=deal,
                round=meeting.round,
                sides=teams if grouped else {},
            )
            for trial in range(self.trials)
            for turn in range(len(self.sides) if self.mirrored else 1)
        ]

    def _seats(self, entrants: tuple[str, ...], turn: int) -> dict[str, str]:
        places = zip(self.sides.values(), entrants[turn:] + entrants[:turn], strict=True)
        return {seat: entrant for seats, entrant in places for seat in seats}
