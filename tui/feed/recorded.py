"""A recorded run as a source: its folder's files and nothing else, read by their index, followed while they grow.

Needs no server, no Ray and no torch. Opens a large run without reading its conversations: those that are
looked at are read from their place in the file.
"""

import asyncio
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simarena.arena.episodes import Episode
from simarena.arena.errors import RunFolderError, SimArenaError, UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.arena.text import one_line
from simarena.arena.wire import Asked
from simarena.training import accounts
from simarena.training.accounts import Account
from simarena.tui.feed.conversations import Conversations
from simarena.tui.feed.opened import Opened, opened_of
from simarena.tui.feed.rows import row_of, short
from simarena.tui.feed.status import Connection, Status
from simarena.tui.feed.training_book import TrainingBook
from simarena.tui.feed.why import Why
from simarena.tui.feed.why_told import why_of

PATIENCE = 0.7
"""Seconds that opening may take before what is left is read in the background."""
PERIOD = 0.5
"""Seconds between looks at a folder that is being written."""
LOST = "its process is gone without a word; if it trained, `simarena train --resume --out RUN` goes on"
KEPT_ACCOUNTS = 4
"""Batches whose credit is kept in memory."""


class _Place(NamedTuple):
    """Where an episode stands."""

    batch: str
    at: int
    size: int


