"""What a run loses by being watched: its turns a second alone, with a viewer that reads, and with one that has
stopped reading.

A run of scripted agents over the server, in this process; the viewer is `simarena watch` in one of its own. The
three take turns, so that what else the machine does falls on all of them alike.
"""

import asyncio
import signal
import statistics
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from simarena.arena.arena import SimulatorArena
from simarena.tui.bench.figure import Figure
from simarena.tui.bench.processor import Share
from simarena.tui.casting import stand_in

SCENARIO = "service-desk"
ROUNDS = 9
"""Times each is taken."""
Viewer = Literal["none", "reads", "stalls"]
VIEWERS: tuple[Viewer, ...] = ("none", "reads", "stalls")
_CALL = "import sys; from simarena.tui.main import main; main(['watch', sys.argv[1], '--display', 'json'])"


@dataclass(frozen=True, slots=True)
class _Played:
    """One playing of the run."""

    turns: int
    share: Share

    @property
    def rate(self) -> float:
        """Turns a second."""
        return self.turns / self.share.passed

    @property
    def own_rate(self) -> float:
        """Turns a second, had a core always been free."""
        return self.turns / max(1e-9, self.share.own)


async def measure(url: str, played: int) -> AsyncIterator[Figure]:
    """Percent of its turns a second that the run loses."""
    taken: dict[Viewer, list[_Played]] = {viewer: [] for viewer in VIEWERS}
    await _play(url, max(1, played // 4), "none")
    for number in range(ROUNDS):
        first = number % len(VIEWERS)
        for viewer in VIEWERS[first:] + VIEWERS[:first]:
            taken[viewer].append(await _play(url, played, viewer))
    for name, viewer in (("run_slowdown", "reads"), ("run_slowdown_stalled", "stalls")):
        yield _figure(name, taken["none"], taken[viewer])


def _figure(name: str, alone: list[_Played], watched: list[_Played]) -> Figure:
    lost = _lost([one.rate for one in alone], [one.rate for one in watched])
    own = _lost([one.own_rate for one in alone], [one.own_rate for one in watched])
    told = f"turns/s alone {_listed(alone)}, so {_listed(watched)}; {own:.1f} % without waiting for a core"
    return Figure(name, lost, "% of a run", told)


def _lost(alone: list[float], watched: list[float]) -> float:
    """The median over the rounds: neighbours in time are compared."""
    return 100 * statistics.median(1 - two / one for one, two in zip(alone, watched, strict=True))


def _listed(played: list[_Played]) -> str:
    return " ".join(f"{one.rate:,.0f}" for one in played)


async def _play(url: str, played: int, viewer: Viewer) -> _Played:
    """A run over this server, with a viewer or without."""
    async with SimulatorArena("inproc", bus=url) as arena, _viewer(f"{url}#{arena.run}", viewer):
        before = Share.now()
        playing = arena.play(
            SCENARIO, seats={"assistant": stand_in(SCENARIO)}, deals=range(played), concurrency=200
        )
        turns = sum([len(episode.turns) async for episode in playing])
        return _Played(turns, Share.now() - before)


@asynccontextmanager
async def _viewer(where: str, viewer: Viewer) -> AsyncIterator[None]:
    """`simarena watch` on this run, once it follows."""
    if viewer == "none":
        yield
        return
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _CALL, where, stdout=PIPE, stderr=DEVNULL)
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
