"""A viewer pauses, resumes and stops a run over its bus."""

import asyncio
from pathlib import Path

import pytest
from commands import ECHO

from simarena.arena.bus import connect
from simarena.arena.record import RunFolder
from simarena.arena.wire import RunState
from simarena.training.config import Recipe
from simarena.training.events import Event, Note, StepDone
from simarena.training.recipe_file import load
from simarena.training.run import train
from simarena.tui.feed.live import Live

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


async def test_a_viewer_pauses_resumes_and_stops_a_run_that_then_goes_on_as_if_untouched(
    tmp_path: Path,
) -> None:
    """Paused after one step and stopped after another, then resumed: the metrics of the run nobody touched."""
    whole, touched = (RunFolder.create(tmp_path / name) for name in ("whole", "touched"))
    await train(_recipe(), whole, resume=False, emit=lambda event: None, stop=asyncio.Event())
    steps: asyncio.Queue[int] = asyncio.Queue()
    notes: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, StepDone):
            steps.put_nowait(event.step)
        if isinstance(event, Note):
            notes.append(event.text)

    stop = asyncio.Event()
    run = asyncio.create_task(train(_recipe(), touched, resume=False, emit=emit, stop=stop))
    assert await asyncio.wait_for(steps.get(), 120) == 1
    live = await _watching(touched)
    await live.ask("pause")
    await _until(live, "paused")
    at = max([1, *(steps.get_nowait() for _ in range(steps.qsize()))])
    await asyncio.sleep(1.5)
    assert steps.empty(), "a paused run stepped"
    await live.ask("resume")
    assert await asyncio.wait_for(steps.get(), 120) == at + 1
    await live.ask("stop")
    report = await asyncio.wait_for(run, 120)
    await live.close()
    assert report.interrupted
    assert at < report.steps < _recipe().steps
    assert [note for note in notes if "viewer" in note][-1] == "asked by a viewer: stopping"
    touched.close()
    await train(_recipe(), RunFolder.resume(touched.path), resume=True, emit=emit, stop=asyncio.Event())
    assert _learned(touched) == _learned(whole)


def _recipe() -> Recipe:
    return load(str(ECHO), ["steps=12", "evaluation.deals=8", "bus=auto"])


async def _watching(folder: RunFolder) -> Live:
    told = folder.bus()
    assert told is not None
    live = Live(await connect(told[1]), told[0])
    await live.start()
    return live


async def _until(live: Live, state: RunState) -> None:
    async with asyncio.timeout(60):
        while live.status().run != state:
            await asyncio.sleep(0.05)


def _learned(folder: RunFolder) -> list[dict[str, float]]:
    rows = folder.metrics()
    return [{name: value for name, value in row.items() if not name.startswith("time/")} for row in rows]
