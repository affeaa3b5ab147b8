"""The opened conversation: every turn with what it earned, tool calls and thoughts folded, the ending last.

Shows what it is given; whether that grows or is being replayed is the screen's business. Knows no feed.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from simarena.tui.feed.opened import Opened
from simarena.tui.widgets import blocks
from simarena.tui.widgets.blocks import Block, Layout
from simarena.tui.widgets.sheet import Sheet


class Reader(Sheet):
    """Blocks with a cursor. Stays at the end while the cursor is on the last block."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o,enter", "fold", "Fold", id="reader.fold"),
        Binding("O", "fold_all", "Fold all", show=False, id="reader.fold_all"),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._opened: Opened | None = None
        self._all: list[Block] = []
        self._limit: int | None = None
        self._to_end = False
        self._empty: Sequence[Text] = ()
        self._open: set[str] = set()
        self._all_open = False
        self._laid: list[tuple[int, Text]] = []
        self._starts: list[int] = []
        self._cache: dict[tuple[object, ...], list[Text]] = {}

    # What is shown.

    def show(self, opened: Opened) -> None:
        """Show this conversation as it is now. Another one than before starts at its end if it runs, else at its
        beginning."""
        anew = self._opened is None or self._opened.row.key != opened.row.key
        was_last = self.at_end
        self._opened, self._all = opened, blocks.blocks(opened)
        if anew:
            self._open.clear()
            self._cache.clear()
            self._limit = None
        self.renew()
        to_end, self._to_end = self._to_end, False
        if anew and opened.row.state != "running" and not to_end:
            self.cursor = 0
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        elif anew or (was_last and self._limit is None):
            self.cursor = self.items() - 1
            self.scroll_to(y=self.lines(), animate=False, immediate=True, force=True)

    def start_at_end(self) -> None:
        """Open the next conversation at its end, though it has ended."""
        self._to_end = True

    def say(self, *lines: Text) -> None:
        """What stands here while no conversation is open."""
        self._opened, self._all, self._limit, self._empty = None, [], None, lines
        self.renew()

    def limit(self, shown: int | None) -> None:
        """Show only the first so many blocks, as a replay does, with the cursor on the last; None for all."""
        self._limit = shown
        self.renew()
        if shown is not None:
            self.cursor = self.items() - 1

    @property
    def opened(self) -> Opened | None:
        return self._opened

    @property
    def at_end(self) -> bool:
        return self.cursor >= self.items() - 1

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, shown or not."""
        return self._all

    @property
    def block(self) -> Block | None:
        """The block under the cursor; None on the ending."""
        shown = self._present()
        return shown[self.cursor] if 0 <= self.cursor < len(shown) else None

    @property
    def plan(self) -> Layout:
        """How the blocks are laid out at the present width."""
        turns = self._opened.turns.values() if self._opened is not None else ()
        seats = blocks.seats_of(self._opened.row) if self._opened is not None else ()
        earning = any(facts.reward or facts.advantage is not None for facts in turns)
        return Layout(seats, self.width, earning, any(facts.advantage is not None for facts in turns))

    def _present(self) -> list[Block]:
        return self._all if self._limit is None else self._all[: self._limit]

    @property
    def _verdict(self) -> list[Text]:
        whole = self._opened is not None and (self._limit is None or self._limit > len(self._all))
        return verdict(self._opened, self.width) if whole and self._opened is not None else []

    # The sheet.

    def items(self) -> int:
        return len(self._starts)

    def lines(self) -> int:
        return len(self._laid)

    def face(self, y: int) -> object | None:
        return self._laid[y][1]

    def draw(self, y: int, width: int) -> Text:
        return self._laid[y][1]

    def extent(self, item: int) -> tuple[int, int]:
        last = item + 1 >= len(self._starts)
        return self._starts[item], len(self._laid) if last else self._starts[item + 1]

    def item_at(self, y: int) -> int | None:
        return self._laid[y][0] if 0 <= y < len(self._laid) and self._starts else None

    def words(self, item: int) -> str:
        shown = self._present()
        return blocks.words(shown[item]) if item < len(shown) else "\n".join(text.plain for text in self._verdict)

    def renew(self) -> None:
        layout = self.plan
        self._laid, self._starts = [], []
        for block in self._present():
            self._add(self._lines(block, layout))
        if ending := self._verdict:
            self._add(ending)
        if not self._starts:
            self._laid = [(0, line) for line in self._empty]
        super().renew()

    def _add(self, lines: Sequence[Text]) -> None:
        item = len(self._starts)
        self._starts.append(len(self._laid))
        self._laid += [(item, line) for line in lines]

    def _lines(self, block: Block, layout: Layout) -> list[Text]:
        open_ = self._all_open != (block.head.id in self._open)
        earned = (block.facts.reward, block.facts.advantage) if block.facts is not None else None
        key = (block.head.id, len(block.lines), earned, open_, layout.width, layout.figures, layout.credited)
        if key not in self._cache:
            self._cache[key] = blocks.drawn(block, layout, open_=open_)
        return self._cache[key]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._all) if action in ("fold", "fold_all") else True

    def action_fold(self) -> None:
        if (block := self.block) is not None and block.folds:
            self._open ^= {block.head.id}
            self.renew()
            self.show_item(self.cursor)

    def action_fold_all(self) -> None:
        self._all_open = not self._all_open
        self._open.clear()
        self.renew()
        self.show_item(self.cursor)


def verdict(opened: Opened, width: int) -> list[Text]:
    """How it ended, the outcome's named checks, and each seat's return. Empty while it runs."""
    row = opened.row
    if row.state == "running":
        return []
    ink = {"success": "good", "failure": "bad"}.get(row.result, "warn")
    words = row.ending if row.result == row.ending else f"{row.ending or row.state} · {row.result}"
    lines = [Text(f" {'─' * (width - 2)}", "faint"), Text.assemble((" ended   ", "muted"), (words, f"{ink}"))]
    if opened.fault:
        lines.append(Text(f"         {opened.fault}", "bad"))
    if opened.checks:
        checks = Text(" checks  ", "muted")
        for name, passed in opened.checks.items():
            checks.append(f"{'✓' if passed else '✗'} {name}  ", "good" if passed else "bad")
        lines.append(checks)
    if row.returns:
        returns = Text(" return  ", "muted")
        for seat, value in row.returns.items():
            returns.append(f"{seat} ").append_text(blocks.number(value, 0)).append("  ")
        lines.append(returns)
    if row.credited:
        lines.append(Text.assemble((" fate    ", "muted"), row.credited))
    if row.parent:
        lines.append(Text.assemble((" fork    ", "muted"), f"of {row.parent}"))
    if opened.note:
        lines.append(Text.assemble((" note    ", "muted"), opened.note))
    return lines
