"""Faults: a seeded schedule of bad luck for drills. Makes a bus lose, delay, double and refuse, and kills hosts.

Every drawn fault comes from the seed and the count of calls, so on a virtual clock a failure found once can
be played again. Knows nothing of what it disturbs.
"""

import asyncio
import random
from collections.abc import Sequence

from pydantic import Field

from simarena.arena.backends import Backend
from simarena.arena.bus import Bus, Delivery, Entry
from simarena.arena.errors import BusUnavailable
from simarena.arena.messages import Frozen
from simarena.arena.seeds import rng


class Faults(Frozen):
    """Probabilities per call, and the mean time between crashes. All zero: no faults."""

    seed: int = 0
    lose: float = Field(default=0.0, ge=0, le=1)
    """A push to a work or reply stream vanishes although the caller was told it was stored."""
    double: float = Field(default=0.0, ge=0, le=1)
    """A push is stored twice, as after a retry."""
    refuse: float = Field(default=0.0, ge=0, le=1)
    """A call raises BusUnavailable; half of these took effect all the same."""
    delay: float = Field(default=0.0, ge=0, le=1)
    """A call takes up to `delay_seconds` longer."""
    delay_seconds: float = Field(default=2.0, ge=0)
    crash_every: float = Field(default=0.0, ge=0)
    """Mean seconds between crashes of a random host; 0: never."""


class FaultyBus:
    """A bus that suffers from a schedule. `append` is never lost: its writer learns of a refusal and retries."""

    def __init__(self, bus: Bus, faults: Faults) -> None:
        self._bus, self._faults = bus, faults
        self._chance = rng("faults", faults.seed)

    @property
    def url(self) -> str:
        return self._bus.url

    async def _suffer(self) -> bool:
        """Delay and refusal; true if the call shall take effect and then still raise."""
        if self._chance.random() < self._faults.delay:
            await asyncio.sleep(self._chance.random() * self._faults.delay_seconds)
        if self._chance.random() < self._faults.refuse:
            if self._chance.random() < 0.5:
                raise BusUnavailable("drill: the call was refused")
            return True
        return False

    async def append(self, stream: str, id: str, payload: bytes) -> None:
        broken = await self._suffer()
        await self._bus.append(stream, id, payload)
        _raise_if(broken)

    async def push(self, stream: str, payload: bytes, *, keep: int | None = None) -> str:
        broken = await self._suffer()
        if keep is None and self._chance.random() < self._faults.lose:
            return "0-0"
        stored = await self._bus.push(stream, payload, keep=keep)
        if self._chance.random() < self._faults.double:
            await self._bus.push(stream, payload, keep=keep)
        _raise_if(broken)
        return stored

    async def read(self, stream: str, after: str = "0", *, count: int = 100, block: float = 0.0) -> list[Entry]:
        return await self._bus.read(stream, after, count=count, block=block)

    async def last_id(self, stream: str) -> str:
        return await self._bus.last_id(stream)

    async def consume(
        self, stream: str, group: str, consumer: str, *, count: int = 100, block: float = 0.0
    ) -> list[Delivery]:
        return await self._bus.consume(stream, group, consumer, count=count, block=block)

    async def pending(self, stream: str, group: str, consumer: str) -> list[Delivery]:
        return await self._bus.pending(stream, group, consumer)

    async def ack(self, stream: str, group: str, ids: Sequence[str]) -> None:
        broken = await self._suffer()
        await self._bus.ack(stream, group, ids)
        _raise_if(broken)

    async def reclaim(
        self, stream: str, group: str, consumer: str, *, idle: float, cap: int, dead: str
    ) -> list[Delivery]:
        return await self._bus.reclaim(stream, group, consumer, idle=idle, cap=cap, dead=dead)

    async def length(self, stream: str) -> int:
        return await self._bus.length(stream)

    async def put(self, key: str, value: str, *, ttl: float | None = None) -> None:
        await self._bus.put(key, value, ttl=ttl)

    async def get(self, keys: Sequence[str]) -> list[str | None]:
        return await self._bus.get(keys)

    async def delete(self, keys: Sequence[str]) -> None:
        await self._bus.delete(keys)

    async def expire(self, keys: Sequence[str], seconds: float) -> None:
        broken = await self._suffer()
        await self._bus.expire(keys, seconds)
        _raise_if(broken)

    async def close(self) -> None:
        await self._bus.close()


async def crash_hosts(backend: Backend, hosts: Sequence[tuple[str, str]], faults: Faults) -> None:
    """Kill a random host again and again; runs until cancelled."""
    chance: random.Random = rng("crashes", faults.seed)
    while faults.crash_every:
        await asyncio.sleep(chance.expovariate(1 / faults.crash_every))
        await backend.kill(*chance.choice(list(hosts)))


def _raise_if(broken: bool) -> None:
    if broken:
        raise BusUnavailable("drill: the call took effect but its answer was lost")
