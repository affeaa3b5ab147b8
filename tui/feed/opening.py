"""Opening: which source a person means by a run's name, its folder, or the address of a bus."""

import os
from pathlib import Path

from simarena.arena.bus import Bus, connect
from simarena.arena.bus.redaction import redact
from simarena.arena.errors import BusError, RunFolderError, SimArenaError, UsageError
from simarena.arena.presence import going_on, sign_of
from simarena.arena.record import RunFolder
from simarena.arena.text import one_line
from simarena.tui import runs
from simarena.tui.feed.arriving import Arriving
from simarena.tui.feed.live import Live
from simarena.tui.feed.recorded import Recorded
from simarena.tui.feed.source import Source

SERVER = "SIMARENA_REDIS_URL"


async def started(where: str) -> Source:
    """The source for this run, started. `where` is a run folder or its name, or a bus URL, `#RUN` after it for one
    of several runs. A run that goes on is followed over its bus where that can be reached, else by its files.

    Raises UsageError with what is wrong and what to do.
    """
    try:
        source = await (_on_bus(where) if "://" in where else _in_folder(where))
        try:
            await source.start()
        except BaseException:
            await source.close()
            raise
    except (BusError, RunFolderError, OSError) as error:
        raise UsageError(one_line(str(error))) from None
    return source


async def _in_folder(name: str) -> Source:
    folder = _locate(name)
    if not folder.written:
        return Recorded(folder)
    told = folder.bus()
    if told is None:
        return Arriving(folder, _reach)
    recorded, (run, shown) = Recorded(folder), told
    if shown.startswith("memory:"):
        return recorded
    try:
        return Live(await _reach(shown), run, recorded)
    except SimArenaError as error:
        recorded.note(f"following files alone: {error}")
        return recorded


async def _reach(shown: str) -> Bus:
    """The bus at an address as a run folder tells it."""
    return await connect(_with_password(shown))


def _locate(name: str) -> RunFolder:
    """The run folder of this name; `latest` where there is none says how to get one."""
    try:
        if name == "latest" and runs.folder(name) is None:
            raise UsageError(f"no run in {runs.HOME}/ yet: start one with `simarena train`, or name a run folder")
        if runs.folder(name) is None and Path(name).is_file():
            raise UsageError(f"{one_line(name)} is a file: give the run folder")
        return runs.locate(name)
    except OSError as error:
        raise UsageError(f"no run folder {one_line(name, 60)!r}: {error.strerror}") from None


def _with_password(shown: str) -> str:
    """The address to use: a folder keeps none with a password, so that comes from the environment."""
    given = os.environ.get(SERVER, "")
    if redact(given) == shown and given:
        return given
    if "***" in shown:
        raise UsageError(f"the run is on {shown}, which needs a password: set {SERVER} to its URL")
    return shown


async def _on_bus(where: str) -> Source:
    url, _, run = where.partition("#")
    if url.startswith("memory:"):
        raise UsageError("memory:// is private to its process: name the run folder instead")
    bus = await connect(url)
    try:
        return Live(bus, await _which(bus, run))
    except BaseException:
        await bus.close()
        raise


async def _which(bus: Bus, run: str) -> str:
    """The run to follow: the one asked for, else the only or newest that goes on."""
    where = redact(bus.url)
    living = [told.run for told in await going_on(bus)]
    if run:
        if run not in living and await sign_of(bus, run) is None:
            hint = f"it has {', '.join(living)}" if living else "no run goes on there"
            raise UsageError(f"no run {run!r} on {where}: {hint}")
        return run
    if not living:
        raise UsageError(f"no run goes on at {where}: start one there, or watch a run folder")
    return living[0]
