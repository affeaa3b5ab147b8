"""Presence: how a run on a shared bus is found by a viewer, and how one learns that it is over or gone.

A run is announced once, keeps a sign of life and the announcements fresh, and at its end says so. Best effort:
nothing waits for viewers, and a bus that is away costs them the news, never the run. Knows no conversation.
"""

import asyncio
import contextlib
import time
from dataclasses import dataclass

from pydantic import ValidationError

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.errors import BusError
from simarena.arena.lanes import GRACE, HEARTBEAT
from simarena.arena.post import KEPT_SECONDS

KEPT_RUNS = 100
"""Newest announcements kept."""
OPEN, CLOSED = "open", "closed"


@dataclass(slots=True)
class Presence:
    """One run's announcement; `start` it when hosts are up, `stop` it last."""

    bus: Bus
    run: str
    _task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        announcement = wire.Announcement(run=self.run, started=time.time())
        with contextlib.suppress(BusError):
            await self.bus.push(wire.runs(), announcement.model_dump_json().encode(), keep=KEPT_RUNS)
        self._task = asyncio.create_task(self._live(), name="presence")

    async def stop(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(BusError):
            await self.bus.put(wire.alive(self.run), CLOSED, ttl=KEPT_SECONDS)

    async def _live(self) -> None:
        while True:
            with contextlib.suppress(BusError):
                await self.bus.put(wire.alive(self.run), OPEN, ttl=GRACE)
                await self.bus.expire([wire.runs()], KEPT_SECONDS)
            await asyncio.sleep(HEARTBEAT)


async def going_on(bus: Bus) -> list[wire.Announcement]:
    """The runs on this bus that give signs of life, newest first."""
    found: dict[str, wire.Announcement] = {}
    for entry in await bus.read(wire.runs(), count=10 * KEPT_RUNS):
        with contextlib.suppress(ValidationError):
            told = wire.Announcement.model_validate_json(entry.payload)
            found[told.run] = told
    signs = await bus.get([wire.alive(run) for run in found])
    living = [told for told, sign in zip(found.values(), signs, strict=True) if sign == OPEN]
    return sorted(living, key=lambda told: told.started, reverse=True)


async def sign_of(bus: Bus, run: str) -> str | None:
    """`open` while the run lives, `closed` for a while after it ended, None if it is gone without a word."""
    (sign,) = await bus.get([wire.alive(run)])
    return sign
