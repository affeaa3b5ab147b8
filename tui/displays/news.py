"""News: what a source tells from now on, in order, until its run is over. What both headless displays write."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from simarena.tui.feed.query import Query
from simarena.tui.feed.rows import Row
from simarena.tui.feed.source import Source
from simarena.tui.feed.status import Status
from simarena.tui.feed.training_book import Alarm

PERIOD = 0.1
"""Seconds between looks."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """One row of metrics."""

    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class Missed:
    """Moves that went by untold, since whoever reads us is too slow."""

    count: int


News = Row | Metrics | Alarm | Missed | Status


async def news(source: Source, query: Query) -> AsyncIterator[News]:
    """Status, then everything as it comes, of the conversations that `query` holds for; ends with the run."""
    reader = _Reader(source, query)
    while True:
        over = source.status().over  # before reading: what came last must still be told
        for item in reader.fresh():
            yield item
        if over:
            return
        await asyncio.sleep(PERIOD)


class _Reader:
    """How far one display has come."""

    def __init__(self, source: Source, query: Query) -> None:
        self._source, self._query = source, query
        self._seen = self._rows = self._alarms = 0
        self._connection = ""

    def fresh(self) -> Iterator[News]:
        """What has not been told yet."""
        status, store, book = self._source.status(), self._source.conversations, self._source.training
        if status.connection not in ("opening", self._connection):
            self._connection = status.connection
            yield status
        if status.connection == "opening":
            return
        yield from self._moves() if self._seen else self._first()
        self._seen = store.revision
        self._rows, self._alarms = min(self._rows, len(book.rows)), min(self._alarms, len(book.alarms))
        for row in book.rows[self._rows :]:
            yield Metrics(row)
        yield from book.alarms[self._alarms :]
        self._rows, self._alarms = len(book.rows), len(book.alarms)

    def _first(self) -> Iterator[News]:
        """All that is there at the beginning, once each."""
        yield from self._source.conversations.select(self._query, "updated")

    def _moves(self) -> Iterator[News]:
        moves, missed = self._source.conversations.moves(self._seen)
        if missed:
            yield Missed(missed)
        yield from filter(self._query, moves)
