"""Finding what earlier runs left: run folders by name, their newest checkpoint, one episode of many.

Run folders live under `runs/` of the working directory unless a path says otherwise. Reads only, but for the empty
folder by which a new run takes its name.
"""

import time
from itertools import count
from pathlib import Path

from simarena.arena.episodes import Episode
from simarena.arena.errors import RunFolderError, UsageError
from simarena.arena.index import Entry
from simarena.arena.record import RunFolder

HOME = Path("runs")


def fresh(name: str, home: Path = HOME) -> Path:
    """An empty folder of its own for a new run of this name, also where two begin in one second.

    Raises RunFolderError if it cannot be made.
    """
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in count(1):
        path = home / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise RunFolderError(
                f"cannot make {path}: {error.strerror}; work where a folder can be made"
            ) from error
        return path
    raise AssertionError("numbers never end")


def folder(name: str) -> Path | None:
    """The folder at this path, or of this name under `runs/`; where a link such as `latest` leads."""
    for path in (Path(name), HOME / name):
        if path.is_dir():
            return path.parent / path.readlink() if path.is_symlink() else path
    return None


def locate(name: str) -> RunFolder:
    """The run folder at this path, or of this name under `runs/`, such as `latest`."""
    path = folder(name)
    if path is None:
        raise UsageError(f"no run folder {name!r}: `simarena list runs` shows those in {HOME}/")
    return RunFolder.open(path)


def known(home: Path = HOME) -> list[RunFolder]:
    """All run folders under `runs/` or another place, oldest first."""
    found = [path.parent for path in home.glob("*/run.json") if not path.parent.is_symlink()]
    return [RunFolder(path) for path in sorted(found, key=lambda path: (path / "run.json").stat().st_mtime)]


def name_of(run: RunFolder) -> str:
    """The shortest name by which `locate` finds this run."""
    latest = HOME / "latest"
    return "latest" if latest.exists() and latest.samefile(run.path) else str(run.path)


def newest_checkpoint(run: RunFolder) -> Path | None:
    """The checkpoint of the highest step; None before the first."""
    return next(reversed(run.checkpoints().values()), None)


def latest_checkpoint() -> Path | None:
    """The newest checkpoint of the latest run under `runs/` that has one."""
    return next((path for run in reversed(known()) if (path := newest_checkpoint(run)) is not None), None)


def newest_batch(run: RunFolder) -> str:
    """The batch written last. Raises UsageError if there is none."""
    names = run.batches()
    if not names:
        raise UsageError(f"{run.path} has recorded no episodes yet")
    return max(names, key=lambda name: (run.path / "episodes" / f"{name}.jsonl").stat().st_mtime)


def sizes(run: RunFolder) -> dict[str, int]:
    """Episodes in each batch, counted without reading them."""
    return {name: (run.path / "episodes" / f"{name}.jsonl").read_bytes().count(b"\n") for name in run.batches()}


def episodes(run: RunFolder, batch: str) -> list[Episode]:
    """The episodes of one batch. Raises UsageError if there is no such batch, RunFolderError if it is damaged."""
    return list(run.episodes(batch))


def find(run: RunFolder, episode: str, batch: str | None = None) -> Episode:
    """The recorded episode of this id, looked for in one batch or all; the newest if several have it."""
    name, entry = place(run, episode, batch)
    return run.episode_at(name, entry.at, entry.size)


def place(run: RunFolder, episode: str, batch: str | None = None) -> tuple[str, Entry]:
    """The batch and the place in it of `find`. Raises UsageError that names the nearest."""
    batches = [batch] if batch is not None else run.batches()
    near: list[str] = []
    for name in reversed(batches):
        for entry in run.listing(name):
            if entry.episode == episode:
                return name, entry
            if episode in entry.episode and len(near) < 3:
                near.append(entry.episode)
    hint = f"did you mean {' or '.join(near)}?" if near else f"`simarena replay {run.path}` lists them"
    raise UsageError(f"no episode {episode!r} in {run.path}: {hint}")
