"""The memory bus: streams, groups and keys of one event loop, with the semantics of the Redis one.

Connections that share a `MemoryStore` see the same streams. Blocked readers are woken by writers, never by
polling, and time is the loop's own, so it runs on a virtual clock. Loses everything with its process.
"""

import asyncio
import bisect
import heapq
import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from simarena.arena.bus import Delivery, Entry
from simarena.arena.bus.entries import Position, fitting, obituary, position, writable
from simarena.arena.errors import BusUnavailable, EntryConflict

T = TypeVar("T")


@dataclass(slots=True)
class _Claim:
    """Who holds a pending entry, since when, and how often it was handed out."""

    consumer: str
    since: float
    deliveries: int = 1


@dataclass(slots=True)
class _Group:
    delivered: Position = (0, 0)
    pending: dict[Position, _Claim] = field(default_factory=dict)
    """In id order: entries are delivered in order and a claim changes hands in place."""


@dataclass(slots=True)
class _Stream:
    entries: "OrderedDict[Position, Entry]" = field(default_factory=OrderedDict)
    order: list[Position] = field(default_factory=list)
    """Places in order, for bisection; those no longer in `entries` are skipped and now and then swept out."""
    last: Position = (0, 0)
    groups: dict[str, _Group] = field(default_factory=dict)

    def add(self, place: Position, payload: bytes, reason: str = "") -> str:
        if len(self.order) > 2 * len(self.entries) + 64:
            self.order = list(self.entries)
        self.order.append(place)
        self.last = place
        id = f"{place[0]}-{place[1]}"
        self.entries[place] = Entry(id, payload, reason)
        return id

    def after(self, place: Position, count: int) -> list[Position]:
        """Up to `count` places behind this one, oldest first."""
        start = bisect.bisect_right(self.order, place)
        newer = (self.order[i] for i in range(start, len(self.order)))
        return list(itertools.islice((p for p in newer if p in self.entries), count))


@dataclass(slots=True)
class MemoryStore:
    """What connections share."""

    streams: dict[str, _Stream] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    pushed: int = 0
    """Entries pushed so far: pushed ids never repeat, not even in a stream that was deleted."""
    waiting: dict[str, list[asyncio.Future[None]]] = field(default_factory=dict)
    deadlines: dict[str, float] = field(default_factory=dict)
    """Loop time at which a stream or key is gone."""
    agenda: list[tuple[float, str]] = field(default_factory=list)
    """Heap of the deadlines; one that was moved or lifted is skipped."""

    def sweep(self, now: float) -> None:
        """Forget what has expired."""
        while self.agenda and self.agenda[0][0] <= now:
            due, key = heapq.heappop(self.agenda)
            if self.deadlines.get(key) == due:
                self.forget(key)

    def forget(self, key: str) -> None:
        self.streams.pop(key, None)
        self.keys.pop(key, None)
        self.deadlines.pop(key, None)

    def expire(self, key: str, due: float) -> None:
        self.deadlines[key] = due
        heapq.heappush(self.agenda, (due, key))

    def wake(self, stream: str) -> None:
        """Let blocked readers look again, in the order they came."""
        for waiter in self.waiting.pop(stream, ()):
            if not waiter.done():
                waiter.set_result(None)


