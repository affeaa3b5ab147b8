"""What all screens share: tabs above, the status line and the key hints below, and a moment to look at the source.

A room draws what the source holds; it never makes the source wait. Knows no particular screen.
"""

import time
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.screen import Screen

from simarena.tui.feed.source import Source
from simarena.tui.feed.status import Status
from simarena.tui.widgets.hints import Hints
from simarena.tui.widgets.line import Line, button

if TYPE_CHECKING:
    from simarena.tui.app import WatchApp

ROOMS = ("arena", "training", "why", "topology", "tournament", "seat")
"""In the order of their keys."""
_WIDTHS = ((0, "-narrow"), (100, "-wide"), (160, "-vast"))
"""Classes of a screen by its least width in columns."""
_LAMPS = {
    "connected": ("●", "good"),
    "following": ("●", "good"),
    "opening": ("◌", "warn"),
    "silent": ("◌", "warn"),
    "reconnecting": ("◌", "warn"),
    "lost": ("✗", "bad"),
}
_DARK = ("■", "muted")


class Room(Screen[None]):
    """One screen of the app."""

    NAME: ClassVar[str]
    HOLDS: ClassVar[bool] = True
    """Whether it stands still while the person pauses."""
    HORIZONTAL_BREAKPOINTS = list(_WIDTHS)  # noqa: RUF012  Textual declares it as no class variable

    def compose(self) -> ComposeResult:
        yield Line(id="tabs", keep_left=True)
        yield from self.body()
        yield Line(id="status")
        yield Hints(id="hints")

    def body(self) -> ComposeResult:
        """The widgets between tabs and status line."""
        raise NotImplementedError

    def look(self) -> None:
        """The source may have changed: show what it holds now. Called a few times a second while on screen."""

    @property
    def watch_app(self) -> "WatchApp":
        return cast("WatchApp", self.app)

    @property
    def source(self) -> Source:
        return self.watch_app.source

    def on_mount(self) -> None:
        self.query_one("#tabs", Line).left = _tabs(self.NAME)

    def say(self, message: Text) -> None:
        """A message that stands for a moment where the key hints are."""
        self.query_one("#hints", Hints).say(message)

    def on_screen_resume(self) -> None:
        self.glance()

    def glance(self) -> None:
        """Look, and bring the lines above and below up to date."""
        if not (self.is_mounted and self.app.is_running):
            return  # being taken down
        self.look()
        status = self.source.status()
        self.query_one("#tabs", Line).right = Text(f"{self.source.title} ", "muted")
        line = self.query_one("#status", Line)
        line.left, line.right = self._told(status), Text(f"{self._clock()} ", "muted")

    def _told(self, status: Status) -> Text:
        sign, ink = _LAMPS.get(status.connection, _DARK)
        text = Text.assemble(" ", (sign, ink), f" {status.connection}")
        if (held := self.watch_app.held) is not None:
            text.append(f"  ‖ paused, +{max(0, status.arrived - held):,} new", "alarm")
        if status.run not in (None, "running"):
            text.append(f"  ‖ the run is {status.run}", "alarm")
        if status.detail:
            text.append(f"  {status.detail}", "warn")
        if not status.over:
            text.append(f"  lag {_span(status.lag)}  {status.rate:,.0f} messages/s", "muted")
        text.append(f"  {status.dropped:,} dropped", "warn" if status.dropped else "muted")
        if alarms := len(self.source.training.alarms):
            text.append(f"  {alarms} alarm{'s' if alarms > 1 else ''}", "alarm")
        return text

    def _clock(self) -> str:
        now = self.watch_app.now()
        book = self.source.training
        step = f"step {book.step:,}/{book.total_steps:,}  " if book.total_steps else ""
        return f"{step}{time.strftime('%H:%M:%S', time.gmtime(now))} UTC"


def _tabs(chosen: str) -> Text:
    tabs = Text(" ")
    for i, name in enumerate(ROOMS, 1):
        tab = button(f" {i} {name.capitalize()} ", f"app.room('{name}')")
        tab.stylize("key" if name == chosen else "muted")
        if name == chosen:
            tab.stylize("chosen")
        tabs.append_text(tab)
    return tabs


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:,.0f} s"
