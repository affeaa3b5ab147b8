"""A panel: lines of text to read, scrolled but not chosen from."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from simarena.tui.widgets.sheet import Sheet

_CONSOLE = Console(width=80, color_system=None)


class Panel(Sheet):
    """Lines without a cursor, broken where they are too long; the keys of a sheet scroll it."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._write: Callable[[int], Sequence[Text]] = lambda width: ()
        self._laid: list[Text] = []

    def show(self, texts: Sequence[Text]) -> None:
        self.fill(lambda width: texts)

    def fill(self, write: Callable[[int], Sequence[Text]]) -> None:
        """Show what `write` makes of the number of columns, now and whenever that changes."""
        self._write = write
        self.renew()

    def renew(self) -> None:
        self._laid = [row for text in self._write(self.width) for row in wrapped(text, self.width)]
        super().renew()

    def items(self) -> int:
        return 0

    def lines(self) -> int:
        return len(self._laid)

    def draw(self, y: int, width: int) -> Text:
        return self._laid[y]

    def item_at(self, y: int) -> int | None:
        return None

    def action_move(self, by: int) -> None:
        self.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        self.scroll_relative(y=by * max(1, self.size.height // 2), animate=False)

    def action_first(self) -> None:
        self.scroll_home(animate=False)

    def action_last(self) -> None:
        self.scroll_end(animate=False)


def wrapped(text: Text, width: int) -> list[Text]:
    """The text in lines of at most this width; those after the first stand under the first one's words."""
    if text.cell_len <= width and "\n" not in text.plain:
        return [text]
    indent = len(text.plain) - len(text.plain.lstrip())
    rows = list(text.wrap(_CONSOLE, max(10, width - indent), overflow="fold", tab_size=4)) or [Text()]
    return [rows[0], *(Text(" " * indent).append_text(row) for row in rows[1:])]


def facts(pairs: Sequence[tuple[str, Text | str]], width: int = 11) -> list[Text]:
    """Names and values, one line each; a value that is empty is left out."""
    return [
        Text.assemble((f" {name}".ljust(width), "muted"), value)
        for name, value in pairs
        if (value if isinstance(value, str) else value.plain).strip()
    ]