class MemoryBus:
    """One connection to a store. Holds to `Bus`, whose docstrings say what each method does."""

    url = "memory://"

    def __init__(self, store: MemoryStore | None = None) -> None:
        self._store = MemoryStore() if store is None else store
        self._waits: set[asyncio.Future[None]] = set()
        self._closed = False

    def _open(self) -> MemoryStore:
        """The store as it is now."""
        if self._closed:
            raise BusUnavailable("this connection to memory:// is closed")
        self._store.sweep(_now())
        return self._store

    def _stream(self, name: str) -> _Stream:
        return self._open().streams.setdefault(name, _Stream())

    def _group(self, stream: str, group: str) -> tuple[_Stream, _Group]:
        home = self._stream(stream)
        return home, home.groups.setdefault(group, _Group())

    async def append(self, stream: str, id: str, payload: bytes) -> None:
        place, fits = writable(id), fitting(payload)
        home = self._stream(stream)
        if place > home.last:
            home.add(place, fits)
            self._store.wake(stream)
        elif place not in home.entries:
            raise EntryConflict(
                f"entry {id} of {stream!r} comes too late: the last is {home.last[0]}-{home.last[1]}"
            )
        elif home.entries[place].payload != fits:
            raise EntryConflict(
                f"entry {id} of {stream!r} is taken by a different payload: who else writes there?"
            )

    async def push(self, stream: str, payload: bytes, *, keep: int | None = None) -> str:
        return self._add(stream, fitting(payload), keep=keep)

    def _add(self, stream: str, payload: bytes, *, reason: str = "", keep: int | None = None) -> str:
        home = self._stream(stream)
        self._store.pushed += 1
        id = home.add(max((self._store.pushed, 0), (home.last[0], home.last[1] + 1)), payload, reason)
        while keep is not None and len(home.entries) > keep:
            home.entries.popitem(last=False)
        self._store.wake(stream)
        return id

    async def read(self, stream: str, after: str = "0", *, count: int = 100, block: float = 0.0) -> list[Entry]:
        place = position(after)

        def take() -> list[Entry]:
            home = self._open().streams.get(stream)
            return [home.entries[new] for new in home.after(place, count)] if home else []

        return await self._until(stream, take, block)

    async def last_id(self, stream: str) -> str:
        home = self._open().streams.get(stream)
        return f"{home.last[0]}-{home.last[1]}" if home and home.last > (0, 0) else "0"

    async def consume(
        self, stream: str, group: str, consumer: str, *, count: int = 100, block: float = 0.0
    ) -> list[Delivery]:
        def take() -> list[Delivery]:
            home, crew = self._group(stream, group)
            taken = home.after(crew.delivered, count)
            for place in taken:
                crew.delivered = place
                crew.pending[place] = _Claim(consumer, _now())
            return [_delivery(home, crew, place) for place in taken]

        return await self._until(stream, take, block)

    async def pending(self, stream: str, group: str, consumer: str) -> list[Delivery]:
        home, crew = self._group(stream, group)
        return self._hand_out(home, crew, consumer, [p for p, c in crew.pending.items() if c.consumer == consumer])

    async def ack(self, stream: str, group: str, ids: Sequence[str]) -> None:
        places = [position(id) for id in ids]
        home = self._open().streams.get(stream)
        if home is None:
            return
        crew = home.groups.get(group)
        for place in places:
            home.entries.pop(place, None)
            if crew is not None:
                crew.pending.pop(place, None)

    async def reclaim(
        self, stream: str, group: str, consumer: str, *, idle: float, cap: int, dead: str
    ) -> list[Delivery]:
        home, crew = self._group(stream, group)
        before = _now() - idle
        silent = [p for p, c in crew.pending.items() if c.consumer != consumer and c.since <= before]
        for place in [p for p in silent if p in home.entries and crew.pending[p].deliveries >= cap]:
            lost = _delivery(home, crew, place)
            self._add(dead, lost.payload, reason=obituary(stream, lost.id, lost.deliveries))
            del crew.pending[place], home.entries[place]
        return self._hand_out(home, crew, consumer, [p for p in silent if p in crew.pending])

    @staticmethod
    def _hand_out(home: _Stream, crew: _Group, consumer: str, places: list[Position]) -> list[Delivery]:
        """Deliver these once more; what was trimmed from the stream is no longer owed to anyone."""
        for place in places:
            if place in home.entries:
                crew.pending[place] = _Claim(consumer, _now(), crew.pending[place].deliveries + 1)
            else:
                del crew.pending[place]
        return [_delivery(home, crew, place) for place in places if place in crew.pending]

    async def length(self, stream: str) -> int:
        home = self._open().streams.get(stream)
        return len(home.entries) if home else 0

    async def put(self, key: str, value: str, *, ttl: float | None = None) -> None:
        fitting(value.encode())
        store = self._open()
        store.forget(key)
        store.keys[key] = value
        if ttl is not None:
            store.expire(key, _now() + ttl)

    async def get(self, keys: Sequence[str]) -> list[str | None]:
        store = self._open()
        return [store.keys.get(key) for key in keys]

    async def delete(self, keys: Sequence[str]) -> None:
        store = self._open()
        for key in keys:
            store.forget(key)

    async def expire(self, keys: Sequence[str], seconds: float) -> None:
        store = self._open()
        for key in keys:
            if key in store.streams or key in store.keys:
                store.expire(key, _now() + seconds)

    async def close(self) -> None:
        self._closed = True
        for waiter in self._waits:
            if not waiter.done():
                waiter.set_result(None)

    async def _until(self, stream: str, take: Callable[[], list[T]], block: float) -> list[T]:
        """What `take` finds, as soon as it finds something; empty after `block` seconds."""
        deadline = _now() + block
        while not (found := take()) and _now() < deadline:
            await self._written(stream, deadline)
        return found

    async def _written(self, stream: str, deadline: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._store.waiting.setdefault(stream, [])
        queue.append(waiter)
        self._waits.add(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._waits.discard(waiter)
            self._leave(stream, waiter)

    def _leave(self, stream: str, waiter: asyncio.Future[None]) -> None:
        queue = self._store.waiting.get(stream, [])
        if waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._store.waiting[stream]


def _delivery(home: _Stream, crew: _Group, place: Position) -> Delivery:
    entry = home.entries[place]
    return Delivery(entry.id, entry.payload, crew.pending[place].deliveries)


def _now() -> float:
    return asyncio.get_running_loop().time()
