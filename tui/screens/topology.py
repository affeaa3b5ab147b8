"""Topology: who can hear whom in this scenario, and how much was said."""

from collections.abc import Sequence
from typing import ClassVar

import networkx as nx
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from simarena.arena.errors import SimArenaError
from simarena.tui import hearing
from simarena.tui.feed.opened import Opened
from simarena.tui.feed.rows import Row
from simarena.tui.screens.room import Room
from simarena.tui.widgets.braille import bar
from simarena.tui.widgets.graph import Edge, Traffic, drawing
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel

MANY = 100
"""Newest conversations of the scenario that are counted together."""


class Topology(Room):
    """The seats as a drawing, and the figures below it."""

    NAME = "topology"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "many", "One/many", id="topology.many"),
        Binding("escape,h", "app.room('arena')", "Back", id="topology.back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._row: Row | None = None
        self._many = False
        self._seen: object = None

    def body(self) -> ComposeResult:
        yield Line(id="topology-title", classes="title")
        with Vertical(id="topology"):
            yield Panel(id="drawing")
            yield Panel(id="traffic")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#traffic", Panel).focus()

    def look(self) -> None:
        chosen = self.watch_app.chosen()
        row = self.source.conversations.get(chosen.key) if chosen is not None else None
        if self.watch_app.held is None and (row is None or row is not self._seen):
            self._seen = self._row = row
            self._count()

    def action_many(self) -> None:
        self._many = not self._many
        self._count()

    @work(exclusive=True, group="topology")
    async def _count(self) -> None:
        row = self._row
        if row is None:
            self._say("No conversation is open.", "1 shows them all; the one opened there is drawn here.")
            return
        rows = [row]
        if self._many:
            same = self.source.conversations.select(lambda one: one.scenario == row.scenario, "started", True)
            rows = same[:MANY]
        opened: list[Opened] = []
        for one in rows:
            try:
                opened.append(await self.source.open(one.key))
            except SimArenaError:  # given up since, to bound memory: the others still count
                continue
        if self.app.is_running:
            self._show(row, opened)

    def _show(self, row: Row, opened: Sequence[Opened]) -> None:
        graph = hearing.topology(row.scenario, row.seats)
        counts = hearing.traffic(opened, graph)
        known = graph is not None
        graph = graph if graph is not None else hearing.heard(row.seats, counts)
        title = Text.assemble((" Topology", "strong"), f"  {row.scenario}")
        title.append(f"  {row.id}" if not self._many else f"  {len(opened)} newest conversations", "muted")
        self.query_one("#topology-title", Line).left = title
        told = "who can hear whom " if known else "who was heard by whom "
        self.query_one("#topology-title", Line).right = Text(told, "muted")
        panel = self.query_one("#drawing", Panel)
        panel.fill(lambda width: drawing(graph, counts, width, panel.size.height))
        self.query_one("#traffic", Panel).fill(lambda width: _table(graph, counts, width))

    def _say(self, *lines: str) -> None:
        self.query_one("#topology-title", Line).left = Text(" Topology", "strong")
        self.query_one("#drawing", Panel).show([Text(), *(Text(f" {line}", "muted") for line in lines)])
        self.query_one("#traffic", Panel).show([])


def _table(graph: "nx.DiGraph[str]", counts: dict[Edge, Traffic], width: int) -> list[Text]:
    """Every pair, most said first; those that can hear each other and said nothing too."""
    pairs = sorted({*graph.edges, *counts}, key=lambda pair: -counts.get(pair, Traffic()).messages)
    most = max((one.messages for one in counts.values()), default=0) or 1
    room = max(4, min(40, width - 66))
    lines = [Text(f" {'from':<16}{'to':<16}{'messages':>9}{'words':>9}{'private':>9}", "muted")]
    for source, target in pairs:
        one = counts.get((source, target), Traffic())
        line = Text(f" {source[:15]:<16}{target[:15]:<16}{one.messages:>9,}{one.words:>9,}{one.private:>9,}  ")
        lines.append(line.append_text(bar(one.messages / most, room)))
    return lines
