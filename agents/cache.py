"""The cache folder: where things that are made once on this machine are kept.

Every entry is a folder that appears whole or not at all, so a killed build leaves nothing half-made and
two processes may build at once. Knows nothing of what is built.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from simarena.arena.errors import UsageError


def home() -> Path:
    """`$SIMARENA_HOME`, or `~/.cache/simarena`."""
    chosen = os.environ.get("SIMARENA_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "simarena"


def once(name: str, build: Callable[[Path], object]) -> Path:
    """The cached folder of this name; `build` fills an empty folder when there is none yet.

    `name` should hold a hash of everything the content depends on. Raises UsageError if the cache
    cannot be written.
    """
    entry = home() / name
    if entry.is_dir():
        return entry
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    except OSError as error:
        raise UsageError(
            f"cannot write the cache {str(entry.parent)!r} ({error.strerror}): set SIMARENA_HOME to another folder"
        ) from None
    try:
        build(draft)
        _publish(draft, entry)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return entry


def _publish(draft: Path, entry: Path) -> None:
    draft.chmod(0o755)
    try:
        draft.rename(entry)
    except OSError:
        if not entry.is_dir():  # otherwise another process finished the same build first
            raise
