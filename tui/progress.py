"""Progress of a training run on stderr: a live panel on a terminal, one line per event elsewhere.

Knows how to draw the board; what is on it is `board.py`'s.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.columns import Columns
from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from simarena.arena.text import one_line
from simarena.training.events import Evaluated, Event, Note, Started
from simarena.tui.board import Board, line
from simarena.tui.console import stderr

REDRAWS = 4
"""Most redraws of the panel per second."""


class Watcher(Protocol):
    """Takes a run's events as they come."""

    def __call__(self, event: Event) -> None: ...


@contextmanager
def watching() -> Iterator[Watcher]:
    """A watcher that suits stderr."""
    console = stderr()
    if not console.is_terminal:
        yield tell
        return
    board = Board()
    with Live(panel(board), console=console, refresh_per_second=REDRAWS, transient=True) as live:

        def draw(event: Event) -> None:
            board.take(event)
            if isinstance(event, Started | Evaluated | Note):
                live.console.print(Text(one_line(line(event))))
            live.update(panel(board))

        yield draw


def tell(event: Event) -> None:
    """One event as one line on stderr, if it is worth one."""
    if text := line(event):
        stderr().print(Text(one_line(text)), soft_wrap=True)


def panel(board: Board) -> Group:
    """The board at most 80 columns wide: phase and bar, figures, success by persona."""
    rows: list[Table | Text | Columns] = [_bar(board), Text(" · ".join(board.figures()), "bold")]
    if personas := board.personas():
        rows.append(Columns(map(Text, personas), width=18, padding=(0, 1)))
    return Group(*rows)


def _bar(board: Board) -> Table:
    if board.step is not None or board.cloning is None:
        name, done, total = "step", board.step.step if board.step else 0, board.total
        more = ""
    else:
        name, done, total = "cloning", board.cloning.step, board.cloning.total
        more = f"loss {board.cloning.loss:.2f}"
    grid = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=max(total, 1), completed=done, width=40)
    grid.add_row(Text(f"{name} {done}/{total}", "bold"), bar, Text(more))
    return grid
