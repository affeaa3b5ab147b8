"""The list of conversations: one line each, drawn only where one looks, however many there are.

Shows the rows it is given, in their order; which those are is the screen's business. Knows no source.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from simarena.tui.feed.conversations import Order
from simarena.tui.feed.rows import Row
from simarena.tui.themes import seat_ink
from simarena.tui.widgets.blocks import number, seats_of
from simarena.tui.widgets.sheet import Sheet

_STATES = {"running": ("●", "key"), "success": ("✓", "good"), "failure": ("✗", "bad"), "lost": ("?", "warn")}
_UNSCORED = ("‖", "warn")
_FAULTS = ("agent_fault", "simulator_fault", "environment_fault")
_NAMED = 40
"""A last line wider than this names its speaker; a narrower one has the seat's colour only."""
_SAMPLE = 400
"""Rows looked at to find how wide a column must be."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the list."""

    title: str
    width: int
    order: Order | None = None
    """Sorts by this."""


class Listing(Sheet):
    """Conversations, with the cursor kept on the same one while rows come and go."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._empty: Sequence[Text] = ()
        self._columns: list[Column] = []

    def show(self, rows: Sequence[Row], empty: Sequence[Text]) -> None:
        """Show these rows; `empty` stands here if there are none."""
        before = self.row
        at_top = self.cursor == 0
        self._rows, self._empty = rows, empty
        self._lay_out()
        place = None
        if before is not None and not at_top:
            place = next((i for i, row in enumerate(rows) if row.key == before.key), None)
        offset = (place - self.cursor) if place is not None else 0
        self.renew()
        if place is not None and place != self.cursor:
            self.scroll_to(y=self.scroll_offset.y + offset, animate=False, immediate=True, force=True)
            self.cursor = place
        elif self.row is not None and (before is None or self.row.key != before.key):
            self.post_message(self.Moved(self, self.cursor))

    @property
    def row(self) -> Row | None:
        """The conversation under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    def go(self, key: str) -> bool:
        """Move to this conversation if it is in the list."""
        place = next((i for i, row in enumerate(self._rows) if row.key == key), None)
        if place is not None:
            self.cursor = place
        return place is not None

    def on_resize(self) -> None:
        self._lay_out()
        self.renew()

    def _lay_out(self) -> None:
        if (wanted := columns(self._rows, self.width)) != self._columns:
            self._columns = wanted
            self._kept.clear()

    def items(self) -> int:
        return len(self._rows)

    def lines(self) -> int:
        return len(self._rows) or len(self._empty)

    def item_at(self, y: int) -> int | None:
        return y if 0 <= y < len(self._rows) else None

    def face(self, y: int) -> object | None:
        return self._rows[y] if y < len(self._rows) else None

    def draw(self, y: int, width: int) -> Text:
        return line(self._rows[y], self._columns) if y < len(self._rows) else self._empty[y]

    def words(self, item: int) -> str:
        row = self._rows[item]
        return " ".join((row.id, *row.labels.values(), row.result, row.last))

    def heading(self, order: Order, descending: bool) -> Text:
        """Names of the columns, with an arrow at the one that sorts."""
        text = Text("   ", "muted")
        for column in self._columns:
            here = column.order is not None and column.order == order
            title = column.title + (("↓" if descending else "↑") if here else "")
            right = column.title in ("turn", "reward", "v")
            cell = Text(title[: column.width], "key" if here else "muted")
            pad = " " * max(0, column.width - cell.cell_len)
            text.append_text(Text(pad) + cell if right else cell + Text(pad)).append(" ")
        return text


def columns(rows: Sequence[Row], width: int) -> list[Column]:
    """What fits: the id and the figures always, then the persona, the last line, the scenario, who sits where."""
    seen = rows[:_SAMPLE]
    room = width - 3
    found = [Column("id", _fit((row.id for row in seen), 8, 24 if width > 76 else 16), "id")]
    figures = [Column("turn", 5, "turn"), Column("reward", 7, "reward"), Column("v", 4, "version")]
    room -= found[0].width + 1 + sum(column.width + 1 for column in figures)
    if len({row.scenario for row in seen}) > 1 and room > 50:
        found.append(Column("scenario", _fit((row.scenario for row in seen), 8, 16), "scenario"))
        room -= found[-1].width + 1
    if room >= 9 and any(row.persona for row in seen):
        found.append(Column("persona", min(room - 1, _fit((row.persona for row in seen), 8, 12)), "persona"))
        room -= found[-1].width + 1
    found += figures
    if room >= 70:
        found.append(Column("seats", _fit(map(_seated, seen), 8, 36), "seats"))
        room -= found[-1].width + 1
    if room >= 10:
        found.append(Column("last line", room - 1, "updated"))
    return found


def _fit(texts: Iterable[str], least: int, most: int) -> int:
    return max(least, min(most, max((len(text) for text in texts), default=least)))


def line(row: Row, layout: Sequence[Column]) -> Text:
    """One conversation."""
    sign, ink = ("!", "alarm") if row.ending in _FAULTS else _STATES.get(row.result, _UNSCORED)
    text = Text.assemble(" ", (sign, ink), " ")
    for column in layout:
        cell = _cell(row, column)
        cell.truncate(column.width, overflow="ellipsis", pad=True)
        text.append_text(cell).append(" ")
    return text


def _cell(row: Row, column: Column) -> Text:
    match column.title:
        case "id":
            return Text(middle_cut(row.id, column.width))
        case "scenario":
            return Text(row.scenario, "muted")
        case "persona":
            return Text(row.persona, "muted")
        case "seats":
            return Text(_seated(row), "muted")
        case "turn":
            return Text(f"{row.turn:>{column.width}}", "muted")
        case "reward":
            return number(row.reward, column.width)
        case "v":
            return Text(("–" if row.version is None else str(row.version)).rjust(column.width), "muted")
        case _:
            return _last(row, column.width)


def _seated(row: Row) -> str:
    """Who sits where."""
    return "  ".join(f"{seat} {who}" for seat, who in row.seats.items())


def middle_cut(text: str, width: int) -> str:
    """A name cut in its middle: the ends of ids tell them apart."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2 + 1
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def _last(row: Row, width: int) -> Text:
    """Who spoke in colour, by name where there is room for it, and what was said."""
    seats = seats_of(row)
    ink = seat_ink(seats.index(row.speaker)) if row.speaker in seats else "muted"
    who = f"{row.speaker} " if width > _NAMED and row.speaker in seats else "› "
    return Text.assemble((who, ink), (row.last, "thought" if row.kind == "thought" else "plain"))
