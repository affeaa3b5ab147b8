"""A bus as tests see it: any backend, several connections to one store, and a stranger's raw commands."""

from typing import Any

from redis.asyncio import Redis

from simarena.arena.bus import Bus, connect
from simarena.arena.bus.memory import MemoryBus, MemoryStore


class World:
    """One store, empty at first, and the connections a test opened to it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store = MemoryStore()
        self._open: list[Bus] = []

    async def connect(self) -> Bus:
        bus = MemoryBus(self._store) if self.url == "memory://" else await connect(self.url)
        self._open.append(bus)
        return bus

    async def flush(self) -> None:
        """Lose everything, as a restarted server does."""
        if self.url == "memory://":
            for key in (*self._store.streams, *self._store.keys):
                self._store.forget(key)
        else:
            await self.raw("FLUSHALL")

    async def age(self, stream: str, group: str, seconds: float) -> None:
        """Let what is pending look as if it had been taken that much earlier."""
        if self.url == "memory://":
            for claim in self._store.streams[stream].groups[group].pending.values():
                claim.since -= seconds
            return
        async with Redis.from_url(self.url, protocol=2) as client:
            for row in await client.xpending_range(stream, group, "-", "+", 1000):
                idle = row["time_since_delivered"] + int(seconds * 1000)
                await client.xclaim(stream, group, row["consumer"], 0, [row["message_id"]], idle=idle, justid=True)

    async def raw(self, *command: str | bytes | int) -> Any:
        """What any client in any language may send."""
        async with Redis.from_url(self.url, protocol=2) as client:
            return await client.execute_command(*command)

    async def close(self) -> None:
        for bus in self._open:
            await bus.close()
