"""The Redis bus: streams, consumer groups and keys of a Redis 6.2 or Valkey server, or any later one.

Commands share one pipelined connection; each blocked read has one of its own. The protocol is pinned and
replies are read raw, so this file alone knows their shapes. Nothing is retried behind the caller's back
but what may be carried out twice. Knows no meaning of any stream.
"""

import asyncio
import math
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from simarena.arena.bus import Delivery, Entry
from simarena.arena.bus.address import explain, options
from simarena.arena.bus.entries import fitting, obituary, position, writable
from simarena.arena.bus.pipe import Command, Pipe, Word
from simarena.arena.bus.server import EmbeddedServer
from simarena.arena.errors import BusUnavailable, EntryConflict, UsageError

BLOCK = 2.0
"""Seconds one blocking round trip may last; longer waits are several."""
PATIENCE = 5.0
"""Seconds without an answer after which a server counts as lost."""
PAGE = 100
"""Entries of a pending list handled at once."""
READERS = 1000
"""Blocked reads that one process may have at the same time; each holds a connection."""

_Raw = tuple[str, dict[bytes, bytes]]
"""An entry as the server tells it; no fields when it was trimmed while pending."""


class RedisBus:
    """One process's connection to a server, on one event loop. Holds to `Bus`, whose docstrings tell more."""

    def __init__(self, url: str, server: EmbeddedServer | None = None) -> None:
        address = options(url)
        self.url = url
        self._server = server
        self._pipe = Pipe(_client(address, PATIENCE))
        self._reads = _client(address, BLOCK + PATIENCE)
        self._adrift: dict[tuple[str, str, str], asyncio.Task[list[Delivery]]] = {}
        """Reads whose caller was cancelled: what they deliver goes to the consumer's next call."""
        self._flying: set[asyncio.Task[Any]] = set()
        self._closed = False

    @classmethod
    async def open(cls, url: str, server: EmbeddedServer | None = None) -> "RedisBus":
        """A bus whose server has answered; stops `server` when closed."""
        bus = cls(url, server)
        try:
            await bus._ask("PING", repeatable=False)
        except BaseException:
            await bus.close()
            raise
        return bus

    async def append(self, stream: str, id: str, payload: bytes) -> None:
        writable(id)
        with self._explained():
            try:
                await self._raw("XADD", stream, id, "d", fitting(payload), repeatable=True)
            except ResponseError as error:
                if "equal or smaller" not in str(error):
                    raise
                await self._compare(stream, id, payload)

    async def _compare(self, stream: str, id: str, payload: bytes) -> None:
        """Success if this very entry is there: an earlier try arrived and only its reply was lost."""
        there = _entries(await self._raw("XRANGE", stream, id, id, repeatable=True))
        if not there:
            raise EntryConflict(
                f"entry {id} of {stream!r} comes too late: the last is {await self.last_id(stream)}"
            )
        if _payload(there[0][1]) != payload:
            raise EntryConflict(
                f"entry {id} of {stream!r} is taken by a different payload: who else writes there?"
            )

    async def push(self, stream: str, payload: bytes, *, keep: int | None = None) -> str:
        trim = () if keep is None else ("MAXLEN", "~", keep)
        reply: bytes = await self._ask("XADD", stream, *trim, "*", "d", fitting(payload), repeatable=False)
        return reply.decode()

    async def read(self, stream: str, after: str = "0", *, count: int = 100, block: float = 0.0) -> list[Entry]:
        position(after)
        for wait in _waits(block):
            asked = ("XREAD", "COUNT", count, *_block(wait), "STREAMS", stream, after)
            reply = await self._ask(*asked, repeatable=True, blocking=wait > 0)
            if found := _entries_of(reply):
                return [Entry(id, _payload(fields), _reason(fields)) for id, fields in found]
        return []

    async def last_id(self, stream: str) -> str:
        with self._explained():
            try:
                told = await self._raw("XINFO", "STREAM", stream, repeatable=True)
            except ResponseError as error:
                if "no such key" not in str(error):
                    raise
                return "0"
        last: str = told[told.index(b"last-generated-id") + 1].decode()
        return "0" if last == "0-0" else last

    async def consume(
        self, stream: str, group: str, consumer: str, *, count: int = 100, block: float = 0.0
    ) -> list[Delivery]:
        me = (stream, group, consumer)
        for wait in _waits(block):
            # Never cancelled in flight: the server has handed the entries over once it has been asked.
            task = self._adrift.pop(me, None) or asyncio.create_task(self._take(*me, count, wait))
            try:
                found = await asyncio.shield(task)
            except asyncio.CancelledError:
                self._adrift[me] = task
                raise
            if found:
                return found
        return []

    async def _take(self, stream: str, group: str, consumer: str, count: int, wait: float) -> list[Delivery]:
        asked = ("XREADGROUP", "GROUP", group, consumer, "COUNT", count, *_block(wait), "STREAMS", stream, ">")
        reply = await self._of_group(stream, group, *asked, blocking=wait > 0)
        return [Delivery(id, _payload(fields)) for id, fields in _entries_of(reply)]

    async def pending(self, stream: str, group: str, consumer: str) -> list[Delivery]:
        found: list[Delivery] = []
        after = "0"
        while True:
            asked = ("XREADGROUP", "GROUP", group, consumer, "COUNT", PAGE, "STREAMS", stream, after)
            page = _entries_of(await self._of_group(stream, group, *asked))
            if not page:
                return found
            after = page[-1][0]
            found += await self._owed(stream, group, page)

    async def ack(self, stream: str, group: str, ids: Sequence[str]) -> None:
        for id in ids:
            position(id)
        if ids:
            await self._send(("XACK", stream, group, *ids), ("XDEL", stream, *ids), repeatable=True)

    async def reclaim(
        self, stream: str, group: str, consumer: str, *, idle: float, cap: int, dead: str
    ) -> list[Delivery]:
        # Not XAUTOCLAIM: it would also take what this consumer itself is still working on.
        silent = await self._silent(stream, group, consumer, idle)
        found: list[Delivery] = []
        for start in range(0, len(silent), PAGE):
            asked = ("XCLAIM", stream, group, consumer, _milliseconds(idle))
            reply = await self._of_group(stream, group, *asked, *silent[start : start + PAGE])
            found += await self._owed(stream, group, _entries(reply))
        for lost in (delivery for delivery in found if delivery.deliveries > cap):
            await self._bury(stream, group, lost, dead)
        return [delivery for delivery in found if delivery.deliveries <= cap]

    async def _silent(self, stream: str, group: str, consumer: str, idle: float) -> list[str]:
        """Ids that others have held for `idle` seconds, oldest first."""
        found: list[str] = []
        start = "-"
        while True:
            asked = ("XPENDING", stream, group, "IDLE", _milliseconds(idle), start, "+", PAGE)
            rows = await self._of_group(stream, group, *asked)
            found += [id.decode() for id, holder, _, _ in rows if holder != consumer.encode()]
            if len(rows) < PAGE:
                return found
            start = f"({rows[-1][0].decode()}"

    async def _owed(self, stream: str, group: str, entries: list[_Raw]) -> list[Delivery]:
        """These pending entries with their counts; what was trimmed from the stream is owed to nobody."""
        await self.ack(stream, group, [id for id, fields in entries if not fields])
        kept = [entry for entry in entries if entry[1]]
        commands: list[Command] = [("XPENDING", stream, group, id, id, 1) for id, _ in kept]
        rows = await self._send(*commands, repeatable=True) if kept else []
        counts = [row[0][3] if row else 0 for row in rows]
        return [Delivery(id, _payload(fields), n) for (id, fields), n in zip(kept, counts, strict=True) if n]

    async def _bury(self, stream: str, group: str, lost: Delivery, dead: str) -> None:
        reason = obituary(stream, lost.id, lost.deliveries - 1)
        await self._ask("XADD", dead, "*", "d", lost.payload, "reason", reason, repeatable=False)
        # Only once the letter is stored: a full server refuses it, and then it stays pending.
        await self.ack(stream, group, [lost.id])

    async def length(self, stream: str) -> int:
        reply: int = await self._ask("XLEN", stream, repeatable=True)
        return reply

    async def put(self, key: str, value: str, *, ttl: float | None = None) -> None:
        until = () if ttl is None else ("PX", max(_milliseconds(ttl), 1))
        await self._ask("SET", key, fitting(value.encode()), *until, repeatable=True)

    async def get(self, keys: Sequence[str]) -> list[str | None]:
        if not keys:
            return []
        values = await self._ask("MGET", *keys, repeatable=True)
        return [None if value is None else value.decode() for value in values]

    async def delete(self, keys: Sequence[str]) -> None:
        if keys:
            await self._ask("UNLINK", *keys, repeatable=True)

    async def expire(self, keys: Sequence[str], seconds: float) -> None:
        if keys:
            commands: list[Command] = [("PEXPIRE", key, _milliseconds(seconds)) for key in keys]
            await self._send(*commands, repeatable=True)

    async def close(self) -> None:
        self._closed = True
        await asyncio.shield(self._hang_up())

    async def _hang_up(self) -> None:
        for task in self._adrift.values():
            task.cancel()
        await asyncio.gather(*self._adrift.values(), return_exceptions=True)
        await self._pipe.close()
        await self._reads.aclose()
        await asyncio.gather(*self._flying, return_exceptions=True)
        if self._server is not None:
            await self._server.stop()

    async def _of_group(self, stream: str, group: str, *command: Word, blocking: bool = False) -> Any:
        """The reply to a command of a group; makes the group where a flush or a restart has lost it."""
        with self._explained():
            try:
                return await self._raw(*command, repeatable=False, blocking=blocking)
            except ResponseError as error:
                if not str(error).startswith(("NOGROUP", "UNBLOCKED")):
                    raise
            await self._make_group(stream, group)
            return await self._raw(*command, repeatable=False, blocking=blocking)

    async def _make_group(self, stream: str, group: str) -> None:
        try:
            await self._raw("XGROUP", "CREATE", stream, group, "0", "MKSTREAM", repeatable=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def _ask(self, *command: Word, repeatable: bool, blocking: bool = False) -> Any:
        with self._explained():
            return await self._raw(*command, repeatable=repeatable, blocking=blocking)

    async def _send(self, *commands: Command, repeatable: bool) -> list[Any]:
        """The replies to several commands that travel together."""
        self._check_open()
        with self._explained():
            return await self._pipe.send(*commands, repeatable=repeatable)

    async def _raw(self, *command: Word, repeatable: bool, blocking: bool = False) -> Any:
        """The reply to one command; errors are redis-py's own."""
        self._check_open()
        if blocking:
            return await self._undisturbed(self._reads.execute_command(*command))  # type: ignore[no-untyped-call]
        (reply,) = await self._pipe.send(command, repeatable=repeatable)
        return reply

    async def _undisturbed(self, round_trip: Coroutine[Any, Any, Any]) -> Any:
        """Its reply. A caller that is cancelled leaves at once; the round trip ends by itself in BLOCK seconds.

        redis-py sends under `asyncio.wait_for`, which on Python 3.11 can swallow a cancellation.
        """
        task = asyncio.create_task(round_trip)
        self._flying.add(task)
        task.add_done_callback(self._landed)
        return await asyncio.shield(task)

    def _landed(self, task: "asyncio.Task[Any]") -> None:
        self._flying.discard(task)
        if not task.cancelled():
            task.exception()

    def _check_open(self) -> None:
        if self._closed:
            raise BusUnavailable("this connection to the bus is closed")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns redis-py's errors into ours."""
        try:
            yield
        except RedisError as error:
            self._check_open()
            raise explain(error, self.url) from None


def _client(address: dict[str, Any], patience: float) -> Redis:
    pinned: dict[str, Any] = {
        "protocol": 2,
        "decode_responses": False,
        "socket_timeout": patience,
        "retry": Retry(NoBackoff(), 0),
        "max_connections": READERS,
    }
    pool = ConnectionPool(**address | pinned)
    try:
        pool.make_connection()  # type: ignore[no-untyped-call]
    except TypeError as error:
        raise UsageError(f"the bus URL has an option that redis-py does not know: {error}") from None
    client = Redis.from_pool(pool)
    client.response_callbacks.clear()
    return client


def _waits(block: float) -> Iterator[float]:
    """Seconds that each round trip of a blocking read may wait; one round trip that does not, if block is 0."""
    now = asyncio.get_running_loop().time
    deadline = now() + block
    yield min(block, BLOCK)
    while (left := deadline - now()) > 0:
        yield min(left, BLOCK)


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)


def _block(wait: float) -> Command:
    """`BLOCK 0` would wait for ever, so not waiting is to leave it out."""
    return ("BLOCK", _milliseconds(wait)) if wait > 0 else ()


def _entries_of(reply: list[Any] | None) -> list[_Raw]:
    """The entries in a reply to XREAD or XREADGROUP of one stream."""
    return _entries(reply[0][1]) if reply else []


def _entries(rows: Iterable[Any]) -> list[_Raw]:
    """The entries in a list of [id, [field, value, ...]]. Older servers tell a trimmed one as nil."""
    told = ((row[0].decode(), row[1] or []) for row in rows if row)
    return [(id, dict(zip(flat[::2], flat[1::2], strict=True))) for id, flat in told]


def _payload(fields: dict[bytes, bytes]) -> bytes:
    """A stranger may have written an entry without `d`: to its reader that is an empty payload."""
    return fields.get(b"d", b"")


def _reason(fields: dict[bytes, bytes]) -> str:
    return fields.get(b"reason", b"").decode(errors="replace")
