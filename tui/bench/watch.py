"""What watching costs: how fast a viewer takes in, how soon it answers a key meanwhile, what it holds, and what
the run loses by being watched.

The app runs headless in this process on a large screen; who writes is a process of its own. A key counts as
answered when the frame that shows its effect has been drawn. Figures of one run hold for the machine and its
load: beside each stands how long this process waited for a core that others had.
"""

import asyncio
import statistics
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import cycle

from textual import events

from simarena.arena.bus import connect
from simarena.arena.bus.server import EmbeddedServer
from simarena.arena.presence import sign_of
from simarena.tui.app import WatchApp
from simarena.tui.bench import slowdown
from simarena.tui.bench.feeding import RUN
from simarena.tui.bench.figure import Figure, peak_bytes
from simarena.tui.bench.processor import Share
from simarena.tui.feed.live import Live
from simarena.tui.feed.source import Source
from simarena.tui.widgets.listing import Listing
from simarena.tui.widgets.sheet import Sheet

SIZE = (140, 45)
KEYS = ("j", "j", "j", "k")
PAUSE = 0.1
"""Seconds between two keys."""
KEY_TARGET = 100.0
"""Milliseconds, for 95 of 100 keys."""
LATE = 10.0
"""Seconds to wait for an answer to a key, and in the end for what was written and not taken in yet."""


async def measure(
    rate: int = 1000, seconds: float = 60.0, conversations: int = 500, played: int = 400
) -> AsyncIterator[Figure]:
    """All figures of watching, one at a time as they are known."""
    server = await EmbeddedServer.start()
    try:
        async for figure in _watching(server.url, rate, seconds, conversations):
            yield figure
        async for figure in slowdown.measure(server.url, played):
            yield figure
    finally:
        await server.stop()


async def _watching(url: str, rate: int, seconds: float, conversations: int) -> AsyncIterator[Figure]:
    writer = await _writer(url, rate, seconds, conversations)
    bus = await connect(url)
    while await sign_of(bus, RUN) is None:  # noqa: ASYNC110 - a key cannot be waited for
        await asyncio.sleep(PAUSE)
    source = Live(bus, RUN)
    await source.start()
    assert writer.stdin is not None
    assert writer.stdout is not None
    try:
        app = Watched(source)
        async with app.run_test(size=SIZE):
            await asyncio.sleep(PAUSE)
            before = Share.now()
            writer.stdin.write(b"begin\n")
            keys = await _press_keys(app, seconds)
            written = int(await writer.stdout.readline())
            taken = await _caught_up(source, written, before)
        for figure in _figures(source, written, keys, taken, seconds):
            yield figure
    finally:
        await source.close()
        with suppress(ProcessLookupError):
            writer.kill()


def _figures(source: Live, written: int, keys: list[Share], taken: Share, seconds: float) -> "list[Figure]":
    """`taken`: from the first message written to the last one taken in."""
    arrived = source.status().arrived
    starved = f"waited {100 * taken.waited / taken.passed:.0f} % of the time for a core"
    told = f"written {written / seconds:,.0f} a second; {starved}"
    late, own = (
        _p95([1000 * wait for wait in waits]) for waits in ([k.passed for k in keys], [k.own for k in keys])
    )
    middle = 1000 * statistics.median(key.passed for key in keys)
    key_told = (
        f"target {KEY_TARGET:g}; {len(keys)} keys, median {middle:.1f}, p95 {own:.1f} without waiting for a core"
    )
    held = f"{len(source.conversations)} conversations, the app and its libraries"
    cost = f"{1e6 * taken.worked / max(1, arrived):,.0f} µs a message, screen and {len(keys)} keys included"
    return [
        Figure("ingest", arrived / taken.passed, "messages/s", told),
        Figure("key_p95_ms", late, "ms", key_told),
        Figure("dropped", float(source.status().dropped), "moves", "target 0"),
        Figure("viewer_cpu", 100 * taken.worked / taken.passed, "% of a core", cost),
        Figure("peak_mb", peak_bytes() / 2**20, "MiB", held),
    ]


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


async def _caught_up(source: Source, written: int, before: Share) -> Share:
    """From `before` to when all that was written has been taken in."""
    until = time.perf_counter() + LATE
    while source.status().arrived < written and time.perf_counter() < until:  # noqa: ASYNC110 - nothing to wait on
        await asyncio.sleep(PAUSE / 10)
    return Share.now() - before


class Watched(WatchApp):
    """The app, and when it has drawn what a key did."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.drawn = asyncio.Event()

    @property
    def at_last(self) -> bool:
        """Whether a key down can do nothing: the conversation under the cursor has sunk to the end of the list."""
        listing = self.screen.query_one(Listing)
        return listing.cursor >= listing.items() - 1

    def on_sheet_moved(self, event: Sheet.Moved) -> None:
        if isinstance(event.sheet, Listing):
            self.screen.call_after_refresh(self.drawn.set)


async def _press_keys(app: Watched, seconds: float) -> list[Share]:
    """For each key, what it took from its arrival until the frame with its effect was drawn."""
    answers: list[Share] = []
    until = time.perf_counter() + seconds
    for usual in cycle(KEYS):
        if time.perf_counter() >= until:
            return answers
        await asyncio.sleep(PAUSE)
        app.drawn.clear()
        key = "k" if app.at_last else usual
        before = Share.now()
        app.post_message(events.Key(key, key))
        with suppress(TimeoutError):
            await asyncio.wait_for(app.drawn.wait(), LATE)
        answers.append(Share.now() - before)
    raise AssertionError("the keys never end")


async def _writer(url: str, rate: int, seconds: float, conversations: int) -> Process:
    called = ("-m", "simarena.tui.bench.feeding", url, str(rate), str(seconds), str(conversations))
    return await asyncio.create_subprocess_exec(sys.executable, *called, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
