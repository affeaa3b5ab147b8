"""An opened conversation: every line, what every turn earned, and how it ended. All texts are safe to show.

A value, read anew as the conversation moves on. Knows neither where it comes from nor how it is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from simarena.tui.feed.rows import Row

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
