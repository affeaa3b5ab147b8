"""How fast the bus is: bare messages, and whole scripted conversations in both backends."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Literal

from simarena.arena.arena import SimulatorArena
from simarena.arena.bus import Bus, connect
from simarena.tui.bench.figure import Figure, peak_bytes
from simarena.tui.casting import stand_in

Backend = Literal["inproc", "ray"]
SCENARIO = "service-desk"
MESSAGES = 20_000
BATCH = 500
"""Messages sent in one tick of the loop; they share a pipeline."""
PAYLOAD = b"x" * 512
IN_FLIGHT = 1000
"""Conversations at once."""
TARGETS = {"inproc": 1500, "ray": 1000}
"""Turns per second asked for, on two cores."""


async def measure(
    conversations: int = 2 * IN_FLIGHT, messages: int = MESSAGES, backends: Sequence[Backend] = ("inproc", "ray")
) -> AsyncIterator[Figure]:
    """All figures of the bus, one at a time as they are known."""
    for url, against in (("memory://", "in this process"), ("auto", "embedded or given server")):
        bus = await connect(url)
        try:
            rate = await _messages(bus, messages)
        finally:
            await bus.close()
        name = "messages_memory" if url == "memory://" else "messages_redis"
        yield Figure(
            name, rate, "messages/s", f"{len(PAYLOAD)} bytes pushed, consumed and acknowledged, {against}"
        )
    for backend in backends:
        async for figure in _turns(backend, conversations):
            yield figure


async def _messages(bus: Bus, count: int) -> float:
    """Messages per second that one producer and one consumer pass through a work stream."""
    began = time.perf_counter()
    await asyncio.gather(_produce(bus, count), _consume(bus, count))
    return count / (time.perf_counter() - began)


async def _produce(bus: Bus, count: int) -> None:
    for start in range(0, count, BATCH):
        await asyncio.gather(*(bus.push("bench", PAYLOAD) for _ in range(min(BATCH, count - start))))


async def _consume(bus: Bus, count: int) -> None:
    while count > 0:
        got = await bus.consume("bench", "group", "one", count=BATCH, block=1.0)
        await bus.ack("bench", "group", [delivery.id for delivery in got])
        count -= len(got)


async def _turns(backend: Backend, conversations: int) -> AsyncIterator[Figure]:
    """Scripted turns per second end to end; in process also the memory a conversation in flight takes."""
    flying = min(conversations, IN_FLIGHT)
    async with SimulatorArena(backend) as arena:
        await _play(arena, 32, "warm")
        before, began = peak_bytes(), time.perf_counter()
        turns = await _play(arena, conversations, "bench")
        seconds = time.perf_counter() - began
    target = f"target {TARGETS[backend]} on two cores; {flying} conversations in flight"
    yield Figure(f"turns_{backend}", turns / seconds, "turns/s", target)
    if backend == "inproc":  # the first to run: later ones find memory that this process holds already
        memory = (peak_bytes() - before) / flying
        yield Figure("memory_inproc", memory / 1024, "KiB/conversation", f"{flying} in flight, no target")


async def _play(arena: SimulatorArena, conversations: int, prefix: str) -> int:
    """Play them with scripted agents at both seats; returns the number of turns."""
    playing = arena.play(
        SCENARIO,
        seats={"assistant": stand_in(SCENARIO)},
        deals=range(conversations),
        concurrency=IN_FLIGHT,
        prefix=prefix,
    )
    return sum([len(episode.turns) async for episode in playing])
