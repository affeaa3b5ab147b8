"""The message bus: one interface over Redis Streams and memory.

`connect(url)` is the only door: `memory://`, `auto`, `redis://`, `rediss://`, `unix://`. A bus moves bytes
under string keys; it knows nothing of episodes, turns or agents (`arena/wire.py` names those).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

PAYLOAD_CAP = 1_000_000
"""Bytes one payload may have; larger ones raise PayloadTooLarge before anything is sent."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a stream."""

    id: str
    payload: bytes
    reason: str = ""
    """Why it is a dead letter; empty for every other entry."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One entry handed to a consumer of a group; it stays pending until acknowledged."""

    id: str
    payload: bytes
    deliveries: int = 1


class Bus(Protocol):
    """Streams with explicit ids, work streams with consumer groups, small keys. All methods raise BusError.

    Concurrent `append`, `push`, `ack` calls of one loop tick travel in one pipeline, in call order.
    """

    @property
    def url(self) -> str:
        """Where others reach the same bus. May hold a password: hand it on, never show it."""
        ...

    async def append(self, stream: str, id: str, payload: bytes) -> None:
        """Write at an explicit id (`turn-seq`). Writing the same again is a success; a different payload
        at a taken id, or an id below the last, raises EntryConflict."""
        ...

    async def push(self, stream: str, payload: bytes, *, keep: int | None = None) -> str:
        """Add at the end under an id of the bus's choosing; `keep` trims to about that many newest entries.
        Not retried: a caller that sees BusUnavailable cannot know whether it was stored."""
        ...

    async def read(self, stream: str, after: str = "0", *, count: int = 100, block: float = 0.0) -> list[Entry]:
        """Entries after an id, oldest first; waits up to `block` seconds for the first. No group, no claim."""
        ...

    async def last_id(self, stream: str) -> str:
        """Id of the newest entry, `0` for a stream that does not exist."""
        ...

    async def consume(
        self, stream: str, group: str, consumer: str, *, count: int = 100, block: float = 0.0
    ) -> list[Delivery]:
        """Entries never delivered to this group. Creates stream and group as needed (also after a flush)."""
        ...

    async def pending(self, stream: str, group: str, consumer: str) -> list[Delivery]:
        """What this consumer took and has not acknowledged, oldest first: read it first after a restart."""
        ...

    async def ack(self, stream: str, group: str, ids: Sequence[str]) -> None:
        """Done with these: they leave the pending list and the stream."""
        ...

    async def reclaim(
        self, stream: str, group: str, consumer: str, *, idle: float, cap: int, dead: str
    ) -> list[Delivery]:
        """Take over entries that others left pending for `idle` seconds. One delivered `cap` times already
        goes to the stream `dead` with its reason instead, and is acknowledged."""
        ...

    async def length(self, stream: str) -> int: ...

    async def put(self, key: str, value: str, *, ttl: float | None = None) -> None:
        """Set a small key, gone after `ttl` seconds."""
        ...

    async def get(self, keys: Sequence[str]) -> list[str | None]: ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Forget streams and keys."""
        ...

    async def expire(self, keys: Sequence[str], seconds: float) -> None:
        """Forget streams and keys after a while."""
        ...

    async def close(self) -> None: ...


async def connect(url: str) -> Bus:
    """A bus that has answered. Closing the one that `auto` started a server for stops that server.

    `memory://` is private to this process; `auto` is SIMARENA_REDIS_URL if set, else an embedded server;
    `redis://`, `rediss://` and `unix://` are addresses. Raises UsageError, MissingExtra or BusUnavailable.
    """
    if url == "memory://":
        from simarena.arena.bus.memory import MemoryBus

        return MemoryBus()
    from simarena.arena.bus.redis import RedisBus

    if url != "auto":
        return await RedisBus.open(url)
    if given := os.environ.get("SIMARENA_REDIS_URL"):
        return await RedisBus.open(given)
    from simarena.arena.bus.server import EmbeddedServer

    server = await EmbeddedServer.start()
    return await RedisBus.open(server.url, server)
