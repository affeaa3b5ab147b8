"""A run that has not come to its bus yet: its folder is followed until it names one, then the bus as well.

A training run clones its starting model before it opens its bus, which takes minutes; whoever watches meanwhile
need not start again. Both sources fill the same stores.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from simarena.arena.bus import Bus
from simarena.arena.episodes import Episode
from simarena.arena.errors import SimArenaError
from simarena.arena.record import RunFolder
from simarena.arena.wire import Asked
from simarena.tui.feed.live import Live
from simarena.tui.feed.opened import Opened
from simarena.tui.feed.recorded import PERIOD, Recorded
from simarena.tui.feed.status import Status
from simarena.tui.feed.why import Why

Reach = Callable[[str], Awaitable[Bus]]
"""A connection to the bus at the address that a folder tells."""


class Arriving:
    """Holds to `Source`."""

    def __init__(self, folder: RunFolder, reach: Reach) -> None:
        self._recorded, self._reach = Recorded(folder), reach
        self.conversations, self.training = self._recorded.conversations, self._recorded.training
        self._now: Recorded | Live = self._recorded
        self._waiting: asyncio.Task[None] | None = None

    @property
    def title(self) -> str:
        return self._recorded.title

    @property
    def path(self) -> Path:
        return self._recorded.path

    @property
    def live(self) -> bool:
        return self._now.live

    def status(self) -> Status:
        return self._now.status()

    async def start(self) -> None:
        await self._recorded.start()
        self._recorded.note("it has not opened its bus yet")
        self._waiting = asyncio.create_task(self._wait(), name="bus of the run")

    async def open(self, key: str) -> Opened:
        return await self._now.open(key)

    def episode(self, key: str) -> Episode:
        return self._now.episode(key)

    async def why(self, key: str, seat: str = "") -> Why:
        return await self._now.why(key, seat)

    async def ask(self, asked: Asked) -> None:
        await self._now.ask(asked)

    def look_again(self) -> None:
        self._now.look_again()

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)
        await self._now.close()

    async def _wait(self) -> None:
        """Until the folder names a bus, or the run is over without one."""
        while (told := self._recorded.folder.bus()) is None:
            if not self._recorded.live:
                self._recorded.note("")
                return
            await asyncio.sleep(PERIOD)
        self._recorded.note("")
        run, address = told
        if address.startswith("memory:"):
            return
        try:
            live = Live(await self._reach(address), run, self._recorded)
            await live.join()
            self._now = live
        except SimArenaError as error:
            self._recorded.note(f"following files alone: {error}")
