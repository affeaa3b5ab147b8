"""Any sequence of calls has the same results on memory as on Valkey."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import World

from simarena.arena.bus import Bus
from simarena.arena.errors import BusError

CONVERSATIONS = st.sampled_from(["c0", "c1"])
WORK = st.sampled_from(["w0", "w1"])
CONSUMERS = st.sampled_from(["a", "b"])
GROUPS = st.sampled_from(["g", "h"])
PAYLOADS = st.sampled_from([b"", b"x", b"\x00\xff"])
IDS = st.builds("{}-{}".format, st.integers(0, 4), st.integers(1, 3))
NUMBERS = st.integers(0, 9)
"""Which of the pushed entries is meant, as its number."""

CALLS = st.one_of(
    st.tuples(st.just("append"), CONVERSATIONS, IDS, PAYLOADS),
    st.tuples(st.just("push"), WORK, PAYLOADS),
    st.tuples(st.just("push"), WORK, PAYLOADS),
    st.tuples(st.just("read"), CONVERSATIONS, IDS, st.integers(1, 3)),
    st.tuples(st.just("read_pushed"), WORK, st.integers(1, 3)),
    st.tuples(st.just("last_id"), st.one_of(CONVERSATIONS, WORK)),
    st.tuples(st.just("consume"), WORK, GROUPS, CONSUMERS, st.integers(1, 3)),
    st.tuples(st.just("consume"), WORK, GROUPS, CONSUMERS, st.integers(1, 3)),
    st.tuples(st.just("pending"), WORK, GROUPS, CONSUMERS),
    st.tuples(st.just("ack"), WORK, GROUPS, st.lists(NUMBERS, max_size=2)),
    st.tuples(st.just("reclaim"), WORK, GROUPS, CONSUMERS, st.integers(1, 3)),
    st.tuples(st.just("read_pushed"), st.just("dead"), st.integers(1, 3)),
    st.tuples(st.just("length"), st.one_of(CONVERSATIONS, WORK, st.just("dead"))),
    st.tuples(st.just("put"), st.sampled_from(["k0", "k1"]), st.sampled_from(["", "1", "ü"])),
    st.tuples(st.just("get"), st.lists(st.sampled_from(["k0", "k1"]), max_size=3)),
    st.tuples(st.just("delete"), st.lists(st.sampled_from(["c0", "w0", "w1", "k0"]), max_size=2)),
)


class Caller:
    """Makes calls on one bus and tells their results with pushed ids replaced by their numbers."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._numbers: dict[tuple[str, str], int] = {}

    async def make(self, name: str, *arguments: Any) -> Any:
        try:
            return await getattr(self, name)(*arguments)
        except BusError as error:
            return type(error).__name__

    def _named(self, stream: str, id: str) -> str:
        return f"#{self._numbers[stream, id]}" if (stream, id) in self._numbers else id

    def _retold(self, reason: str) -> str:
        """The reason of a dead letter, `entry ID of STREAM was ...`, with the number for the id."""
        words = reason.split()
        return " ".join([*words[:1], *(self._named(words[3], id) for id in words[1:2]), *words[2:]])

    async def append(self, stream: str, id: str, payload: bytes) -> None:
        await self._bus.append(stream, id, payload)

    async def push(self, stream: str, payload: bytes) -> None:
        self._numbers[stream, await self._bus.push(stream, payload)] = len(self._numbers)

    async def read(self, stream: str, after: str, count: int) -> Any:
        return [(entry.id, entry.payload) for entry in await self._bus.read(stream, after, count=count)]

    async def read_pushed(self, stream: str, count: int) -> Any:
        entries = await self._bus.read(stream, count=count)
        for entry in entries:
            self._numbers.setdefault((stream, entry.id), len(self._numbers))
        return [(self._named(stream, e.id), e.payload, self._retold(e.reason)) for e in entries]

    async def last_id(self, stream: str) -> str:
        return self._named(stream, await self._bus.last_id(stream))

    async def consume(self, stream: str, group: str, consumer: str, count: int) -> Any:
        return self._told(stream, await self._bus.consume(stream, group, consumer, count=count))

    async def pending(self, stream: str, group: str, consumer: str) -> Any:
        return self._told(stream, await self._bus.pending(stream, group, consumer))

    async def reclaim(self, stream: str, group: str, consumer: str, cap: int) -> Any:
        return self._told(stream, await self._bus.reclaim(stream, group, consumer, idle=0, cap=cap, dead="dead"))

    def _told(self, stream: str, deliveries: Any) -> Any:
        return [(self._named(stream, d.id), d.payload, d.deliveries) for d in deliveries]

    async def ack(self, stream: str, group: str, numbers: list[int]) -> None:
        ids = [id for (home, id), number in self._numbers.items() if home == stream and number in numbers]
        await self._bus.ack(stream, group, ids)

    async def length(self, stream: str) -> int:
        return await self._bus.length(stream)

    async def put(self, key: str, value: str) -> None:
        await self._bus.put(key, value)

    async def get(self, keys: list[str]) -> Any:
        return await self._bus.get(keys)

    async def delete(self, keys: list[str]) -> None:
        await self._bus.delete(keys)
        # A server names entries by the millisecond: a new stream must not repeat the ids of the old one.
        await asyncio.sleep(0.002)


@settings(max_examples=120, deadline=None)
@given(calls=st.lists(CALLS, min_size=5, max_size=40))
def test_memory_and_valkey_agree(valkey_url: str, calls: list[tuple[Any, ...]]) -> None:
    async def play(world: World) -> list[Any]:
        await world.flush()
        caller = Caller(await world.connect())
        results = [await caller.make(*call) for call in calls]
        await world.close()
        return results

    async def both() -> tuple[list[Any], list[Any]]:
        return await play(World("memory://")), await play(World(valkey_url))

    memory, valkey = asyncio.run(both())
    assert memory == valkey
