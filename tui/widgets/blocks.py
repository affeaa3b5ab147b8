"""A conversation as blocks to read: one for each thing said, a tool call together with its results.

Pure: values of the feed in, lines of text in inks out. Knows no widget and no source.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from simarena.arena.messages import WORLD
from simarena.tui.feed.opened import Line, Opened, Piece, TurnFacts
from simarena.tui.feed.rows import Row
from simarena.tui.themes import seat_ink

WHO = 11
"""Columns of the speaker's name."""
_TURN = 5
_FIGURE = 7
"""Columns of a reward or an advantage."""
_NARROW = 52
"""Below this width the figures stand under the words instead of beside them."""
_CONSOLE = Console(width=80, color_system=None)
_FOLDED = frozenset({"tool_call", "tool_result", "thought"})


@dataclass(frozen=True, slots=True)
class Block:
    """What stands together: a line, or a tool call and what it returned."""

    lines: tuple[Line, ...]
    facts: TurnFacts | None = None
    """Of the turn that begins here, if its seat learns or earned something."""
    begins: bool = True
    """Whether its turn begins here."""

    @property
    def head(self) -> Line:
        return self.lines[0]

    @property
    def folds(self) -> bool:
        """Whether it is cut to one line until it is opened."""
        return self.head.kind in _FOLDED


@dataclass(frozen=True, slots=True)
class Layout:
    """How blocks are drawn."""

    seats: Sequence[str]
    width: int
    figures: bool = True
    """Whether any turn has a reward or an advantage to show."""
    credited: bool = True
    """Whether any turn has an advantage."""
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> bool:
        return self.figures and self.width >= _NARROW

    @property
    def gutter(self) -> int:
        return (_FIGURE + 1) * (2 if self.credited else 1) if self.beside else 0

    @property
    def words(self) -> int:
        """Columns for what is said."""
        return max(10, self.width - _TURN - 2 - WHO - 1 - self.gutter - 1)


def seats_of(row: Row) -> tuple[str, ...]:
    """Seats in the order of their colours: those that learn first, so that they look the same everywhere."""
    return tuple(sorted(row.seats, key=lambda seat: seat not in row.learners))


def blocks(opened: Opened) -> list[Block]:
    """Lines in order; a result joins the call of its tool in the same turn."""
    made: list[list[Line]] = []
    waiting: list[list[Line]] = []
    for line in opened.lines:
        waiting = [group for group in waiting if group[0].turn == line.turn]
        if line.kind == "tool_result" and (group := _caller(waiting, line)) is not None:
            group.append(line)
            waiting.remove(group)
            continue
        made.append([line])
        if line.kind == "tool_call":
            waiting.append(made[-1])
    seen: set[tuple[int, str]] = set()
    return [_block(group, opened.turns, seen) for group in made]


def _caller(waiting: Iterable[list[Line]], result: Line) -> list[Line] | None:
    names = {piece.name for piece in result.pieces}
    return next((group for group in waiting if {piece.name for piece in group[0].pieces} & names), None)


def _block(group: list[Line], turns: Mapping[tuple[int, str], TurnFacts], seen: set[tuple[int, str]]) -> Block:
    key = (group[0].turn, group[0].seat)
    begins = key not in seen
    seen.add(key)
    return Block(tuple(group), turns.get(key) if begins else None, begins)


def heading(layout: Layout) -> Text:
    """Names of the columns."""
    text = Text("turn".rjust(_TURN) + "  " + "who".ljust(WHO) + " " + "says".ljust(layout.words))
    if layout.beside:
        text.append(" " + "reward".rjust(_FIGURE) + (" " + "adv".rjust(_FIGURE) if layout.credited else ""))
    text.stylize("muted")
    return text


def drawn(block: Block, layout: Layout, *, open_: bool) -> list[Text]:
    """The block's lines. Folded, what a tool call or a thought has to say is cut to one line."""
    figures = _figures(block.facts, layout)
    rows = []
    for i, words in enumerate(_wrapped(block, layout, open_)):
        words.truncate(layout.words, pad=True)
        turn = str(block.head.turn) if block.begins and block.head.turn and not i else ""
        who = _who(block.head, layout.seats) if not i else Text(" " * WHO)
        row = Text.assemble((turn.rjust(_TURN), "muted"), "  ", who, " ", words)
        if layout.beside and not i:
            row.append(" ").append_text(figures)
        rows.append(row)
    if layout.figures and not layout.beside and figures.plain.strip():
        rows.append(Text(" " * (_TURN + 2 + WHO)).append_text(figures))
    return rows


def words(block: Block) -> str:
    """All that is said in the block, for a search and for the clipboard."""
    return "\n".join(f"{line.seat}: {_body(line).plain}" for line in block.lines)


def number(value: float | None, width: int = _FIGURE) -> Text:
    """A signed figure: green above zero, red below, quiet at zero."""
    if value is None:
        return Text(" " * width)
    ink = "muted" if abs(value) < 0.005 else ("good" if value > 0 else "bad")
    return Text(f"{value:+.2f}".replace("-", "−").rjust(width), ink)


def _wrapped(block: Block, layout: Layout, open_: bool) -> list[Text]:
    if not block.folds or open_:
        body = Text("\n").join(_body(line) for line in block.lines)
    else:
        body = _flat(Text(" ").join(_body(line) for line in block.lines))
        body.truncate(layout.words, overflow="ellipsis")
        return [body]
    body.expand_tabs(4)
    wrapped = list(body.wrap(_CONSOLE, layout.words, overflow="fold"))
    for row in wrapped:
        row.rstrip()
    return wrapped or [Text()]


def _flat(text: Text) -> Text:
    """On one line, its inks kept: every line end and tab is one column before and after."""
    return Text(text.plain.replace("\n", " ").replace("\t", " "), text.style, spans=text.spans)


def _figures(facts: TurnFacts | None, layout: Layout) -> Text:
    if facts is None or (not facts.reward and facts.advantage is None):
        return Text(" " * max(0, layout.gutter - 1))
    text = number(facts.reward)
    return text.append(" ").append_text(number(facts.advantage)) if layout.credited else text


def _who(line: Line, seats: Sequence[str]) -> Text:
    if line.seat == WORLD:
        who = Text(line.kind.replace("_", " "), "muted")
    else:
        who = Text(line.seat, seat_ink(seats.index(line.seat) if line.seat in seats else len(seats)))
    who.truncate(WHO, overflow="ellipsis", pad=True)
    return who


def _body(line: Line) -> Text:
    text = Text(style={"thought": "thought", "notice": "muted"}.get(line.kind, "plain"))
    if aside := _aside(line):
        text.append(aside, "thought")
    for i, piece in enumerate(line.pieces):
        text.append(" " if i else "").append_text(_piece(piece))
    return text


def _aside(line: Line) -> str:
    """What sets this line apart from something said aloud to everyone."""
    if line.kind == "thought":
        return "(remembers) " if any(piece.kind == "memory" for piece in line.pieces) else "(thinks) "
    if line.kind in ("speech", "notice") and line.audience is not None:
        return f"(to {', '.join(seat for seat in line.audience if seat != line.seat) or 'nobody'} only) "
    return ""


def _piece(piece: Piece) -> Text:
    match piece.kind:
        case "call":
            return Text(piece.text, "strong")
        case "result":
            return Text(f"→ {piece.text}", "muted")
        case "error":
            return Text(f"✗ {piece.text}", "bad")
        case "image":
            return Text(piece.text, "muted")
        case _:
            return Text(piece.text)
