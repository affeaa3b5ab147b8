"""The store of rows: what a list of conversations shows, bounded, with a revision to look at.

Keeps the newest row of each conversation; when full it gives up the oldest ended one. Knows no source and
no widget. For one event loop.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

from simarena.tui.feed.rows import Row

LIMIT = 100_000
"""Rows kept at most; about 1 KB each."""

MOVES = 10_000
"""Newest moves that `moves` can tell."""

Order = Literal[
    "arrival", "updated", "id", "scenario", "persona", "turn", "reward", "result", "version", "seats", "started"
]
ORDERS: dict[Order, Callable[[Row], Any]] = {
    "arrival": lambda row: 0,
    "updated": lambda row: row.updated,
    "id": lambda row: row.id,
    "scenario": lambda row: row.scenario,
    "persona": lambda row: row.persona,
    "turn": lambda row: row.turn,
    "reward": lambda row: float("-inf") if row.reward is None else row.reward,
    "result": lambda row: row.result,
    "version": lambda row: -1 if row.version is None else row.version,
    "seats": lambda row: sorted(row.seats.values()),
    "started": lambda row: row.started,
}


class Conversations:
    """Rows by key, in order of arrival."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._rows: dict[str, Row] = {}
        self._changed: dict[str, int] = {}
        """Key → revision of its newest row, oldest change first."""
        self._moves: deque[Row] = deque(maxlen=MOVES)
        self.revision = 0
        """Rises with every change."""
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def get(self, key: str) -> Row | None:
        return self._rows.get(key)

    def put(self, row: Row) -> None:
        """Add a row, or replace that of the same key."""
        self.revision += 1
        self._moves.append(row)
        self._rows[row.key] = row
        self._changed.pop(row.key, None)
        self._changed[row.key] = self.revision
        if len(self._rows) > self._limit:
            self._forget()

    def lose(self, key: str) -> None:
        """Its run went away, or its end was missed: it is no longer running, and nobody knows how it ended."""
        row = self._rows.get(key)
        if row is not None and row.state == "running":
            self.put(replace(row, state="lost"))

    def moves(self, since: int) -> tuple[list[Row], int]:
        """Every row put after this revision, oldest first, and how many older ones are no longer known.

        For displays that write a line for each move; a list needs `changed` only.
        """
        missed = max(0, self.revision - since - len(self._moves))
        wanted = self.revision - since - missed
        return list(itertools.islice(reversed(self._moves), wanted))[::-1], missed

    def changed(self, since: int) -> list[Row]:
        """Rows that changed after this revision, newest change first. Costs as much as it returns."""
        fresh: list[Row] = []
        for key, revision in reversed(self._changed.items()):
            if revision <= since:
                break
            fresh.append(self._rows[key])
        return fresh

    def select(
        self, keep: Callable[[Row], bool] | None = None, order: Order = "arrival", descending: bool = False
    ) -> list[Row]:
        """The rows that `keep` holds for, in this order; equal ones by arrival, in the same direction."""
        rows: Iterable[Row] = self._rows.values() if keep is None else filter(keep, self._rows.values())
        if order == "arrival":
            return list(rows)[::-1] if descending else list(rows)
        found = sorted(rows, key=ORDERS[order])
        return found[::-1] if descending else found

    def _forget(self) -> None:
        """Give up the oldest ended conversation, else the oldest."""
        ended = next((key for key, row in self._rows.items() if row.state != "running"), None)
        key = ended if ended is not None else next(iter(self._rows))
        del self._rows[key], self._changed[key]
        self.forgotten += 1
