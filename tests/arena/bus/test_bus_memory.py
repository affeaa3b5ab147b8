"""What only the memory bus promises: it runs on a virtual clock, and costs little."""

import asyncio
import time

from simarena.arena.bus import connect
from simarena.arena.bus.memory import MemoryBus, MemoryStore
from simarena.arena.clock import run_virtual


def test_blocking_takes_virtual_seconds() -> None:
    async def main() -> tuple[list[str], float]:
        loop = asyncio.get_running_loop()
        store = MemoryStore()
        bus, other = MemoryBus(store), MemoryBus(store)
        assert await bus.read("c", block=3600) == []
        assert loop.time() == 3600
        waiting = asyncio.create_task(bus.consume("w", "g", "a", block=1000))
        await asyncio.sleep(10)
        await other.push("w", b"x")
        found = await waiting
        return [d.payload.decode() for d in found], loop.time()

    began = time.monotonic()
    assert run_virtual(main()) == (["x"], 3610)
    assert time.monotonic() - began < 5


def test_expiry_and_idleness_follow_the_loops_clock() -> None:
    async def main() -> None:
        bus = MemoryBus()
        await bus.put("k", "x", ttl=60)
        await bus.push("w", b"x")
        await bus.consume("w", "g", "silent")
        await asyncio.sleep(59)
        assert await bus.get(["k"]) == ["x"]
        assert await bus.reclaim("w", "g", "me", idle=60, cap=3, dead="dead") == []
        await asyncio.sleep(1)
        assert await bus.get(["k"]) == [None]
        assert [d.deliveries for d in await bus.reclaim("w", "g", "me", idle=60, cap=3, dead="dead")] == [2]

    run_virtual(main())


async def test_the_door_gives_a_private_store() -> None:
    first, second = await connect("memory://"), await connect("memory://")
    await first.push("w", b"x")
    assert (await first.length("w"), await second.length("w")) == (1, 0)
    assert first.url == "memory://"


async def test_a_long_lived_stream_stays_small() -> None:
    store = MemoryStore()
    bus = MemoryBus(store)
    for n in range(5000):
        await bus.push("w", b"x")
        await bus.push("ev", b"x", keep=10)
        await bus.put(f"key {n % 3}", "x", ttl=60)
        (delivery,) = await bus.consume("w", "g", "a")
        await bus.ack("w", "g", [delivery.id])
    sizes = [len(store.streams[name].order) + len(store.streams[name].entries) for name in ("w", "ev")]
    assert max(sizes) < 200
    assert await bus.pending("w", "g", "a") == []


async def test_a_reader_that_gave_up_leaves_nothing_behind() -> None:
    store = MemoryStore()
    bus = MemoryBus(store)
    readers = [asyncio.create_task(bus.read("c", block=60)) for _ in range(10)]
    await asyncio.sleep(0)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    assert store.waiting == {}
