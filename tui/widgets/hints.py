"""The last line: what the keys do now, most wanted first, as many as fit; for a moment, a message instead.

Hints are made from the bindings that are active this moment, so that none is ever untrue. A message takes as many
lines as it has and covers nothing but the hints.
"""

from collections.abc import Iterable

from rich.text import Text
from textual.binding import ActiveBinding, Binding
from textual.strip import Strip
from textual.timer import Timer

from simarena.tui.widgets.line import Line, button
from simarena.tui.widgets.panel import wrapped
from simarena.tui.widgets.sheet import inked

ALWAYS = ("app.help", "app.quit")
"""Kept at the right, whatever else fits."""

_FIRST = (
    "reader.fold",
    "arena.open",
    "arena.back",
    "arena.filter",
    "arena.search",
    "arena.next",
    "arena.fork",
    "app.pause",
)
SHOWN = 4.0
"""Seconds that a message stands; longer ones a second more for every 40 characters."""


class Hints(Line):
    """A line of keys; each can be clicked."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._message = Text()
        self._until: Timer | None = None

    def say(self, message: Text) -> None:
        """Show this for a moment."""
        if self._until is not None:
            self._until.stop()
        self._message = message
        self._until = self.set_timer(SHOWN + len(message.plain) / 40, self.hush)
        self.renew()

    def hush(self) -> None:
        """Show the hints again."""
        if self._until is not None:
            self._until.stop()
        self._message, self._until = Text(), None
        self.renew()

    def render_line(self, y: int) -> Strip:
        if not self._message:
            return super().render_line(y)
        rows = wrapped(self._message, self.size.width)
        return inked(rows[y] if y < len(rows) else Text(), self.size.width, self.app.console).apply_style(
            self.rich_style
        )

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.renew())
        self.call_after_refresh(self.renew)

    def on_resize(self) -> None:
        self.renew()

    def renew(self) -> None:
        if not self.is_mounted:
            return
        self.styles.height = len(wrapped(self._message, self.size.width)) if self._message else 1
        self.refresh()
        if self.app.screen is not self.screen:
            return
        shown = self._wanted(self.screen.active_bindings.values())
        last = [hint for binding, hint in shown if binding.id in ALWAYS]
        self.right = Text("  ").join([*last, Text()])
        room = self.size.width - self.right.cell_len - 2
        text = Text(" ")
        for binding, hint in shown:
            if binding.id not in ALWAYS and text.cell_len + hint.cell_len <= room:
                text.append_text(hint).append("  ")
        text.rstrip()
        self.left = text

    def _wanted(self, bindings: Iterable[ActiveBinding]) -> list[tuple[Binding, Text]]:
        found: dict[str, tuple[Binding, Text]] = {}
        for active in bindings:
            binding = active.binding
            if binding.show and binding.id and binding.id not in found:
                hint = Text.assemble(
                    (self.app.get_key_display(binding), "key"), (f" {binding.description}", "muted")
                )
                action = button("", f"app.simulate_key('{binding.key}')").style
                hint.style = action
                found[binding.id] = (binding, hint)
        return sorted(
            found.values(), key=lambda pair: _FIRST.index(pair[0].id) if pair[0].id in _FIRST else len(_FIRST)
        )