class Recorded:
    """Holds to `Source`. Stores can be shared with a source that follows the same run's bus."""

    def __init__(
        self,
        folder: RunFolder,
        conversations: Conversations | None = None,
        training: TrainingBook | None = None,
    ) -> None:
        self.folder = folder
        self.conversations = Conversations() if conversations is None else conversations
        self.training = TrainingBook() if training is None else training
        self._places: dict[str, _Place] = {}
        self._batches: dict[str, tuple[int, int, int]] = {}
        """Inode, size and time of each batch's file when it was read."""
        self._ends: dict[str, int] = {}
        """Bytes of each batch's file that were taken in; a batch may grow."""
        self._accounts: dict[str, list[Account]] = {}
        self._metrics = (0, 0)
        """Inode and offset up to which the metrics were read."""
        self._described = 0
        self._arrived = 0
        self._late: list[str] = []
        """Batches still to be read, the newest last."""
        self._going_on = False
        self._was_followed = False
        self._unread: dict[str, str] = {}
        """Batches that could not be read, and why."""
        self._trouble = ""
        self._note = ""
        self._following: asyncio.Task[None] | None = None

    @property
    def title(self) -> str:
        return short(str(self.training.facts.get("name") or self.folder.path.name))

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def live(self) -> bool:
        return self._going_on

    def status(self) -> Status:
        return Status(
            where=one_line(str(self.folder.path)),
            connection=self._connection(),
            arrived=self._arrived,
            forgotten=self.conversations.forgotten,
            detail=self._detail(),
        )

    def _detail(self) -> str:
        late = f"reading {len(self._late)} more batches" if self._late else ""
        gone = LOST if self._connection() == "lost" else ""
        return self._trouble or next(iter(self._unread.values()), "") or gone or late or self._note

    def _connection(self) -> Connection:
        if self._late:
            return "opening"
        if self._going_on:
            return "following"
        if not self._was_followed:
            return "recorded"
        facts = self.training.facts
        return (
            "lost" if "recipe" in facts and "after" not in facts else "ended"
        )  # its last act is to say how it went

    def note(self, text: str) -> None:
        """Something that a person who looks at the status should know."""
        self._note = one_line(text)

    async def start(self) -> None:
        """Newest batches first, and only so many that a person need not wait: the rest comes in the background."""
        self._going_on = self._was_followed = self.folder.written
        self._read_facts()
        self._read_metrics()
        self._late, until = self._new_batches(), time.monotonic() + PATIENCE
        while self._late and time.monotonic() < until:
            self._read_batch(self._late.pop())
        if self._going_on or self._late:
            self._following = asyncio.create_task(self._follow(), name="run folder")

    async def open(self, key: str) -> Opened:
        row = self.conversations.get(key)
        if row is None or key not in self._places:
            raise UnknownName("conversation", key, self._places)
        return opened_of(self.episode(key), row, self._advantages(key))

    async def why(self, key: str, seat: str = "") -> Why:
        if key not in self._places:
            raise UnknownName("conversation", key, self._places)
        batch = self._places[key].batch
        return why_of(self.episode(key), seat, self._accounts_of(batch), self.folder, self.episode)

    def has(self, key: str) -> bool:
        """Whether this conversation is in the folder."""
        return key in self._places

    def episode(self, key: str) -> Episode:
        """A recorded episode, whole. Raises RunFolderError if its file changed since it was listed."""
        place = self._places.get(key)
        if place is None:
            raise UnknownName("conversation", key, self._places)
        found = self.folder.episode_at(place.batch, place.at, place.size)
        if found.id != key:
            raise RunFolderError(f"batch {place.batch!r} of {self.folder.path} has changed: open the run again")
        return found

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self) -> None:
        while self._late:
            self._read_batch(self._late.pop())
            await asyncio.sleep(0)
        while self._going_on:
            await asyncio.sleep(PERIOD)
            going_on = self.folder.written  # before looking: what was written last must still be read
            self.look_again()
            self._going_on = going_on

    async def ask(self, asked: Asked) -> None:
        raise UsageError("a run is asked over its bus, and none can be reached here")

    def look_again(self) -> None:
        """Take in what is new in the folder; what cannot be read now is told by `status` and tried again."""
        trouble: list[str] = []
        for read in (self._read_facts, self._read_metrics, self._read_batches):
            try:
                read()
            except (SimArenaError, OSError) as error:
                trouble.append(one_line(str(error)))
        self._trouble = next(iter(trouble), "")

    def _read_batches(self) -> None:
        for batch in self._new_batches():
            self._read_batch(batch)

    def _read_facts(self) -> None:
        written = (self.folder.path / "run.json").stat().st_mtime_ns
        if written == self._described:
            return
        try:
            self.training.describe(self.folder.facts())
        except ValueError as error:
            raise RunFolderError(f"{self.folder.path / 'run.json'} is damaged: {error}; restore it") from None
        self._described = written

    def _read_metrics(self) -> None:
        path = self.folder.path / "metrics.jsonl"
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return
        with file:
            about = os.fstat(file.fileno())
            inode, offset = self._metrics
            if inode != about.st_ino or offset > about.st_size:
                offset = 0
                if inode:
                    self.training.rewind()
            file.seek(offset)
            lines = file.read().rpartition(b"\n")[0]  # a torn last line is read when it is whole
        if lines:
            offset += len(lines) + 1
            rows = [row for row in map(_metric, lines.split(b"\n")) if row]
            for row in rows:
                if not math.isfinite(row["step"]):
                    raise RunFolderError(
                        f"{path} is damaged: a step is {row['step']}, not a finite number; restore it"
                    )
            self.training.extend(rows)
        self._metrics = (about.st_ino, offset)

    def _new_batches(self) -> list[str]:
        """Batches that were not read in their present state, oldest first."""
        fresh: list[tuple[int, str, tuple[int, int, int]]] = []
        folder = self.folder.path / "episodes"
        if not folder.is_dir():
            raise RunFolderError(f"{self.folder.path} is damaged: it has no episodes/ folder; restore it")
        with os.scandir(folder) as files:
            for file in files:
                if file.name.endswith(".jsonl") and not file.name.startswith("."):
                    about, name = file.stat(), file.name.removesuffix(".jsonl")
                    state = (about.st_ino, about.st_size, about.st_mtime_ns)
                    if self._batches.get(name) != state:
                        fresh.append((about.st_mtime_ns, name, state))
        for _, name, state in sorted(fresh):
            if self._batches.get(name, state)[0] != state[0] or self._ends.get(name, 0) > state[1]:
                self._ends.pop(name, None)  # another file: it was replaced, it did not grow
            self._batches[name] = state
        return [name for _, name, _ in sorted(fresh)]

    def _read_batch(self, batch: str) -> None:
        self._accounts.pop(batch, None)
        try:
            listing = self.folder.listing(batch, self._ends.get(batch, 0))
            self._unread.pop(batch, None)
        except (SimArenaError, OSError) as error:
            self._unread[batch] = one_line(str(error))
            del self._batches[batch]
            self._ends.pop(batch, None)
            return
        for entry in listing:
            self._places[entry.episode] = _Place(batch, entry.at, entry.size)
            self._ends[batch] = entry.at + entry.size
            self.conversations.put(row_of(entry, batch=batch, credited=short(entry.fate)))
            self._arrived += entry.turn

    def _accounts_of(self, batch: str) -> list[Account]:
        """How a batch was credited; the last few that were asked for are kept."""
        if batch not in self._accounts:
            while len(self._accounts) >= KEPT_ACCOUNTS:
                del self._accounts[next(iter(self._accounts))]
            self._accounts[batch] = accounts.read(self.folder, batch)
        return self._accounts[batch]

    def _advantages(self, key: str) -> Mapping[str, Sequence[float]]:
        found = self._accounts_of(self._places[key].batch)
        return {one.seat: [turn.advantage for turn in one.of(key)] for one in found if key in one.members}


def _metric(line: bytes) -> dict[str, Any]:
    """One row of metrics; empty for a line that is none."""
    try:
        row = json.loads(line, parse_int=float)  # a whole number may be too large for a float: then it is inf
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) and isinstance(row.get("step"), int | float) else {}
