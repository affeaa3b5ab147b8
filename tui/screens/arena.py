"""The Arena: all conversations in a list, the opened one beside it, live or as they were recorded."""

import time
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from simarena.arena.errors import SimArenaError, UsageError
from simarena.arena.record import RunFolder
from simarena.arena.text import one_line
from simarena.tui.feed.conversations import ORDERS, Order
from simarena.tui.feed.expression import TooSlow
from simarena.tui.feed.query import Everything, Query, compile_query
from simarena.tui.feed.rows import Row
from simarena.tui.forking import Fork
from simarena.tui.screens.replaying import Replaying
from simarena.tui.widgets import blocks
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.listing import Listing
from simarena.tui.widgets.prompt import Prompt
from simarena.tui.widgets.reader import Reader
from simarena.tui.widgets.sheet import Sheet
from simarena.tui.widgets.turn import TurnPanel

_RESTS = 20.0
"""The list is gone through again after this many times what it took last: it costs 5 % at most."""
_READABLE = 3.0
"""Seconds an ended conversation stays open before `follow` goes on to another."""


class Arena(Replaying):
    """List, conversation, and on wide screens the turn under the cursor."""

    NAME = "arena"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="arena.open"),
        Binding("escape,h", "back", "Back", id="arena.back"),
        Binding("f", "filter", "Filter", id="arena.filter"),
        Binding("slash", "search", "Search", id="arena.search", key_display="/"),
        Binding("n", "again(1)", "Next match", id="arena.next"),
        Binding("N", "again(-1)", "Previous match", show=False, id="arena.previous"),
        Binding("s", "sort", "Sort", id="arena.sort"),
        Binding("S", "reverse", "Turn the order round", show=False, id="arena.reverse"),
        Binding("t", "follow", "Follow", id="arena.follow"),
        Binding("right_square_bracket", "step_list(1)", "Next conversation", show=False, id="arena.down"),
        Binding("left_square_bracket", "step_list(-1)", "Previous conversation", show=False, id="arena.up"),
        Binding("w", "why", "Why", id="arena.why"),
        Binding("F", "fork", "Fork", id="arena.fork"),
        Binding("y", "copy_line", "Copy what was said", show=False, id="arena.copy"),
        Binding("Y", "copy_all", "Copy the conversation", show=False, id="arena.copy_all"),
        Binding("z", "zoom", "Zoom this pane", show=False, id="arena.zoom"),
        Binding("less_than_sign", "resize(-4)", "Narrower list", show=False, id="arena.narrower"),
        Binding("greater_than_sign", "resize(4)", "Wider list", show=False, id="arena.wider"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._query: Query = Everything()
        self._needle = ""
        self._order: Order = "started"
        self._descending = True
        self._following = False
        self._seen = -1
        self._next_look = 0.0
        self._open_row: Row | None = None
        self._ended_at = 0.0
        self._hinted: tuple[object, ...] = ()
        """What the key hints were last made for."""

    @property
    def chosen(self) -> Row | None:
        """The conversation that is open."""
        return self._open_row

    def body(self) -> ComposeResult:
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield Line(id="list-title", classes="title")
                yield Line(id="list-columns")
                yield Listing(id="list")
            with Vertical(id="right"):
                yield Line(id="reader-title", classes="title")
                yield Line(id="reader-columns")
                yield Reader(id="reader")
            yield TurnPanel(id="turn")
        yield Prompt(id="prompt")

    def on_mount(self) -> None:
        super().on_mount()
        self._following = self.source.live
        if query := self.watch_app.first_query:
            self._query = compile_query(query)
        self.listing.focus()
        self.reader.say(*_lines("", "  No conversation is open.", "  enter opens the one under the cursor."))

    # Looking.

    def look(self) -> None:
        if self.watch_app.held is None:
            self._look_at_list()
            self._look_at_reader()
        self.titles()

    def _look_at_list(self, now: bool = False) -> None:
        store = self.source.conversations
        if not now and (store.revision == self._seen or time.monotonic() < self._next_look):
            return
        began, self._seen = time.monotonic(), store.revision
        self.listing.show(self._chosen_rows(), self._nothing())
        self._next_look = time.monotonic() + _RESTS * (time.monotonic() - began)
        if self._following:
            self._follow_on()
        if self._open_row is None and self.listing.row is not None and not self.has_class("-narrow"):
            self.open(self.listing.row)

    def _chosen_rows(self) -> Sequence[Row]:
        """The rows that the filter holds for; one that takes too long is given up, and can be mended."""
        store, query = self.source.conversations, self._query
        try:
            return store.select(None if isinstance(query, Everything) else query, self._order, self._descending)
        except TooSlow as error:
            self._query = Everything()
            self.watch_app.tell(str(error), "error")
            self.prompt.ask("filter", "filter", str(query))
            return store.select(None, self._order, self._descending)

    def _look_at_reader(self) -> None:
        if self._open_row is not None and not self.replaying:
            newest = self.source.conversations.get(self._open_row.key)
            if newest is not None and newest is not self._open_row:
                self.open(newest)

    def _nothing(self) -> Sequence[Text]:
        """What stands in the list when it is empty: why, and what to do."""
        count = len(self.source.conversations)
        if count:
            shown = one_line(str(self._query), 60)
            return _lines(
                "", f"  None of {count:,} conversations fits", f"  {shown}", "", "  esc takes the filter away."
            )
        status = self.source.status()
        if status.over:
            return _lines(
                "", "  This run recorded no conversations.", "  q quits; `simarena list runs` shows others."
            )
        return _lines("", "  Nothing has been said yet.", "  Conversations appear here as they are spoken.")

    def titles(self) -> None:
        rows, count = len(self.listing.rows), len(self.source.conversations)
        title = Text.assemble((" Conversations ", "strong"), (f"{rows:,}", "plain"))
        if not isinstance(self._query, Everything):
            title.append(f" of {count:,}", "muted").append(f"  {one_line(str(self._query), 60)}", "key")
        self.query_one("#list-title", Line).left = title
        self.query_one("#list-title", Line).right = Text("follow " if self._following else "", "good")
        self.query_one("#list-columns", Line).left = self.listing.heading(self._order, self._descending)
        self.query_one("#reader-columns", Line).left = (
            blocks.heading(self.reader.plan) if self._open_row else Text()
        )
        self._reader_title()
        state = (self.replaying, self._needle, self._query, self.reader.opened is None, self.listing.row is None)
        if state != self._hinted:
            self._hinted = state
            self.refresh_bindings()

    def _reader_title(self) -> None:
        line, row = self.query_one("#reader-title", Line), self._open_row
        line.right = self.replay_told()
        if row is None:
            line.left = Text(" Conversation", "strong")
            return
        labels = " · ".join(value for value in row.labels.values() if value)
        line.left = Text.assemble((f" {row.id}", "strong"), (f"  {row.scenario}  {labels}", "muted"))

    # Opening.

    def open(self, row: Row) -> None:
        self._open_row = row
        self._read(row)

    @work(exclusive=True, group="open")
    async def _read(self, row: Row) -> None:
        try:
            opened = await self.source.open(row.key)
        except SimArenaError as error:
            self.reader.say(Text(""), Text(f"  {one_line(str(error))}", "bad"), *_lines("  Open another one."))
            return
        if self._open_row is row and self.app.is_running:
            self.reader.show(opened)
            self._show_turn()
            self.titles()

    def on_sheet_moved(self, event: Sheet.Moved) -> None:
        if event.sheet is self.listing:
            row = self.listing.row
            wide = not self.has_class("-narrow") or self.has_class("-reading")
            if row is not None and wide and (self._open_row is None or row.key != self._open_row.key):
                self.stop_replay()
                self.open(row)
        else:
            self._show_turn()

    def on_sheet_chosen(self, event: Sheet.Chosen) -> None:
        if event.sheet is self.listing:
            self.action_open()
        else:
            self.reader.action_fold()

    def _show_turn(self) -> None:
        self.query_one("#turn", TurnPanel).show_turn(self.reader.opened, self.reader.block)

    def read(self, row: Row) -> None:
        """Open this conversation and go to it in the list, without a filter if that hides it."""
        if all(one.key != row.key for one in self.listing.rows):
            self._filter(Everything())
        self.listing.go(row.key)
        self.open(row)
        self.add_class("-reading")
        self.reader.focus()

    def action_open(self) -> None:
        if (row := self.listing.row) is not None:
            self.add_class("-reading")
            self.open(row)
            self.reader.focus()

    def action_back(self) -> None:
        if self.reader.has_focus or self.has_class("-reading"):
            self.stop_replay()
            self.remove_class("-reading", "-zoomed")
            self.listing.focus()
        elif not isinstance(self._query, Everything):
            self._filter(Everything())

    def action_step_list(self, by: int) -> None:
        self.listing.cursor += by

    # Following.

    def action_follow(self) -> None:
        self._following = not self._following
        if self._following:
            self._follow_on()
            self.reader.action_last()
        self.titles()

    def _follow_on(self) -> None:
        """Stay with a conversation until it has ended and could be read, then go to the newest that runs."""
        row = self._open_row and self.source.conversations.get(self._open_row.key)
        if row is not None and row.state == "running":
            self._ended_at = 0.0
            return
        self._ended_at = self._ended_at or time.monotonic()
        if row is not None and time.monotonic() - self._ended_at < _READABLE:
            return
        newest = next((one for one in self.listing.rows if one.state == "running"), None)
        if newest is not None and self.listing.go(newest.key):
            self._ended_at = 0.0
            self.open(newest)

    # Choosing and finding.

    def action_filter(self) -> None:
        self.prompt.ask("filter", "filter", str(self._query))

    def action_search(self) -> None:
        self.prompt.ask("search", "search", self._needle)

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        self._give_back_focus(event.purpose)
        if event.purpose == "filter":
            try:
                self._filter(compile_query(event.text))
            except UsageError as error:
                self.watch_app.tell(str(error), "error")
                self.prompt.ask("filter", "filter", event.text)  # to be mended, not to be written again
        elif event.purpose == "search":
            self._needle = event.text
            self.action_again(1)
        elif event.purpose == "turn":
            self.go_to_turn(event.text)

    def on_prompt_closed(self, event: Prompt.Closed) -> None:
        self._give_back_focus(event.purpose)

    def _give_back_focus(self, purpose: str) -> None:
        reading = purpose == "turn" or self.has_class("-reading")
        (self.reader if reading else self.listing).focus()

    def _filter(self, query: Query) -> None:
        self._query = query
        self._look_at_list(now=True)
        self.titles()

    def action_again(self, by: int) -> None:
        sheet: Sheet = self.reader if self.reader.has_focus else self.listing
        if not self._needle:
            self.watch_app.tell("nothing to look for yet: / asks for words")
        elif not sheet.find(self._needle, by):
            where = "conversation" if sheet is self.reader else "list"
            self.watch_app.tell(f"{one_line(self._needle, 40)!r} is nowhere in this {where}")

    def action_sort(self) -> None:
        orders = tuple(ORDERS)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self._look_at_list(now=True)
        self.watch_app.tell(f"sorted by {self._order}, {'highest' if self._descending else 'lowest'} first")

    def action_reverse(self) -> None:
        self._descending = not self._descending
        self._look_at_list(now=True)
        self.titles()

    # Copying, and the panes.

    def action_copy_line(self) -> None:
        if (block := self.reader.block) is not None:
            self.watch_app.copy(blocks.words(block))

    def action_copy_all(self) -> None:
        if self.reader.opened is not None:
            self.watch_app.copy("\n".join(self.reader.words(item) for item in range(self.reader.items())))

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")
        self.set_class(self.reader.has_focus, "-zoom-right")

    def action_resize(self, by: int) -> None:
        left = self.query_one("#left")
        left.styles.width = max(24, min(left.size.width + by, self.size.width - 30))

    def action_why(self) -> None:
        if self._open_row is not None:
            block = self.reader.block
            self.watch_app.show_why(self._open_row, block.head if block is not None else None)

    def action_fork(self) -> None:
        """Go on from the turn under the cursor, at the Seat screen."""
        row, path, block = self._open_row, self.source.path, self.reader.block
        if row is None or path is None:
            self.watch_app.tell("a conversation can be forked once it is recorded in a run folder that is here")
            return
        try:
            episode = self.source.episode(row.key)
            last = max((one.index for one in episode.turns), default=0)
            turn = block.head.turn if block is not None else last
            if episode.ending == "finished" and turn >= last:
                self.watch_app.tell(f"this conversation is over with turn {turn}: fork it after an earlier one")
                return
            self.watch_app.show_seat(Fork(RunFolder.open(path), episode, turn))
        except SimArenaError as error:
            self.watch_app.tell(str(error), "error")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        if not self.is_mounted:
            return True
        match action:
            case "open" | "step_list":
                return self.listing.row is not None and not (action == "open" and self.reader.has_focus)
            case "back":
                return (
                    self.reader.has_focus or self.has_class("-reading") or not isinstance(self._query, Everything)
                )
            case "again":
                return bool(self._needle)
            case "why" | "copy_line" | "copy_all" | "fork":
                return self.reader.opened is not None
            case _:
                return super().check_action(action, parameters)


def _lines(*texts: str) -> list[Text]:
    return [Text(text, "muted") for text in texts]
