"""Orders: what people who watch ask of a run that goes on: pause, resume, stop. Obeyed between two steps.

Read from the bus, where whoever may write may ask; the answer is the run's state on its bulletin. Nothing waits
for them: a bus that is away costs the order, never the run. Knows no step and no learner.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from pydantic import ValidationError

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.errors import BusError

AWAY = 1.0
"""Seconds between attempts while the bus is away."""


class Orders:
    """What was asked of one run. `stop` is set by whoever else may end it, too; `tell` hears every change."""

    def __init__(self, stop: asyncio.Event, tell: Callable[[wire.RunState], None]) -> None:
        self.stop, self._tell = stop, tell
        self._going = asyncio.Event()
        self._going.set()

    def take(self, asked: wire.Asked) -> None:
        """Obey as soon as the step that is under way is done."""
        if self.stop.is_set():
            return
        if asked == "stop":
            self.stop.set()
            self._tell("stopping")
        elif asked == "pause" and self._going.is_set():
            self._going.clear()
            self._tell("pausing")
        elif asked == "resume" and not self._going.is_set():
            self._going.set()
            self._tell("running")

    async def rest(self) -> float:
        """Between two steps: wait while the run is paused and is not to end; the seconds that took."""
        if self._going.is_set() or self.stop.is_set():
            return 0.0
        began = time.monotonic()
        self._tell("paused")
        waits = [asyncio.create_task(event.wait()) for event in (self._going, self.stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return time.monotonic() - began

    async def listen(self, bus: Bus, run: str) -> None:
        """Take what is asked over the bus, until cancelled."""
        after = "0"
        while True:
            try:
                entries = await bus.read(wire.orders(run), after, block=1.0)
            except BusError:
                await asyncio.sleep(AWAY)
                continue
            for entry in entries:
                after = entry.id
                with contextlib.suppress(ValidationError):  # a stranger may write here too
                    self.take(wire.Order.model_validate_json(entry.payload).ask)


@contextlib.asynccontextmanager
async def heeding(
    bus: Bus, run: str, stop: asyncio.Event, tell: Callable[[wire.RunState], None]
) -> AsyncIterator[Orders]:
    """Orders to this run, listened for while the block runs."""
    orders = Orders(stop, tell)
    listener = asyncio.create_task(orders.listen(bus, run), name="orders")
    try:
        yield orders
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
