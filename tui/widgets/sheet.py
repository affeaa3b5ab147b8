"""A sheet: lines of text, drawn only where one looks, with a cursor over its items and a search.

The one door through which text reaches the screen: every line passes the sanitiser again before it is drawn,
and no line is ever parsed as markup. Subclasses say how many items there are and what their lines are.
"""

from collections.abc import Iterator
from typing import ClassVar

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from simarena.arena.text import visible

_KEPT = 500
"""Lines kept as they were drawn."""


class Sheet(ScrollView, can_focus=True):
    """Items of one or more lines each. An item may be too far away to have been asked for yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False, id="sheet.down"),
        Binding("k,up", "move(-1)", "Up", show=False, id="sheet.up"),
        Binding("ctrl+d,pagedown", "page(1)", "Half a page down", show=False, id="sheet.page_down"),
        Binding("ctrl+u,pageup", "page(-1)", "Half a page up", show=False, id="sheet.page_up"),
        Binding("g,home", "first", "First", show=False, id="sheet.first"),
        Binding("G,end", "last", "Last", show=False, id="sheet.last"),
    ]

    cursor: reactive[int] = reactive(0, repaint=False)
    _ground, _inner, _theme = Style.null(), 0, ""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._kept: dict[int, tuple[object, Strip]] = {}
        """Lines as they were drawn, by place, each with the thing that it was made from."""

    class Moved(Message):
        """The cursor is on another item."""

        def __init__(self, sheet: "Sheet", item: int) -> None:
            super().__init__()
            self.sheet, self.item = sheet, item

        @property
        def control(self) -> "Sheet":
            return self.sheet

    class Chosen(Moved):
        """An item was opened: with a second click."""

    # What subclasses say.

    def items(self) -> int:
        """How many items there are."""
        raise NotImplementedError

    def lines(self) -> int:
        """How many lines all items have at the present width."""
        return self.items()

    def draw(self, y: int, width: int) -> Text:
        """Line `y`, in inks."""
        raise NotImplementedError

    def face(self, y: int) -> object | None:
        """What line `y` is made from: while that is the same object the line is not drawn anew. None: it always
        is."""
        return None

    def extent(self, item: int) -> tuple[int, int]:
        """First line of an item, and the one after its last."""
        return item, item + 1

    def item_at(self, y: int) -> int | None:
        """The item whose line this is."""
        return y if 0 <= y < self.items() else None

    def words(self, item: int) -> str:
        """The text a search looks at."""
        return "\n".join(self.draw(y, self.width).plain for y in range(*self.extent(item)))

    # Drawing.

    @property
    def width(self) -> int:
        """Columns for text. Those of the scroll bar are always left free: lines that are broken anew when it comes
        may take it away again."""
        return max(1, self.content_size.width - self.styles.scrollbar_size_vertical)

    def renew(self) -> None:
        """What the sheet shows has changed: measure and draw again."""
        self.virtual_size = Size(self.width, self.lines())
        self.set_reactive(Sheet.cursor, max(0, min(self.cursor, self.items() - 1)))
        self.refresh()

    def on_resize(self) -> None:
        self.renew()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ground, inner = self.rich_style, self.width  # the same for all lines of a frame, and slow to ask for
        if self._inner != inner or self._theme != self.app.theme:
            self._kept.clear()
            self._inner, self._theme = inner, self.app.theme
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        if not 0 <= y < self.lines():
            return Strip.blank(self.size.width, self._ground)
        strip = self._drawn(y).adjust_cell_length(self.size.width).apply_style(self._ground)
        if self.marked(y):
            strip = Strip(list(_under(strip, self._cursor_style())), strip.cell_length)
        return strip

    def _drawn(self, y: int) -> Strip:
        """The line in its inks; as it was before, where it is still made from the same thing."""
        face = self.face(y)
        known = self._kept.get(y)
        if known is not None and face is not None and known[0] is face:
            return known[1]
        strip = inked(self.draw(y, self._inner), self._inner, self.app.console)
        if len(self._kept) > _KEPT:
            self._kept.clear()
        if face is not None:
            self._kept[y] = face, strip
        return strip

    def marked(self, y: int) -> bool:
        """Whether the cursor is on this line."""
        return self.items() > 0 and self.item_at(y) == self.cursor

    def _cursor_style(self) -> Style:
        return self.app.console.get_style("chosen" if self.has_focus else "chosen-blurred")

    # Moving.

    def watch_cursor(self, old: int, new: int) -> None:
        if self.items():
            self.show_item(new)
            self.post_message(self.Moved(self, new))
        self.refresh()

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.items() - 1))

    def show_item(self, item: int) -> None:
        """Scroll no more than needed to see the item, its first line before its last."""
        top, bottom = self.extent(item)
        height = self.scrollable_content_region.height
        if bottom > self.scroll_offset.y + height:
            self.scroll_to(y=bottom - height, animate=False, immediate=True, force=True)
        if top < self.scroll_offset.y or bottom - top > height:
            self.scroll_to(y=top, animate=False, immediate=True, force=True)

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_page(self, by: int) -> None:
        half = max(1, self.scrollable_content_region.height // 2)
        here = self.extent(self.cursor)[0] if self.items() else 0
        target = self.item_at(max(0, min(here + by * half, self.lines() - 1)))
        self.cursor = self.cursor + by if target in (None, self.cursor) else target or 0

    def action_first(self) -> None:
        self.cursor = 0

    def action_last(self) -> None:
        self.cursor = self.items() - 1

    def on_click(self, event: events.Click) -> None:
        item = self.item_at(event.y + self.scroll_offset.y)
        if item is None:
            return
        self.cursor = item
        if event.chain == 2:
            self.post_message(self.Chosen(self, item))

    # Searching.

    def find(self, needle: str, by: int = 1) -> bool:
        """Move to the next item (or, with -1, the one before) that holds these words; case does not matter."""
        needle, count = needle.casefold(), self.items()
        if not needle:
            return False
        for away in range(1, count + 1):
            item = (self.cursor + by * away) % count
            if needle in self.words(item).casefold():
                self.cursor = item
                return True
        return False


def safe(text: Text) -> Text:
    """The same text with every control character made visible; almost always the text itself."""
    shown = visible(text.plain).replace("\n", "␊").replace("\t", "␉")
    return text.copy() if shown == text.plain else Text(shown, text.style)


def inked(text: Text, width: int, console: Console) -> Strip:
    """The text made safe, in its inks, in exactly so many columns."""
    text = safe(text)
    text.stylize_before(text.style)
    text.style, text.end = "", ""
    text.truncate(width, overflow="ellipsis", pad=True)
    return Strip(list(text.render(console)))


def _under(strip: Strip, style: Style) -> Iterator[Segment]:
    """The strip with the cursor's ground under it, its own colours kept."""
    for content, own, control in strip:
        yield Segment(content, (own or Style.null()) + style, control)
