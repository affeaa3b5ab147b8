"""The run folder: what a run leaves behind, and what it goes on from. The record; the bus is only transport.

    run.json        versions, seeds, the resolved recipe; the results are added at the end
    metrics.jsonl   one line per step
    episodes/       one file per batch, `<batch>.jsonl`, each line one Episode; beside it `<batch>.index`, by which
                    a viewer lists a batch and finds one episode without reading the rest
    credit/         one file per batch that was learned from: how each group was credited (training/accounts.py)
    checkpoints/    step-N/, each complete or absent
    bus.json        while the run goes on: the bus it is on and its name there
    report.html     written by training/report.py

Every file appears whole or not at all (written aside, then renamed), but those that grow by lines, metrics.jsonl
and the batches of a tournament: their torn last line is left out on reading. One writer at a time, held by a
lock the system releases when it dies.
"""

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

from simarena.arena import index
from simarena.arena.bus.redaction import redact
from simarena.arena.episodes import Episode
from simarena.arena.errors import RecordError, RunFolderError, UsageError

_TRIES = 10
"""Times the lock is asked for before somebody else is taken to write."""


class RunFolder:
    """A run folder, open for reading; `create` and `resume` open it for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, path: Path, *, latest: bool = True) -> Self:
        """A new, empty run folder that this process writes, and the `latest` of its place.

        Raises UsageError if a run is there already.
        """
        folder = cls(path)
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            folder._acquire()
        if (path / "run.json").exists():
            folder.close()
            raise UsageError(f"{path} already holds a run: give --resume to go on with it, or another folder")
        with _writing(path):
            (path / "episodes").mkdir(exist_ok=True)
            if latest:
                _point_latest(path)
        return folder

    @classmethod
    def resume(cls, path: Path) -> Self:
        """An existing run folder that this process goes on writing."""
        folder = cls.open(path)
        with _writing(path):
            folder._acquire()
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing run folder, to read."""
        if not (path / "run.json").is_file():
            raise UsageError(f"{path} is not a run folder (no run.json): give the folder that `train` printed")
        return cls(path)

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def written(self) -> bool:
        """Whether some process is writing this folder now."""
        try:
            with (self.path / ".lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    @contextlib.contextmanager
    def on_bus(self, run: str, url: str) -> Iterator[None]:
        """While the block runs, tell viewers where the conversations of this run pass by. Keeps no password."""
        self._whole("bus.json", json.dumps({"run": run, "url": redact(url)}) + "\n")
        try:
            yield
        finally:
            (self.path / "bus.json").unlink(missing_ok=True)

    def bus(self) -> tuple[str, str] | None:
        """(run, URL without its password) of the bus that the run is on; None if it is not on one now."""
        try:
            told = json.loads((self.path / "bus.json").read_text())
            return str(told["run"]), str(told["url"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def describe(self, facts: dict[str, Any]) -> None:
        """Write run.json. Keeps the order: that of a tournament's entrants is their seeding."""
        self._whole("run.json", json.dumps(facts, indent=2) + "\n")

    def facts(self) -> dict[str, Any]:
        try:
            facts = json.loads((self.path / "run.json").read_text())
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(f"cannot read {self.path / 'run.json'}: {error}") from None
        if not isinstance(facts, dict):
            raise RunFolderError(f"{self.path / 'run.json'} is damaged: it holds no JSON object; restore it")
        return facts

    def metric(self, row: dict[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with _writing(self.path), (self.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """All complete lines of metrics.jsonl."""
        path = self.path / "metrics.jsonl"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        try:
            return [json.loads(line) for line in lines]
        except ValueError as error:
            raise RunFolderError(f"{path} is damaged: {error}; restore it or remove the broken line") from None

    def rewind(self, step: int) -> None:
        """Forget metrics after this step: a resume writes them again."""
        rows = [row for row in self.metrics() if row["step"] <= step]
        self._whole("metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def write_episodes(
        self, batch: str, episodes: Iterable[Episode], fates: Mapping[str, str] | None = None
    ) -> None:
        """Write one batch of episodes, replacing an earlier try at the same batch; `fates` by id, for viewers."""
        ordered = sorted(episodes, key=lambda e: e.id)
        lines = [(episode.model_dump_json() + "\n").encode() for episode in ordered]
        self._whole(f"episodes/{batch}.jsonl", b"".join(lines))
        self._whole(f"episodes/{batch}.index", index.write(index.entries(ordered, lines, fates)))

    @contextlib.contextmanager
    def claim(self, kind: str) -> Iterator[str]:
        """The name of a new batch, `<kind>-NNNNNN`, to write in the block. No other process is given it.

        The claim is the file that the batch is written to before it is renamed. One that a kill left behind keeps
        its number out of use.
        """
        for number in itertools.count(1):
            name = f"{kind}-{number:06d}"
            final = self.path / "episodes" / f"{name}.jsonl"
            with _writing(self.path), contextlib.suppress(FileExistsError):
                _aside(final).touch(exist_ok=False)
                if not final.exists():
                    break
                _aside(final).unlink(missing_ok=True)
        try:
            yield name
        finally:
            _aside(final).unlink(missing_ok=True)

    def listing(self, batch: str, beyond: int = 0) -> list[index.Entry]:
        """The episodes of a batch at a glance, in order, or those that stand `beyond` so many bytes of it.

        Reads these bytes only if the batch has no valid index. A last line still being written is left out.
        """
        path = self._batch(batch)
        try:
            text = path.with_suffix(".index").read_bytes()
        except OSError:
            text = b""
        found = index.read(text, path.stat().st_size)
        if found is not None:
            return [entry for entry in found if entry.at >= beyond]
        with path.open("rb") as file:
            file.seek(beyond)
            lines = [line for line in file if line.endswith(b"\n")]
        start = f"{path} from byte {beyond}, line " if beyond else f"{path}:"
        return index.entries((_episode(line, f"{start}{n}") for n, line in enumerate(lines, 1)), lines, at=beyond)

    def episode_at(self, batch: str, at: int, size: int) -> Episode:
        """The episode at this place, which `listing` told."""
        path = self._batch(batch)
        with path.open("rb") as file:
            file.seek(at)
            return _episode(file.read(size), f"{path} at byte {at}")

    def write_credit(self, batch: str, lines: Iterable[str]) -> None:
        """Write how the groups of a batch were credited, one JSON object a line."""
        with _writing(self.path):
            (self.path / "credit").mkdir(exist_ok=True)
        self._whole(f"credit/{batch}.jsonl", "".join(line + "\n" for line in lines))

    def credit(self, batch: str) -> list[bytes]:
        """What `write_credit` was given, in UTF-8; empty for a batch that nobody learned from."""
        path = self.path / "credit" / f"{batch}.jsonl"
        return path.read_bytes().split(b"\n")[:-1] if path.is_file() else []

    def batches(self) -> list[str]:
        found = (path.stem for path in (self.path / "episodes").glob("*.jsonl"))
        return sorted(name for name in found if not name.startswith("."))  # one that a kill left half-written

    def episodes(self, batch: str | None = None) -> Iterator[Episode]:
        """Episodes of one batch, or of all, in order."""
        for name in [batch] if batch is not None else self.batches():
            path = self._batch(name)
            with path.open() as file:
                for number, line in enumerate(file, 1):
                    yield _episode(line, f"{path}:{number}")

    def _batch(self, name: str) -> Path:
        path = self.path / "episodes" / f"{name}.jsonl"
        if not path.is_file():
            raise UsageError(f"no batch {name!r} in {self.path}: it has {', '.join(self.batches()) or 'none'}")
        return path

    @contextlib.contextmanager
    def checkpoint(self, step: int) -> Iterator[Path]:
        """A folder to fill; it becomes `checkpoints/step-N` when the block ends without an error."""
        aside = self.path / "checkpoints" / f".step-{step}"
        final = self.path / "checkpoints" / f"step-{step}"
        with _writing(self.path):
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            try:
                yield aside
                shutil.rmtree(final, ignore_errors=True)
                aside.rename(final)
            finally:
                shutil.rmtree(aside, ignore_errors=True)

    def checkpoints(self) -> dict[int, Path]:
        """Complete checkpoints by step, oldest first."""
        found = {int(path.name[5:]): path for path in (self.path / "checkpoints").glob("step-*")}
        return dict(sorted(found.items()))

    def prune(self, keep: Iterable[int]) -> None:
        """Delete checkpoints of other steps."""
        kept = set(keep)
        for step, path in self.checkpoints().items():
            if step not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _acquire(self) -> None:
        self._lock = (self.path / ".lock").open("w")
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.02)  # a viewer holds it for an instant, to see whether anybody writes
        self.close()
        raise RunFolderError(f"another process is writing {self.path}: wait for it, or use another folder")

    def _whole(self, name: str, content: str | bytes) -> None:
        final = self.path / name
        aside = _aside(final)
        with _writing(self.path):
            aside.write_bytes(content if isinstance(content, bytes) else content.encode())
            aside.replace(final)


def _aside(final: Path) -> Path:
    """Where a file is written before it appears under its name."""
    return final.with_name(f".{final.name}")


def _episode(line: str | bytes, where: str) -> Episode:
    try:
        return Episode.model_validate_json(line)
    except (ValueError, RecordError) as error:
        raise RunFolderError(f"{where} is not an episode: {str(error).splitlines()[0]}") from None


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunFolderError(f"cannot write {error.filename or path}: {error.strerror or error}") from error


def _point_latest(path: Path) -> None:
    """`latest` beside the run folder links to the newest run."""
    path = path.absolute()
    link = path.parent / "latest"
    if link.is_symlink() or not link.exists():
        aside = path.parent / f".latest-{os.getpid()}"
        aside.symlink_to(path.name)
        aside.replace(link)
