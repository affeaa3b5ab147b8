"""The one place to type: a search, a filter, a turn to go to. Opens at the bottom and closes by itself."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from simarena.tui.widgets.line import Line


class Prompt(Horizontal):
    """A label and an input; hidden until it asks."""

    DEFAULT_CSS = """
    Prompt { height: 1; display: none; }
    Prompt.-asking { display: block; }
    Prompt Line { width: auto; min-width: 12; }
    Prompt Input { width: 1fr; border: none; height: 1; padding: 0; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Cancel", id="prompt.close")]

    class Answered(Message):
        """Something was typed and entered."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose, self.text = purpose, text

    class Typed(Answered):
        """What stands there so far."""

    class Closed(Answered):
        """It was left without an answer; `text` is what stood there before."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._purpose, self._before = "", ""

    def compose(self) -> ComposeResult:
        yield Line()
        yield Input(compact=True, select_on_focus=False)

    @property
    def purpose(self) -> str:
        """What is being asked for; empty if nothing is."""
        return self._purpose

    def ask(self, purpose: str, label: str, value: str = "") -> None:
        self._purpose, self._before = purpose, value
        line = self.query_one(Line)
        line.left = Text(f" {label} ", "key")
        line.styles.width = len(label) + 2
        self.add_class("-asking")
        box = self.query_one(Input)
        box.value = value
        box.cursor_position = len(value)
        box.focus()

    def action_close(self) -> None:
        self._done(self.Closed(self._purpose, self._before))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._purpose:
            self.post_message(self.Typed(self._purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._done(self.Answered(self._purpose, event.value))

    def _done(self, message: Message) -> None:
        self._purpose = ""
        self.remove_class("-asking")
        self.post_message(message)
