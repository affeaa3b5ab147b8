"""Replaying the opened conversation: play, step, speed, jump to a turn, to the next ending, to the next alarm.

A part of the Arena: it moves how much of the conversation the reader shows, and nothing else.
"""

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.timer import Timer

from simarena.tui.feed.rows import Row
from simarena.tui.screens.room import Room
from simarena.tui.widgets.listing import Listing
from simarena.tui.widgets.prompt import Prompt
from simarena.tui.widgets.reader import Reader

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Blocks a second."""
_FINE = frozenset({"success", "failure", "running"})
"""Results that nobody needs to be called for."""


class Replaying(Room):
    """The replay of a screen that has a list, a reader and a prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "replay", "Replay", id="replay.toggle"),
        Binding("p", "play", "Play/pause", id="replay.play"),
        Binding("full_stop", "step(1)", "Step", id="replay.step", key_display="."),
        Binding("comma", "step(-1)", "Step back", show=False, id="replay.back", key_display=","),
        Binding("plus,equals_sign", "speed(1)", "Faster", show=False, id="replay.faster", key_display="+"),
        Binding("minus", "speed(-1)", "Slower", show=False, id="replay.slower", key_display="-"),
        Binding("colon", "turn", "Go to turn", show=False, id="replay.turn", key_display=":"),
        Binding("e", "ending", "Next ending", show=False, id="replay.ending"),
        Binding("a", "alarm", "Next alarm", show=False, id="replay.alarm"),
    ]

    @property
    def listing(self) -> Listing:
        return self.query_one("#list", Listing)

    @property
    def reader(self) -> Reader:
        return self.query_one("#reader", Reader)

    @property
    def prompt(self) -> Prompt:
        return self.query_one("#prompt", Prompt)

    def open(self, row: Row) -> None:
        """Read this conversation and show it."""
        raise NotImplementedError

    def titles(self) -> None:
        """Bring the lines above list and conversation up to date."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        match action:
            case "play" | "speed":
                return self.replaying
            case "replay" | "step" | "turn" | "ending":
                return self.is_mounted and bool(self.reader.blocks)
            case _:
                return True

    _position: int | None = None
    _speed = 2
    _timer: Timer | None = None

    @property
    def replaying(self) -> bool:
        return self._position is not None

    @property
    def playing(self) -> bool:
        return self._timer is not None

    def replay_told(self) -> Text:
        """The state of the replay, for a title."""
        if self._position is None:
            return Text()
        sign = "▶" if self.playing else "‖"
        count = len(self.reader.blocks)
        return Text(f"{sign} replay {min(self._position, count)}/{count} at {SPEEDS[self._speed]:g}/s ", "key")

    def action_replay(self) -> None:
        if self.replaying:
            self.stop_replay()
        elif self.reader.blocks:
            self.reader.focus()
            self.add_class("-reading")
            self._go(1)
            self._play(True)

    def stop_replay(self) -> None:
        """Show the whole conversation again."""
        if self.replaying:
            self._play(False)
            self._position = None
            self.reader.limit(None)
            self.titles()

    def action_play(self) -> None:
        if self.replaying:
            if not self.playing and self._position is not None and self._position > len(self.reader.blocks):
                self._go(1)
            self._play(not self.playing)

    def action_step(self, by: int) -> None:
        """One block on or back; a replay that was not begun begins where the cursor is."""
        if self.reader.blocks:
            self._play(False)
            here = self._position if self._position is not None else self.reader.cursor + 1
            self.reader.focus()
            self._go(here + by)

    def action_speed(self, by: int) -> None:
        self._speed = max(0, min(self._speed + by, len(SPEEDS) - 1))
        if self.playing:
            self._play(True)
        self.titles()

    def action_turn(self) -> None:
        last = self.reader.blocks[-1].head.turn if self.reader.blocks else 0
        self.prompt.ask("turn", f"go to turn (of {last})")

    def go_to_turn(self, text: str) -> None:
        """To the first block of this turn, or of the first one after it."""
        if not text.strip().isdecimal():
            self.watch_app.tell("a turn is a number, such as 7")
            return
        wanted = int(text)
        place = next((i for i, block in enumerate(self.reader.blocks) if block.head.turn >= wanted), None)
        if place is None:
            self.watch_app.tell(f"this conversation has no turn {wanted}")
        elif self.replaying:
            self._play(False)
            self._go(place + 1)
        else:
            self.reader.cursor = place

    def action_ending(self) -> None:
        """To the end of this conversation; from there to that of the next one that has ended."""
        if self.reader.blocks and not self._at_ending():
            self.stop_replay()
            self.reader.action_last()
        else:
            self._next(lambda row: row.state != "running", "no conversation below this one has ended")

    def action_alarm(self) -> None:
        """To the next conversation that ended by a fault or a cap, or was lost."""
        self._next(lambda row: row.result not in _FINE, "no conversation below this one has ended badly")

    def _at_ending(self) -> bool:
        return not self.replaying and self.reader.at_end

    def _next(self, wanted: Callable[[Row], bool], otherwise: str) -> None:
        rows = self.listing.rows
        found = next((i for i in range(self.listing.cursor + 1, len(rows)) if wanted(rows[i])), None)
        if found is None:
            self.watch_app.tell(otherwise)
            return
        self.stop_replay()
        self.listing.cursor = found
        self.reader.start_at_end()
        self.open(rows[found])

    def _go(self, position: int) -> None:
        self._position = max(1, min(position, len(self.reader.blocks) + 1))
        self.reader.limit(self._position)
        if self._position > len(self.reader.blocks):
            self._play(False)
        self.titles()

    def _play(self, on: bool) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / SPEEDS[self._speed], self._tick) if on else None
        if self.is_mounted:
            self.titles()

    def _tick(self) -> None:
        if self._position is not None and self.app.is_running:
            self._go(self._position + 1)
