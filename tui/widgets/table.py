"""A table to choose from: headed lines of text, one item each, drawn when looked at."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from rich.text import Text

from simarena.tui.widgets.sheet import Sheet

T = TypeVar("T")


class Table(Sheet, Generic[T]):
    """Items with a line for each; whoever fills it says what the lines are."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: Sequence[T] = ()
        self._lines: Sequence[Text] = ()

    def fill(self, items: Sequence[T], lines: Sequence[Text], cursor: int | None = None) -> None:
        """Show these items; without items, the lines say why there are none."""
        self._items, self._lines = items, lines
        self.renew()
        if cursor is not None:
            self.cursor = cursor

    @property
    def item(self) -> T | None:
        return self._items[self.cursor] if 0 <= self.cursor < len(self._items) else None

    def items(self) -> int:
        return len(self._items)

    def lines(self) -> int:
        return len(self._lines)

    def item_at(self, y: int) -> int | None:
        return y if 0 <= y < len(self._items) else None

    def draw(self, y: int, width: int) -> Text:
        return self._lines[y]
