"""An opened conversation: every line, what every turn earned, and how it ended. All texts are safe to show.

A value, read anew as the conversation moves on; made here from messages and episodes, every text made safe.
Knows neither where it comes from nor how it is drawn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from simarena.arena.episodes import Episode, Seat, Turn
from simarena.arena.glance import plain, value_text
from simarena.arena.messages import Image, Message, Part, Text, ToolCall
from simarena.arena.text import one_line, visible
from simarena.tui.feed.rows import Row, short

LONGEST = 20_000
"""Characters of one part that are kept to be shown."""
PieceKind = Literal["text", "call", "result", "error", "memory", "image"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a line."""

    kind: PieceKind
    text: str
    """A call reads `@name key=value`, a result is its content."""
    name: str = ""
    """The tool's name."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message."""

    id: str
    """`turn-seq`."""
    turn: int
    seat: str
    kind: str
    """`speech`, `thought`, `tool_call`, `tool_result`, `notice`."""
    pieces: tuple[Piece, ...]
    audience: tuple[str, ...] | None = None
    """None: everyone. Otherwise the seats that may hear it, the speaker among them."""
    time: float = 0.0

    @property
    def private(self) -> bool:
        return self.audience is not None

    @property
    def text(self) -> str:
        return " ".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What is known of one seat's turn beside its words."""

    turn: int
    seat: str
    reward: float = 0.0
    """What this seat earned from this turn on, before its next one."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The reward by name, where the scenario names its parts; they sum to `reward`."""
    advantage: float | None = None
    """None: not credited (yet)."""
    version: int | None = None
    tokens: int | None = None
    """Sampled tokens; None for a seat without an engine."""
    finish: str = ""
    """`stop` or `length`, for a seat with an engine."""


@dataclass(frozen=True, slots=True)
class Opened:
    """One conversation, as far as it has come."""

    row: Row
    lines: tuple[Line, ...] = ()
    turns: Mapping[tuple[int, str], TurnFacts] = field(default_factory=dict)
    """By (turn, seat): one entry for every move of a seat."""
    checks: Mapping[str, bool] = field(default_factory=dict)
    outcome: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Seat → its agent in full: factory, options, lane, version."""
    seconds: float | None = None
    """Wall seconds it took; None while it runs."""
    missing: int = 0
    """Lines at its beginning that are no longer known."""
    note: str = ""
    """Why something is missing, in one line."""


def line_of(message: Message) -> Line:
    """A message, safe to show."""
    return Line(
        id=one_line(message.id, 40),
        turn=message.turn,
        seat=short(message.seat),
        kind=message.kind,
        pieces=tuple(_piece(part, message.kind) for part in message.parts),
        audience=None if message.audience is None else tuple(map(short, message.audience)),
        time=message.time,
    )


def opened_of(episode: Episode, row: Row, credit: Mapping[str, Sequence[float]] | None = None) -> Opened:
    """An ended episode; `credit` holds advantages by seat, one per turn of it."""
    return Opened(
        row=row,
        lines=tuple(map(line_of, episode.messages)),
        turns=dict(_facts(episode, credit or {})),
        checks={short(name): passed for name, passed in episode.checks.items()},
        outcome={short(seat): value for seat, value in episode.outcome.items()},
        fault=one_line(episode.fault, 400),
        agents={short(name): agent_text(seat) for name, seat in episode.seats.items()},
        seconds=episode.timings.get("total"),
    )


def agent_text(seat: Seat) -> str:
    """Who sits there, in full."""
    options = " ".join(f"{name}={value_text(value)}" for name, value in seat.spec.options.items())
    version = "" if seat.version is None else f", version {seat.version}"
    return one_line(f"{' '.join([seat.spec.agent, options]).strip()} on {seat.spec.lane}{version}", 400)


def _facts(episode: Episode, credit: Mapping[str, Sequence[float]]) -> Iterable[tuple[tuple[int, str], TurnFacts]]:
    for name in episode.seats:
        turns, advantages = episode.turns_of(name), credit.get(name, ())
        known = zip(turns, episode.turn_rewards(name), episode.turn_parts(name), strict=True)
        for position, (turn, reward, parts) in enumerate(known):
            advantage = advantages[position] if position < len(advantages) else None
            yield (turn.index, short(name)), _fact(turn, reward, parts, advantage)


def _fact(turn: Turn, reward: float, parts: Mapping[str, float], advantage: float | None) -> TurnFacts:
    record = turn.record
    return TurnFacts(
        turn=turn.index,
        seat=short(turn.seat),
        reward=reward,
        parts={short(name): value for name, value in parts.items()},
        advantage=advantage,
        version=None if record is None else record.version,
        tokens=None if record is None else len(record.sampled),
        finish="" if record is None else record.finish,
    )


def _piece(part: Part, kind: str) -> Piece:
    raw = plain(part)
    more = f"… ({len(raw) - LONGEST:,} more characters)" if len(raw) > LONGEST else ""
    text = visible(raw[:LONGEST]) + more
    match part:
        case Text():
            return Piece("text", text)
        case Image():
            return Piece("image", text)
        case ToolCall():
            return Piece("call", text, short(part.name))
    if kind == "thought" and part.name == "memory":
        return Piece("memory", text, "memory")
    return Piece("error" if part.error else "result", text, short(part.name))
