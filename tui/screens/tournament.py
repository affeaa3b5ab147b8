"""Tournament: standings with their intervals, cross-table or bracket, and the matches as they are played."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from simarena.arena.tournament.results import Result
from simarena.tui.scoreboard import Scoreboard, Table
from simarena.tui.screens.room import Room
from simarena.tui.widgets import contest
from simarena.tui.widgets.braille import bar
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel
from simarena.tui.widgets.sheet import Sheet
from simarena.tui.widgets.table import Table as Choices

_SHOWN = 2000
"""Newest matches in the list."""


class Tournament(Room):
    """The table above, who beat whom and the matches below."""

    NAME = "tournament"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open match", id="tournament.open"),
        Binding("tab", "app.focus_next", "Next pane", show=False, id="tournament.pane"),
        Binding("escape,h", "app.room('arena')", "Back", id="tournament.back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._board: Scoreboard | None = None
        self._drawn = False

    def body(self) -> ComposeResult:
        yield Line(id="tournament-title", classes="title")
        with Vertical(id="tournament"):
            yield Panel(id="standings")
            with Horizontal(id="below"):
                yield Panel(id="crosses")
                with Vertical(id="matches-pane"):
                    yield Line(id="matches-columns")
                    yield Choices[Result](id="matches")

    @property
    def matches(self) -> Choices[Result]:
        return self.query_one("#matches", Choices)

    def on_mount(self) -> None:
        super().on_mount()
        self.matches.focus()
        self.query_one("#matches-columns", Line).left = contest.match_heading()

    def look(self) -> None:
        folder, facts = self.source.path, self.source.training.facts
        if self._board is None and folder is not None and Scoreboard.holds(folder, facts):
            self._board = Scoreboard(folder)
        if self._board is None:
            if not self._drawn:
                self._say(
                    "This run is no tournament.", "`simarena tournament FILE` plays one;", "then watch its folder."
                )
        elif self.watch_app.held is None and (self._board.look() or not self._drawn):
            self._show(self._board)
        self._drawn = True

    def _show(self, board: Scoreboard) -> None:
        title = self.query_one("#tournament-title", Line)
        running = sum(row.state == "running" for row in self.source.conversations)
        title.left = _title(board.table, len(board.results), running)
        title.right = Text(f"{board.trouble} ", "warn")
        table = board.table
        if not table.standings and not board.results:
            self._say("Nothing has been played yet.", "The table appears with the first results.")
            return
        self.query_one("#standings", Panel).fill(
            lambda width: [*contest.standings(table, width), Text(), *contest.words(table)]
        )
        graph = board.bracket(self.source.training.facts)
        if graph is not None:
            lines = [Text(" Bracket", "strong"), *contest.bracket(graph)]
        else:
            lines = contest.crosses(board.cross_table(), board.entrants())
        self.query_one("#crosses", Panel).show(lines)
        newest = board.results[-_SHOWN:][::-1]
        self.matches.fill(newest, [contest.match(result) for result in newest])

    def _say(self, *lines: str) -> None:
        self.query_one("#tournament-title", Line).left = Text(" Tournament", "strong")
        self.query_one("#standings", Panel).show([Text(), *(Text(f" {line}", "muted") for line in lines)])

    def on_sheet_chosen(self, event: Sheet.Chosen) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Show what was said in this match."""
        if (result := self.matches.item) is not None:
            self.watch_app.show_conversation(result.episode)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        return self.is_mounted and self.matches.item is not None if action == "open" else True


def _title(table: Table, played: int, running: int) -> Text:
    title = Text.assemble((" Tournament", "strong"), f"  {table.name}", (f"  {table.method}", "muted"))
    if table.final:
        title.append(f"  {table.matches:,} matches, {table.round} rounds", "muted")
        return title.append(f"  stopped: {table.stopped}" if table.stopped else "  final", "good")
    if table.planned:
        title.append(f"  round {table.round}  ", "muted").append_text(bar(played / table.planned, 16))
        title.append(f" {played:,}/{table.planned:,}", "muted")
    if running:
        title.append(f"  {running:,} matches running", "key")
    return title
