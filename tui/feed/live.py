"""A live run as a source: follows its bus as a plain reader, and its run folder where this machine has it.

Reads the trimmed pointer stream without a group, so nothing waits for it. Every pointer stands alone: what was
trimmed before it was read is counted as dropped, and rows are right again with their next move. A bus that
goes away is waited for, and so is a run that is silent: on a busy machine it may only be starved. Even one that
was given up is taken up again when it comes back.
"""

import asyncio
import contextlib
import math
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from simarena.arena import wire
from simarena.arena.bus import Bus, Entry
from simarena.arena.bus.redaction import redact
from simarena.arena.episodes import Episode
from simarena.arena.errors import BusError, UnknownName, UsageError
from simarena.arena.post import KEPT_SECONDS
from simarena.arena.presence import CLOSED, sign_of
from simarena.arena.text import one_line
from simarena.tui.feed.conversations import Conversations
from simarena.tui.feed.opened import Opened
from simarena.tui.feed.overheard import Overheard
from simarena.tui.feed.recorded import LOST, Recorded
from simarena.tui.feed.rows import row_of, short
from simarena.tui.feed.status import Connection, Status
from simarena.tui.feed.training_book import TrainingBook
from simarena.tui.feed.why import Why

PAGE = 1000
"""Pointers read at once."""
BITE = 100
"""Pointers taken in before whoever draws and answers keys gets a turn: some milliseconds."""
GATHER = 0.05
"""Seconds between two reads: what came meanwhile is one page. One read a message would cost server and viewer more
than the messages."""
WINDOW = 5.0
"""Seconds over which the rate is taken."""
PAUSE = 0.25
"""Seconds between attempts while the bus is away."""
GONE = 60.0
"""Seconds without a bus, or a sign of life where no run folder tells more: then the run counts as lost."""
RETURNED = 10.0
"""Seconds for which it is said that a run is back."""
ORDERS = 100
"""Newest orders kept."""
OVERHEARD = 2_000
"""Conversations of which what each turn earned is kept."""
LIMIT = 20_000
"""Rows kept of a live run."""


