"""The bulletin: a run's metrics and state on its bus, for viewers; metrics for those who cannot see its folder.

A tracker like the others: a copy, never the record. Best effort: nothing waits for it, and a bus that is away
costs viewers some rows, never the run. Knows no metric by name.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.errors import BusError
from simarena.arena.post import KEPT_SECONDS
from simarena.training.trackers import Metrics

KEPT = 2_000
"""Newest rows kept for viewers who come late."""
REPEATED = 500
"""Rows after which it is said again what the run is, so that it is never trimmed away."""
OUTLIVES = 24 * 3600.0
"""Seconds that rows stay if the run goes without a word."""
WINDING_UP = 5.0
"""Seconds that the last rows may take at the end."""


class Bulletin:
    """A tracker that writes to the bus in the background; `bulletin` opens one."""

    def __init__(self, bus: Bus, run: str, facts: Mapping[str, Any]) -> None:
        self._bus, self._stream = bus, wire.bulletin(run)
        self._about = wire.Bulletin(facts=dict(facts))
        self._waiting: asyncio.Queue[wire.Bulletin] = asyncio.Queue()

    def log(self, step: int, metrics: Metrics) -> None:
        self._waiting.put_nowait(wire.Bulletin(row={"step": float(step), **metrics}))

    def state(self, state: wire.RunState) -> None:
        """Whether the run goes on has changed."""
        self._waiting.put_nowait(wire.Bulletin(state=state))

    def close(self) -> None:
        """The block of `bulletin` ends it."""

    async def write(self) -> None:
        """Write what is logged, until cancelled."""
        await self._push(self._about)
        count = 0
        while True:
            await self._push(await self._waiting.get())
            self._waiting.task_done()
            count += 1
            if count % REPEATED == 0:
                await self._push(self._about)

    async def wind_up(self) -> None:
        """Wait until all is written, then let the bus forget it after a while."""
        with contextlib.suppress(TimeoutError, BusError):
            async with asyncio.timeout(WINDING_UP):
                await self._waiting.join()
                await self._bus.expire([self._stream], KEPT_SECONDS)

    async def _push(self, told: wire.Bulletin) -> None:
        with contextlib.suppress(BusError):
            await self._bus.push(self._stream, told.model_dump_json(exclude_none=True).encode(), keep=KEPT)
            await self._bus.expire([self._stream], OUTLIVES)


@contextlib.asynccontextmanager
async def bulletin(bus: Bus, run: str, facts: Mapping[str, Any]) -> AsyncIterator[Bulletin]:
    """An open bulletin; `facts` is what viewers are told of the run: its name and its recipe."""
    opened = Bulletin(bus, run, facts)
    writer = asyncio.create_task(opened.write(), name="bulletin")
    try:
        yield opened
    finally:
        await opened.wind_up()
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
