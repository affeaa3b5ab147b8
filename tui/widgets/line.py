"""One line of text: headings, the status line. Shows what it is given through the same door as a sheet."""

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from simarena.tui.widgets.sheet import inked, safe


class Line(Widget):
    """A line with something at its left and something at its right. When room is short the left gives way, or,
    with `keep_left`, the right is left out."""

    DEFAULT_CSS = "Line { height: 1; }"

    left: reactive[Text] = reactive(Text)
    right: reactive[Text] = reactive(Text)

    def __init__(self, id: str | None = None, classes: str | None = None, *, keep_left: bool = False) -> None:
        super().__init__(id=id, classes=classes)
        self._keep_left = keep_left

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        if y:
            return Strip.blank(width, base)
        left, right = safe(self.left), safe(self.right)
        if right.cell_len + (left.cell_len + 1 if self._keep_left else 12) > width:
            right = Text()
        left.truncate(max(0, width - right.cell_len - bool(right)), overflow="ellipsis", pad=True)
        text = Text.assemble(left, " " if right else "", right)
        return inked(text, width, self.app.console).apply_style(base)


def button(label: str, action: str) -> Text:
    """Words that carry out an action of ours when clicked. Never for a label that somebody else wrote."""
    return Text(label, Style(meta={"@click": action}))