class Live:
    """Holds to `Source`. Closes the bus it was given."""

    def __init__(self, bus: Bus, run: str, recorded: Recorded | None = None) -> None:
        self.conversations = recorded.conversations if recorded is not None else Conversations(LIMIT)
        self.training = recorded.training if recorded is not None else TrainingBook()
        self._bus, self._run, self._recorded = bus, run, recorded
        self._after = "0"
        self._number = 0
        self._overheard: OrderedDict[str, Overheard] = OrderedDict()
        self._doubted: set[str] = set()
        """Conversations that may have ended in what was dropped."""
        self._connection: Connection = "opening"
        self._detail = ""
        self._lag = 0.0
        self._arrived = self._dropped = 0
        self._recent: deque[tuple[float, int]] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._posted = "0"
        """The newest entry of the bulletin that was read."""
        self._state: wire.RunState | None = None
        """Of a training run: whether it goes on."""
        self._sign = 0.0
        """When the run last gave a sign of life, on the clock of the event loop."""
        self._back = 0.0
        """When it came back."""
        self._gone = False
        """It ended, or its process did: nothing more will ever come."""

    @property
    def title(self) -> str:
        if self._recorded is not None:
            return self._recorded.title
        return short(str(self.training.facts.get("name") or self._run))

    @property
    def path(self) -> Path | None:
        return self._recorded.path if self._recorded is not None else None

    @property
    def live(self) -> bool:
        return self._connection not in ("ended", "lost")

    def status(self) -> Status:
        now = time.monotonic()
        while self._recent and self._recent[0][0] < now - WINDOW:
            self._recent.popleft()
        files = self._recorded.status() if self._recorded is not None else None
        return Status(
            where=files.where if files is not None else one_line(f"{redact(self._bus.url)}#{self._run}"),
            connection=self._connection,
            lag=self._lag,
            rate=sum(count for _, count in self._recent) / WINDOW,
            arrived=self._arrived,
            dropped=self._dropped,
            forgotten=self.conversations.forgotten,
            run=self._state if self.live else None,
            detail=self._detail or (files.detail if files is not None else ""),
        )

    async def start(self) -> None:
        if self._recorded is not None:
            await self._recorded.start()
        await self.join()

    async def join(self) -> None:
        """`start`, where the run folder has been started."""
        self._sign = asyncio.get_running_loop().time()
        await self._read_bulletin()
        await self._take_in(await self._bus.read(wire.pointers(self._run), self._after, count=20 * PAGE))
        self._connection = "connected"
        self._tasks = [
            asyncio.create_task(self._follow(), name="pointers"),
            asyncio.create_task(self._attend(), name="presence of the run"),
        ]

    async def open(self, key: str) -> Opened:
        if self._recorded is not None and self._recorded.has(key):
            return await self._recorded.open(key)
        row = self.conversations.get(key)
        if row is None:
            raise UnknownName("conversation", key, [one.key for one in self.conversations])
        told = self._heard(key)
        with contextlib.suppress(BusError):  # then it is shown as far as it is known; `status` tells the rest
            await told.read(self._bus, wire.conversation(self._run, key))
        return told.opened(row)

    def episode(self, key: str) -> Episode:
        if self._recorded is not None and self._recorded.has(key):
            return self._recorded.episode(key)
        if self._recorded is None:
            raise UsageError(f"{one_line(key)} is followed over the bus alone: its record is in the run folder")
        raise UsageError(f"{one_line(key)} is not recorded yet: that comes when its batch is complete")

    async def why(self, key: str, seat: str = "") -> Why:
        if self._recorded is not None and self._recorded.has(key):
            return await self._recorded.why(key, seat)
        row = self.conversations.get(key)
        if row is None:
            raise UnknownName("conversation", key, [one.key for one in self.conversations])
        if self._recorded is None:
            raise UsageError(f"{row.id} is followed over the bus alone: credit is in the run folder, watch that")
        raise UsageError(f"{row.id} has not been credited yet: that comes when its training step is done")

    async def ask(self, asked: wire.Asked) -> None:
        if self._state is None or not self.live:
            raise UsageError("only a training run that goes on can be asked to pause or stop")
        order = wire.Order(ask=asked)
        await self._bus.push(wire.orders(self._run), order.model_dump_json().encode(), keep=ORDERS)
        await self._bus.expire([wire.orders(self._run)], KEPT_SECONDS)

    def look_again(self) -> None:
        if self._recorded is not None:
            self._recorded.look_again()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._recorded is not None:
            await self._recorded.close()
        await self._bus.close()

    async def _follow(self) -> None:
        while not self._gone:
            try:
                entries = await self._bus.read(wire.pointers(self._run), self._after, count=PAGE, block=1.0)
            except BusError as error:
                self._away(error)
                await asyncio.sleep(PAUSE if self.live else 20 * PAUSE)
                continue
            if self._connection == "reconnecting":
                self._connection, self._detail = "connected", ""
            await self._take_in(entries)
            if len(entries) < PAGE:
                await asyncio.sleep(GATHER)

    def _away(self, error: BusError) -> None:
        if self.live:
            self._connection, self._detail = "reconnecting", one_line(str(error))

    async def _take_in(self, entries: Sequence[Entry]) -> None:
        """Take in pointers, oldest first; a key that was pressed meanwhile is answered before the next bite."""
        for start in range(0, len(entries), BITE):
            self._take(entries[start : start + BITE])
            await asyncio.sleep(0)

    def _take(self, entries: Sequence[Entry]) -> None:
        newest = 0.0
        for entry in entries:
            try:
                pointer = wire.Pointer.model_validate_json(entry.payload)
            except ValidationError:  # a stranger may write here too
                continue
            self._count(pointer.number)
            newest = max(newest, pointer.updated)
            if self._recorded is None or not self._recorded.has(pointer.episode):
                self.conversations.put(row_of(pointer))
            self._heard(pointer.episode).take(pointer)
            self._doubted.discard(pointer.episode)
        self._after = entries[-1].id
        self._arrived += len(entries)
        self._recent.append((time.monotonic(), len(entries)))
        self._lag = max(0.0, time.time() - newest) if newest else self._lag

    def _count(self, number: int) -> None:
        """Count what was trimmed before it was read."""
        missed = number - self._number - 1
        if self._number and missed > 0:
            self._dropped += missed
            self._doubted |= {row.key for row in self.conversations if row.state == "running"}
        self._number = 1 if number == 1 else max(number, self._number)

    def _heard(self, key: str) -> Overheard:
        """What was overheard of a conversation; the least recently used is given up when there are too many."""
        told = self._overheard.setdefault(key, Overheard())
        self._overheard.move_to_end(key)
        if len(self._overheard) > OVERHEARD:
            self._overheard.popitem(last=False)
        return told

    async def _attend(self) -> None:
        """Notice when the run is over, silent, back or gone, and which conversations went with it."""
        while not self._gone:
            await asyncio.sleep(1.0)
            try:
                sign = await sign_of(self._bus, self._run)
                await self._settle_doubts()
                await self._read_bulletin()
            except BusError as error:
                self._away(error)
                if self._recorded is not None and not self._recorded.live:
                    self._over(self._recorded.status().connection, for_good=True)
                elif self.live and asyncio.get_running_loop().time() - self._sign > GONE:
                    self._over("lost")
                continue
            if sign == CLOSED:
                await self._take_in(await self._rest())
                self._over("ended", for_good=True)
            elif sign is None:
                await self._miss()
            else:
                self._hear()

    def _hear(self) -> None:
        """There was a sign of life."""
        now = asyncio.get_running_loop().time()
        if self._connection in ("silent", "lost"):
            self._connection, self._back = "connected", now
            self._detail = f"the run is back after {now - self._sign:.0f} s without a sign of life"
        elif self._back and now - self._back > RETURNED and self._connection == "connected":
            self._back, self._detail = 0.0, ""
        self._sign = now

    async def _miss(self) -> None:
        """There was none. The lock of its run folder tells whether its process lives; else only time tells."""
        quiet = asyncio.get_running_loop().time() - self._sign
        dead = self._recorded is not None and not self._recorded.folder.written
        if not self.live:
            return
        if dead or quiet > GONE:
            await self._take_in(await self._rest())
            self._over("lost", for_good=dead)
        else:
            self._connection = "silent"
            self._detail = f"no sign of life for {quiet:.0f} s: a starved run comes back by itself"

    async def _rest(self) -> list[Entry]:
        """Pointers written before the run closed and not read yet."""
        with contextlib.suppress(BusError):
            return await self._bus.read(wire.pointers(self._run), self._after, count=20 * PAGE)
        return []

    def _over(self, how: Connection, *, for_good: bool = False) -> None:
        self.look_again()
        self._connection, self._gone = how, for_good
        self._detail = LOST if how == "lost" else ""
        for row in [row for row in self.conversations if row.state == "running"]:
            self.conversations.lose(row.key)

    async def _read_bulletin(self) -> None:
        """What the run tells of its state and, where its folder is not here, of its training. Raises BusError."""
        while entries := await self._bus.read(wire.bulletin(self._run), self._posted, count=PAGE):
            for entry in entries:
                with contextlib.suppress(ValueError):  # a stranger may write here too
                    self._hear_of_training(wire.Bulletin.model_validate_json(entry.payload))
            self._posted = entries[-1].id

    def _hear_of_training(self, told: wire.Bulletin) -> None:
        self._state = told.state or self._state or "running"
        if self._recorded is not None:
            return
        if told.facts is not None:
            self.training.describe(told.facts)
        if told.row is not None and math.isfinite(told.row.get("step", math.nan)):
            self.training.take(told.row)

    async def _settle_doubts(self) -> None:
        """Rows whose last move may have been dropped: once their stream is forgotten they have ended."""
        old = time.time() - KEPT_SECONDS
        rows = (self.conversations.get(key) for key in sorted(self._doubted))
        for row in [row for row in rows if row is not None and row.updated < old][:50]:
            if await self._bus.last_id(wire.conversation(self._run, row.key)) == "0":
                self.conversations.lose(row.key)
                self._doubted.discard(row.key)
