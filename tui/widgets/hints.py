"""The key hints: what the keys do here and now, most wanted first, as many as fit.

Made from the bindings that are active this moment, so that no hint is ever untrue.
"""

from collections.abc import Iterable

from rich.text import Text
from textual.binding import ActiveBinding, Binding

from simarena.tui.widgets.line import Line, button

ALWAYS = ("app.help", "app.quit")
"""Kept at the right, whatever else fits."""

_FIRST = ("reader.fold", "arena.open", "arena.back", "arena.filter", "arena.search", "arena.next", "app.pause")


class Hints(Line):
    """A line of keys; each can be clicked."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.renew())
        self.call_after_refresh(self.renew)

    def on_resize(self) -> None:
        self.renew()

    def renew(self) -> None:
        if not self.is_mounted or self.app.screen is not self.screen:
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
