"""Help: every key that works on the screen it was called from, with the ids to settle other keys by."""

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from simarena.tui import settings
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel

_GROUPS = {"app": "Everywhere", "sheet": "In every list and text"}


class Help(ModalScreen[None]):
    """A table of keys over the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", "Close", id="help.close")
    ]

    def __init__(self, bindings: Iterable[ActiveBinding]) -> None:
        super().__init__()
        self._active = list(bindings)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Line(id="help-title")
            yield Panel(id="help-keys")

    def on_mount(self) -> None:
        line = self.query_one("#help-title", Line)
        line.left, line.right = Text(" Keys", "strong"), Text("esc closes ", "muted")
        panel = self.query_one("#help-keys", Panel)
        panel.show(self._lines())
        panel.focus()

    def _lines(self) -> list[Text]:
        keys: dict[str, dict[str, list[str]]] = {}
        for active in self._active:
            binding = active.binding
            if binding.description and binding.id:
                group, _, _ = binding.id.partition(".")
                what = f"{binding.description:<26}{binding.id}"
                shown = keys.setdefault(group, {}).setdefault(what, [])
                if (key := self.app.get_key_display(binding)) not in shown:
                    shown.append(key)
        rows: list[Text] = []
        for group, table in sorted(keys.items(), key=lambda item: item[0] in ("app", "sheet")):
            rows += [Text(), Text(f" {_GROUPS.get(group, group.capitalize())}", "strong")]
            for what, shown in table.items():
                rows.append(Text.assemble((f" {' '.join(shown):<18}", "key"), what[:26], (what[26:], "muted")))
        where = str(settings.path())
        return [
            *rows,
            Text(),
            Text(" The mouse works too: click, click twice to open, turn the wheel.", "muted"),
            Text(f" Other keys and the theme: {where}", "muted"),
        ]
