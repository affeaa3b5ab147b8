"""The app: wires a source to the screens, and holds what all of them share: pause, theme, keys, copying.

Knows which screens there are and nothing of what they show.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import ActiveBinding, Binding, BindingType
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme

from simarena.arena.collector import rarely
from simarena.arena.errors import SimArenaError
from simarena.arena.text import one_line, visible
from simarena.arena.wire import Asked, RunState
from simarena.tui import clipboard, settings
from simarena.tui.feed.opened import Line
from simarena.tui.feed.rows import Row
from simarena.tui.feed.source import Source
from simarena.tui.forking import Fork, New
from simarena.tui.screens.arena import Arena
from simarena.tui.screens.help import Help
from simarena.tui.screens.room import ROOMS, Room
from simarena.tui.screens.seat import SeatRoom
from simarena.tui.screens.topology import Topology
from simarena.tui.screens.tournament import Tournament
from simarena.tui.screens.training import Training
from simarena.tui.screens.why import WhyRoom
from simarena.tui.themes import COLOURLESS, DEFAULT, THEMES, inks

LOOKS = 10.0
"""Times a second that the screen looks at the source."""


PATIENCE = 4.0
"""Seconds in which the same key again is a yes."""
_ASKING: dict[Asked, tuple[str, str]] = {
    "pause": ("P", "the run pauses when its step is done, for everyone"),
    "resume": ("P", ""),
    "stop": ("X", "the run stops when its step is done; it is saved, and train --resume goes on"),
}
"""What a run can be asked: the key, and what the person is told first."""
_POSSIBLE: dict[RunState, tuple[Asked, ...]] = {
    "running": ("pause", "stop"),
    "pausing": ("resume", "stop"),
    "paused": ("resume", "stop"),
    "stopping": (),
}


class WatchApp(App[int]):
    """The terminal one wants to live in."""

    TITLE = "simarena"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    HOVER_EFFECTS_ENABLED = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(i), f"room('{name}')", name.capitalize(), show=False, id=f"app.{name}")
            for i, name in enumerate(ROOMS, 1)
        ),
        Binding("space", "hold", "Pause", id="app.pause"),
        *(
            Binding(key, f"ask('{asked}')", f"{asked.capitalize()} run", id=f"run.{asked}")
            for asked, (key, _) in _ASKING.items()
        ),
        Binding("question_mark", "help", "Help", id="app.help", key_display="?"),
        Binding("ctrl+p", "command_palette", "Commands", id="app.commands", show=False, priority=True),
        Binding("T", "next_theme", "Next theme", show=False, id="app.theme"),
        Binding("q", "quit", "Quit", id="app.quit"),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, system=True),
    ]

    def __init__(
        self, source: Source, query: str = "", *, now: Callable[[], float] = time.time, theme: str = ""
    ) -> None:
        """`now` is the clock on screen, in seconds since the epoch."""
        colourless = bool(os.environ.get("NO_COLOR"))
        super().__init__(ansi_color=True if colourless else None)
        self.source, self.first_query, self.now = source, query, now
        self.held: int | None = None
        """Messages that had arrived when the person paused; None while not paused."""
        for one in THEMES:
            self.register_theme(one)
        for name in set(self.available_themes) - {one.name for one in THEMES}:
            self.unregister_theme(name)
        mine = settings.load(tuple(one.name for one in THEMES), tuple(known_actions()))
        self.theme = theme or (COLOURLESS if colourless else mine.theme or DEFAULT)
        self.set_keymap(mine.keys)
        self.console.push_theme(inks(self.current_theme))
        self._rooms: dict[str, Room] = {}
        self._run: RunState | None = None
        """Of a training run that goes on: what its keys were last shown for."""
        self._doubtful = ""
        """The action that was asked about a moment ago: doing it again is a yes."""
        self._while_open = ExitStack()

    def on_mount(self) -> None:
        # A full collection walks every row and line: 100 ms in which no key is answered.
        self._while_open.enter_context(rarely())
        self.theme_changed_signal.subscribe(self, self._reink)
        self.action_room("arena")
        self.set_interval(1 / LOOKS, self._look)

    def on_unmount(self) -> None:
        self._while_open.close()

    def _look(self) -> None:
        if self.is_running and isinstance(self.screen, Room):
            self.screen.glance()
            if (run := self.source.status().run) != self._run:
                self._run = run
                self.refresh_bindings()

    def _reink(self, theme: Theme) -> None:
        self.console.pop_theme()
        self.console.push_theme(inks(theme))
        for screen in self.screen_stack:
            screen.refresh(layout=True)
            for widget in screen.query("*"):
                widget.refresh()

    # What people do.

    def action_room(self, name: str) -> None:
        room = self.room(name)
        if self.screen is not room:
            if isinstance(self.screen, Room):
                self.switch_screen(room)
            else:
                self.push_screen(room)

    def room(self, name: str) -> Room:
        """The screen of this name; made when first asked for."""
        if name not in self._rooms:
            self._rooms[name] = _ROOMS[name]()
            self.install_screen(self._rooms[name], name)  # kept while another one is shown
        return self._rooms[name]

    def action_hold(self) -> None:
        """Stop what is shown, or go on; what arrives is taken in all the same."""
        self.held = self.source.status().arrived if self.held is None else None
        self._look()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        if action == "ask":
            run = self.source.status().run
            return run is not None and parameters[0] in _POSSIBLE[run]
        if action != "hold":
            return True
        below = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, Room)), None)
        return below is not None and below.HOLDS  # also while the palette lies over it

    def action_help(self) -> None:
        self.push_screen(Help(self.screen.active_bindings.values()))

    def action_next_theme(self) -> None:
        names = [one.name for one in THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self.tell(f"theme {self.theme}")

    async def action_quit(self) -> None:
        """Quit. A conversation that goes on at a seat here is asked about first: it would be lost."""
        seat = self._rooms.get("seat")
        lost = "your conversation goes on at the Seat screen and would be lost: q again quits"
        if isinstance(seat, SeatRoom) and seat.playing and not self._sure("quit", lost):
            return
        self.exit(0)

    async def action_ask(self, asked: Asked) -> None:
        """Ask the run to pause, resume or stop once its step is done. That changes what others wait for, so it is
        asked about first; resuming is not."""
        key = self.get_key_display(Binding(_ASKING[asked][0], "", ""))
        if asked != "resume" and not self._sure(asked, f"{_ASKING[asked][1]}: {key} again does it"):
            return
        try:
            await self.source.ask(asked)
        except SimArenaError as error:
            self.tell(str(error), "error")
        else:
            self.tell(f"asked the run to {asked}")

    def _sure(self, action: str, words: str) -> bool:
        """Whether this was asked about a moment ago; else it is asked now."""
        if self._doubtful == action:
            self._doubtful = ""
            return True
        self._doubtful = action
        self.tell(words, "warning")
        self.set_timer(PATIENCE, lambda: setattr(self, "_doubtful", ""))
        return False

    def chosen(self) -> Row | None:
        """The conversation that is open in the Arena."""
        arena = self.room("arena")
        assert isinstance(arena, Arena)
        return arena.chosen

    def show_conversation(self, key: str) -> None:
        """Go to the Arena, with this conversation open."""
        row = self.source.conversations.get(key)
        if row is None:
            self.tell(f"{key} is not on record here (yet)")
            return
        arena = self.room("arena")
        assert isinstance(arena, Arena)
        self.action_room("arena")
        arena.call_after_refresh(arena.read, row)

    def show_seat(self, start: New | Fork) -> None:
        """Go to the Seat screen with this to begin."""
        room = self.room("seat")
        self.action_room("seat")
        assert isinstance(room, SeatRoom)
        room.call_after_refresh(room.prepare, start)

    def show_why(self, row: Row, line: Line | None) -> None:
        """Go to the Why screen, on this turn."""
        room = self.room("why")
        self.action_room("why")
        assert isinstance(room, WhyRoom)
        room.call_after_refresh(room.explain, row, line)

    def copy(self, text: str) -> None:
        """Copy text, made safe to paste, and say where it went."""
        self.tell(clipboard.copy(visible(text), self.copy_to_clipboard))

    def tell(self, text: str, severity: SeverityLevel = "information") -> None:
        """A short message that goes away by itself, on the last line of the screen. Never parsed as markup."""
        ink = {"error": "bad", "warning": "warn"}.get(severity, "strong")
        room = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, Room)), None)
        if room is not None and room.is_mounted:
            room.say(Text(f" {one_line(text)}", ink))

    # The palette.

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that a key does on this screen, and every theme."""
        for active in _distinct(screen.active_bindings.values()):
            binding = active.binding
            keys = f"{self.get_key_display(binding)}  ({binding.id})" if binding.id else ""
            yield SystemCommand(binding.description, keys, self._runner(active))
        for theme in THEMES:
            yield SystemCommand(f"Theme {theme.name}", "", lambda name=theme.name: setattr(self, "theme", name))

    def _runner(self, active: ActiveBinding) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, active.binding.action, active.node)

        return run


