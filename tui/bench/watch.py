"""What watching costs: how fast a viewer takes in, how soon it answers a key meanwhile, what it holds, and what
the run loses by being watched.

The app runs headless in this process on a large screen; who writes, and the viewer of a real run, are processes
of their own. Figures of one run hold for the machine and its load: compare within one run.
"""

import asyncio
import signal
import statistics
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

from simarena.arena.arena import SimulatorArena
from simarena.arena.bus import connect
from simarena.arena.bus.server import EmbeddedServer
from simarena.arena.presence import sign_of
from simarena.tui.bench.feeding import RUN
from simarena.tui.bench.figure import Figure, peak_bytes
from simarena.tui.casting import stand_in
from simarena.tui.feed.live import Live
from simarena.tui.feed.source import Source

SIZE = (140, 45)
KEYS = ("j", "j", "j", "k")
PAUSE = 0.1
"""Seconds between two keys."""
KEY_TARGET = 100.0
"""Milliseconds, for 95 of 100 keys."""
SCENARIO = "service-desk"
ROUNDS = 3
"""Times each throughput is taken, in turns."""
Viewer = Literal["none", "reads", "stalls"]
_CALL = "import sys; from simarena.tui.main import main; main(['watch', sys.argv[1], '--display', 'json'])"


async def measure(
    rate: int = 1000, seconds: float = 60.0, conversations: int = 500, played: int = 400
) -> AsyncIterator[Figure]:
    """All figures of watching, one at a time as they are known."""
    server = await EmbeddedServer.start()
    try:
        async for figure in _watching(server.url, rate, seconds, conversations):
            yield figure
        async for figure in _slowdown(server.url, played):
            yield figure
    finally:
        await server.stop()


async def _watching(url: str, rate: int, seconds: float, conversations: int) -> AsyncIterator[Figure]:
    writer = await _python("-m", "simarena.tui.bench.feeding", url, str(rate), str(seconds), str(conversations))
    bus = await connect(url)
    # The writer takes a while to start, and a run without a sign of life would count as lost.
    while await sign_of(bus, RUN) is None:  # noqa: ASYNC110 - a key cannot be waited for
        await asyncio.sleep(PAUSE)
    source = Live(bus, RUN)
    await source.start()
    try:
        before, began, worked = source.status().arrived, time.perf_counter(), time.process_time()
        waits = await _press_keys(source, seconds)
        arrived, passed = source.status().arrived - before, time.perf_counter() - began
        busy = 100 * (time.process_time() - worked) / passed
        written = int((await writer.communicate())[0])
        yield Figure("ingest", arrived / passed, "messages/s", f"written {written / seconds:,.0f} a second")
        waits.sort()
        late = waits[int(0.95 * (len(waits) - 1))]
        against = f"target {KEY_TARGET:g}; {len(waits)} keys, median {statistics.median(waits):.1f}"
        yield Figure("key_p95_ms", late, "ms", against)
        yield Figure("dropped", float(source.status().dropped), "moves", "target 0")
        yield Figure("viewer_cpu", busy, "% of a core", f"{arrived} messages taken in, {len(waits)} keys answered")
        held = f"{len(source.conversations)} conversations, the app and its libraries"
        yield Figure("peak_mb", peak_bytes() / 2**20, "MiB", held)
    finally:
        await source.close()
        with suppress(ProcessLookupError):
            writer.kill()


async def _press_keys(source: Source, seconds: float) -> list[float]:
    """Milliseconds from pressing each key until the app has dealt with it and has drawn what came of it."""
    from simarena.tui.app import WatchApp

    waits: list[float] = []
    app = WatchApp(source)
    async with app.run_test(size=SIZE) as pilot:
        until = time.perf_counter() + seconds
        keys = _forever()
        while time.perf_counter() < until:
            await asyncio.sleep(PAUSE)
            began = time.perf_counter()
            await pilot.press(next(keys))
            waits.append(1000 * (time.perf_counter() - began))
    return waits


def _forever() -> Iterator[str]:
    while True:
        yield from KEYS


async def _slowdown(url: str, played: int) -> AsyncIterator[Figure]:
    """Percent of its turns a second that a run of scripted agents loses while it is watched, and while its viewer
    has stopped reading."""
    rates: dict[Viewer, list[float]] = {"none": [], "reads": [], "stalls": []}
    await _turns(url, max(1, played // 4), "none")
    for _ in range(ROUNDS):
        for viewer, taken in rates.items():
            taken.append(await _turns(url, played, viewer))
    alone = statistics.median(rates["none"])
    for name, viewer in (("run_slowdown", "reads"), ("run_slowdown_stalled", "stalls")):
        taken = rates[viewer]
        told = f"turns/s alone {_listed(rates['none'])}, so {_listed(taken)}"
        yield Figure(name, 100 * (1 - statistics.median(taken) / alone), "% of a run", told)


def _listed(rates: list[float]) -> str:
    return " ".join(f"{rate:,.0f}" for rate in rates)


async def _turns(url: str, played: int, viewer: Viewer) -> float:
    """Turns a second of a run over this server, with a viewer in a process of its own or without."""
    async with SimulatorArena("inproc", bus=url) as arena, _viewer(f"{url}#{arena.run}", viewer):
        began = time.perf_counter()
        playing = arena.play(
            SCENARIO, seats={"assistant": stand_in(SCENARIO)}, deals=range(played), concurrency=200
        )
        turns = sum([len(episode.turns) async for episode in playing])
        return turns / (time.perf_counter() - began)


@asynccontextmanager
async def _viewer(where: str, viewer: Viewer) -> AsyncIterator[None]:
    """`simarena watch` on this run, once it follows."""
    if viewer == "none":
        yield
        return
    process = await _python("-c", _CALL, where)
    assert process.stdout is not None
    await process.stdout.readline()
    if viewer == "stalls":
        process.send_signal(signal.SIGSTOP)
    drain = asyncio.create_task(_drain(process))
    try:
        yield
    finally:
        drain.cancel()
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _drain(process: Process) -> None:
    assert process.stdout is not None
    while await process.stdout.read(1 << 16):
        pass


async def _python(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE, stderr=DEVNULL)
