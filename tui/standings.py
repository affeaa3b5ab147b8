"""Standings on screen: the table of a tournament, while it runs and at its end.

A function of snapshots; knows no runner. Names pass the sanitiser.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from simarena.arena.text import one_line
from simarena.arena.tournament.results import Standing
from simarena.arena.tournament.session import Snapshot, Watch
from simarena.tui.console import stderr

LIVE_ROWS = 16
"""Rows of the live table; the final one has all."""


@contextmanager
def watching() -> Iterator[Watch]:
    """A watcher that suits stderr: a live table on a terminal, one line per table elsewhere."""
    console = stderr()
    if not console.is_terminal:
        yield lambda snapshot: console.print(Text(line(snapshot)), soft_wrap=True)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda snapshot: live.update(panel(snapshot, LIVE_ROWS), refresh=True)


def line(snapshot: Snapshot) -> str:
    """Where it stands, in one line."""
    first = "  ".join(f"{place}. {_short(row, snapshot)}" for place, row in enumerate(snapshot.standings[:3], 1))
    return one_line(f"round {snapshot.round}, {snapshot.matches}/{snapshot.planned} matches: {first}")


def panel(snapshot: Snapshot, rows: int | None = None) -> Group:
    """The table, best first, with what is known about where it stands; the first `rows` or all."""
    shown = snapshot.standings[:rows]
    more = len(snapshot.standings) - len(shown)
    parts: list[Text | Table] = [_heading(snapshot), _table(shown, snapshot)]
    if more:
        parts.append(Text(f"… {more} more", "dim"))
    return Group(*parts)


def _heading(snapshot: Snapshot) -> Table | Text:
    speed = f"{snapshot.seconds:.0f} s"
    if snapshot.final:
        why = f", stopped: {snapshot.stopped}" if snapshot.stopped else ""
        rounds = "1 round" if snapshot.round == 1 else f"{snapshot.round} rounds"
        return Text(one_line(f"{snapshot.name}: {snapshot.matches} matches, {rounds}, {speed}{why}"), "bold")
    grid = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=max(snapshot.planned, 1), completed=snapshot.matches, width=30)
    grid.add_row(
        Text(f"round {snapshot.round}", "bold"), bar, Text(f"{snapshot.matches}/{snapshot.planned}, {speed}")
    )
    return grid


def _table(rows: Sequence[Standing], snapshot: Snapshot) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("rank", "entrant", "rating", "95 % interval", "matches"):
        table.add_column(heading, justify="left" if heading == "entrant" else "right")
    for row in rows:
        place = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        interval = f"{_number(row.low, snapshot)} to {_number(row.high, snapshot)}"
        table.add_row(
            place, Text(one_line(row.entrant)), _number(row.rating, snapshot), interval, str(row.matches)
        )
    return table


def _short(row: Standing, snapshot: Snapshot) -> str:
    return f"{row.entrant} {_number(row.rating, snapshot)}"


def _number(value: float, snapshot: Snapshot) -> str:
    return (
        f"{value:.3f}"
        if snapshot.method == "score"
        else f"{value:.1f}"
        if snapshot.method == "openskill"
        else f"{value:.0f}"
    )
