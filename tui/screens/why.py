"""Why: how the turns of one seat were credited, beside the other conversations of its group."""

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from simarena.arena.errors import SimArenaError
from simarena.arena.text import one_line
from simarena.tui.feed.opened import Line as Said
from simarena.tui.feed.rows import Row
from simarena.tui.feed.why import Sibling, Why, WhyTurn
from simarena.tui.screens.room import Room
from simarena.tui.widgets import credit
from simarena.tui.widgets.credit import Shade
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel
from simarena.tui.widgets.sheet import Sheet
from simarena.tui.widgets.table import Table


class WhyRoom(Room):
    """The group above, the seat's turns below it, and beside them the turn spelled out."""

    NAME = "why"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "sibling", "This member", id="why.sibling"),
        Binding("tab", "app.focus_next", "Next pane", show=False, id="why.pane"),
        Binding("right_square_bracket", "turn(1)", "Next turn", id="why.next", key_display="]"),
        Binding(
            "left_square_bracket", "turn(-1)", "Previous turn", show=False, id="why.previous", key_display="["
        ),
        Binding("c", "shade", "Token colours", id="why.shade"),
        Binding("x", "seat", "Other seat", id="why.seat"),
        Binding("y", "copy", "Copy the computation", show=False, id="why.copy"),
        Binding("escape,h", "app.room('arena')", "Back", id="why.back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._row: Row | None = None
        self._seat = ""
        self._why: Why | None = None
        self._shade: Shade = "logprob"

    def body(self) -> ComposeResult:
        yield Line(id="why-title", classes="title")
        with Horizontal(id="why"):
            with Vertical(id="why-left"):
                yield Line(id="group-columns")
                yield Table[Sibling](id="group")
                yield Line(id="turns-columns")
                yield Table[WhyTurn](id="turns")
            yield Panel(id="spelled")

    @property
    def turns(self) -> Table[WhyTurn]:
        return self.query_one("#turns", Table)

    @property
    def group(self) -> Table[Sibling]:
        return self.query_one("#group", Table)

    def on_mount(self) -> None:
        super().on_mount()
        self.turns.focus()
        if self._row is None:
            self._say(
                "No conversation is chosen.", "1 shows them all; w there explains the turn under the cursor."
            )

    def explain(self, row: Row, line: Said | None) -> None:
        """Explain this conversation, beginning with the turn of this line."""
        self._row = row
        seat = line.seat if line is not None and line.seat in row.learners else ""
        self._read(row.key, seat, line.turn if line is not None else None)

    @work(exclusive=True, group="why")
    async def _read(self, key: str, seat: str, turn: int | None) -> None:
        try:
            why = await self.source.why(key, seat)
        except SimArenaError as error:
            self._why = None
            self._say(one_line(str(error)), "1 goes back to the conversations.")
            return
        if self.app.is_running:
            self._seat, self._why = why.seat, why
            self._show(why, turn)

    def _show(self, why: Why, turn: int | None) -> None:
        title = Text.assemble((" Why", "strong"), f"  {why.id}", (f"  {why.seat}", "key"))
        title.append(f"  {why.rule} {why.settings}", "muted")
        fate = why.fate + (f" at step {why.step}" if why.step is not None and why.fate == "trained" else "")
        self.query_one("#why-title", Line).left = title
        self.query_one("#why-title", Line).right = Text(f"{fate} ", "good" if why.fate == "trained" else "warn")
        self.query_one("#group-columns", Line).left = credit.sibling_heading()
        mine = next((i for i, one in enumerate(why.siblings) if one.key == why.key), 0)
        rows = [credit.sibling(one, one.key == why.key) for one in why.siblings]
        rows = rows or [Text("   Nothing is recorded of a group.", "muted")]
        self.group.fill(why.siblings, rows, mine)
        self.group.styles.height = min(max(1, len(rows)), 16)
        self.query_one("#turns-columns", Line).left = credit.turn_heading()
        place = next((i for i, one in enumerate(why.turns) if turn is not None and one.turn >= turn), 0)
        self.turns.fill(why.turns, [credit.turn(one) for one in why.turns], place)
        self._spell()

    def _spell(self) -> None:
        why, turn = self._why, self.turns.item
        panel = self.query_one("#spelled", Panel)
        if why is None or turn is None:
            panel.show([])
            return
        shade = self._shade
        panel.fill(lambda width: credit.spelled(why, turn, shade, width))
        panel.action_first()

    def _say(self, *lines: str) -> None:
        self.query_one("#why-title", Line).left = Text(" Why", "strong")
        self.query_one("#why-title", Line).right = Text()
        self.group.fill((), ())
        self.turns.fill((), ())
        self.query_one("#group-columns", Line).left = self.query_one("#turns-columns", Line).left = Text()
        self.query_one("#spelled", Panel).show([Text(), *(Text(f" {line}", "muted") for line in lines)])

    def on_sheet_moved(self, event: Sheet.Moved) -> None:
        if event.sheet is self.turns:
            self._spell()

    def on_sheet_chosen(self, event: Sheet.Chosen) -> None:
        if event.sheet is self.group:
            self.action_sibling()

    def action_sibling(self) -> None:
        if (one := self.group.item) is not None and self._why is not None:
            row = self.source.conversations.get(one.key)
            self._row = row or self._row
            self._read(one.key, self._seat, self.turns.item.turn if self.turns.item is not None else None)

    def action_turn(self, by: int) -> None:
        self.turns.cursor += by

    def action_shade(self) -> None:
        self._shade = "advantage" if self._shade == "logprob" else "logprob"
        self._spell()

    def action_seat(self) -> None:
        """The next seat that learns."""
        if self._row is not None and self._why is not None:
            seats = self._row.learners
            place = seats.index(self._seat) if self._seat in seats else -1
            self._read(self._why.key, seats[(place + 1) % len(seats)], None)

    def action_copy(self) -> None:
        if self._why is not None:
            self.watch_app.copy("\n".join(turn.sum for turn in self._why.turns))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        match action:
            case "sibling":
                return self.is_mounted and self.group.has_focus and self.group.item is not None
            case "turn" | "shade" | "copy":
                return self._why is not None
            case "seat":
                return self._row is not None and len(self._row.learners) > 1
            case _:
                return True
