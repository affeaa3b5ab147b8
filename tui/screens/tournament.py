"""Tournament: standings with their intervals, cross-table or bracket, and the matches, running ones first."""

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from simarena.arena.tournament.results import Result
from simarena.tui.feed.rows import Row
from simarena.tui.scoreboard import Scoreboard, Table
from simarena.tui.screens.room import Room
from simarena.tui.widgets import contest
from simarena.tui.widgets.bracket import bracket
from simarena.tui.widgets.braille import bar
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel
from simarena.tui.widgets.sheet import Sheet
from simarena.tui.widgets.table import Table as Choices

_SHOWN = 2000
"""Newest matches in the list."""
_LIVE = 200
"""Matches that are being played in the list."""


class Tournament(Room):
    """The table above, who beat whom and the matches below."""

    NAME = "tournament"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open match", id="tournament.open"),
        Binding("x", "crosses", "Bracket/cross-table", id="tournament.crosses"),
        Binding("tab", "app.focus_next", "Next pane", show=False, id="tournament.pane"),
        Binding("escape,h", "app.room('arena')", "Back", id="tournament.back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._board: Scoreboard | None = None
        self._drawn = False
        self._playing: list[Row] = []
        """Matches that are being played, the newest first."""

    def body(self) -> ComposeResult:
        yield Line(id="tournament-title", classes="title")
        with Vertical(id="tournament"):
            yield Panel(id="standings")
            with Horizontal(id="below"):
                yield Panel(id="crosses")
                with Vertical(id="matches-pane"):
                    yield Line(id="matches-columns")
                    yield Choices[Result | Row](id="matches")

    @property
    def matches(self) -> Choices[Result | Row]:
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
        elif self.watch_app.held is None and (self._look_at_playing() | self._board.look() or not self._drawn):
            self._show(self._board)
        self._drawn = True

    def _look_at_playing(self) -> bool:
        """Says whether a match began, went on or ended."""
        store = self.source.conversations
        running = store.select(lambda row: row.state == "running", "started", descending=True)[:_LIVE]
        fresh, self._playing = running != self._playing, running
        return fresh

    def _show(self, board: Scoreboard) -> None:
        title = self.query_one("#tournament-title", Line)
        title.left = _title(board.table, len(board.results), len(self._playing))
        title.right = Text(f"{board.trouble} ", "warn")
        table = board.table
        if not table.standings and not board.results and not self._playing:
            self._say("Nothing has been played yet.", "The table appears with the first results.")
            return
        self.query_one("#standings", Panel).fill(
            lambda width: [*contest.standings(table, width), Text(), *contest.words(table)]
        )
        self.query_one("#crosses", Panel).fill(self._crosses(board))
        newest = board.results[-_SHOWN:][::-1]
        lines = [*map(contest.running, self._playing), *map(contest.match, newest)]
        self.matches.fill([*self._playing, *newest], lines)

    def _crosses(self, board: Scoreboard) -> Callable[[int], list[Text]]:
        graph = board.bracket(self.source.training.facts)
        if graph is None:
            table, names = board.cross_table(), board.entrants()
            return lambda width: contest.crosses(table, names, width)
        pairs = {frozenset(contest.playing(row)) for row in self._playing}
        return lambda width: bracket(graph, width, pairs)

    def _say(self, *lines: str) -> None:
        self.query_one("#tournament-title", Line).left = Text(" Tournament", "strong")
        self.query_one("#standings", Panel).show([Text(), *(Text(f" {line}", "muted") for line in lines)])

    def on_sheet_chosen(self, event: Sheet.Chosen) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Show what was said in this match."""
        match self.matches.item:
            case Result() as result:
                self.watch_app.show_conversation(result.episode)
            case Row() as row:
                self.watch_app.show_conversation(row.key)

    def action_crosses(self) -> None:
        """The bracket or cross-table alone, and back."""
        self.toggle_class("-crossed")
        (self.query_one("#crosses", Panel) if self.has_class("-crossed") else self.matches).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        match action:
            case "open":
                return self.is_mounted and self.matches.item is not None and not self.has_class("-crossed")
            case "crosses":
                return self._board is not None and bool(self._board.results or self._playing)
            case _:
                return True


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
