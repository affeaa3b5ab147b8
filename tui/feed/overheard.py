"""Overheard: what a viewer has heard of one conversation that still goes on, or has just ended.

Its lines, read from its stream as far as they are asked for, and what its turns earned, from pointers. Knows
no run.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from pydantic import ValidationError

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.messages import Message
from simarena.tui.feed.opened import Line, Opened, TurnFacts, line_of
from simarena.tui.feed.rows import Row, short

PAGE = 500
"""Messages read at once."""
LONGEST = 5_000
"""Lines kept of one conversation, the newest."""


@dataclass(slots=True)
class Overheard:
    """One conversation, from outside."""

    lines: list[Line] = field(default_factory=list)
    missing: int = 0
    _after: str = "0"
    _earned: dict[tuple[int, str], float] = field(default_factory=dict)
    _versions: dict[int, int] = field(default_factory=dict)
    _checks: dict[str, bool] = field(default_factory=dict)

    def take(self, pointer: wire.Pointer) -> None:
        """What a pointer tells of the newest turn."""
        for seat, value in pointer.earned.items():
            self._earned[pointer.turn, short(seat)] = value
        if pointer.version is not None:
            self._versions[pointer.turn] = pointer.version
        if pointer.ending is not None:
            self._checks = {short(name): passed for name, passed in pointer.checks.items()}

    async def read(self, bus: Bus, stream: str) -> None:
        """Take in the lines that came since the last time. Raises BusError."""
        while entries := await bus.read(stream, self._after, count=PAGE):
            for entry in entries:
                try:
                    self.lines.append(line_of(Message.model_validate_json(entry.payload)))
                except ValidationError:  # whoever else may write here: it is not part of the record
                    continue
            self._after = entries[-1].id
        if (more := len(self.lines) - LONGEST) > 0:
            del self.lines[:more]
            self.missing += more

    def opened(self, row: Row) -> Opened:
        """The conversation as far as it is known."""
        gone = "" if self.lines else "its lines are no longer on the bus, and not in a run folder here"
        return Opened(
            row=row,
            lines=tuple(self.lines),
            turns=self._facts(row),
            checks=self._checks,
            agents=row.seats,
            seconds=row.updated - row.started if row.state == "ended" else None,
            missing=self.missing,
            note=f"{self.missing} earlier lines are not shown" if self.missing else gone,
        )

    def _facts(self, row: Row) -> dict[tuple[int, str], TurnFacts]:
        """Each move with what its seat earned from it on, before its next one, as a record will say it."""
        moves = sorted({(line.turn, line.seat) for line in self.lines if line.seat in row.seats})
        turns: dict[str, list[int]] = {}
        for turn, seat in moves:
            turns.setdefault(seat, []).append(turn)
        rewards: dict[tuple[int, str], float] = {}
        for (turn, seat), value in self._earned.items():
            if own := turns.get(seat):
                key = own[max(0, bisect_right(own, turn) - 1)], seat
                rewards[key] = rewards.get(key, 0.0) + value
        return {
            (turn, seat): TurnFacts(
                turn,
                seat,
                rewards.get((turn, seat), 0.0),
                version=self._versions.get(turn) if seat in row.learners else None,
            )
            for turn, seat in moves
        }