_ROOMS: dict[str, Callable[[], Room]] = {
    "arena": Arena,
    "training": Training,
    "why": WhyRoom,
    "topology": Topology,
    "tournament": Tournament,
    "seat": SeatRoom,
}


def _distinct(bindings: Iterable[ActiveBinding]) -> Iterator[ActiveBinding]:
    """One for each action that has a name."""
    seen: set[tuple[str, str]] = set()
    for active in bindings:
        binding = active.binding
        key = (binding.action, binding.description)
        if binding.description and binding.id and key not in seen:
            seen.add(key)
            yield active


def known_actions() -> Iterator[str]:
    """The stable ids of everything that a key does."""
    from simarena.tui.widgets.prompt import Prompt
    from simarena.tui.widgets.reader import Reader
    from simarena.tui.widgets.sheet import Sheet

    for place in (WatchApp, Sheet, Reader, Prompt, *_ROOMS.values()):
        for ancestor in place.__mro__:  # type: ignore[attr-defined]
            for binding in ancestor.__dict__.get("BINDINGS", ()):
                if isinstance(binding, Binding) and binding.id:
                    yield binding.id


async def run_app(source: Source, query: str = "") -> int:
    """Show a started source until the person quits; returns the exit code, 1 if the app broke down."""
    app = WatchApp(source, query)
    await app.run_async()
    return app.return_code or 0
