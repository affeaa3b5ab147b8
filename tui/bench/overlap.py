"""What is gained by conversations that go on while the trainer learns: both ways by turns, in one run.

Blocks of steps that wait and blocks that do not alternate, so that whatever else the machine does meets both. Over
Ray, where trainer and engines are processes of their own.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

from simarena.arena.arena import SimulatorArena
from simarena.arena.record import RunFolder
from simarena.training import recipe_file
from simarena.training.evaluation import engines_of
from simarena.training.events import Event, StepDone
from simarena.training.learners import Learners
from simarena.training.orders import Orders
from simarena.training.run import Run
from simarena.training.starting_point import starting_models
from simarena.training.trackers import Trackers
from simarena.tui.bench.figure import Figure

RECIPE = "service-desk-tiny"
BLOCK = 5
"""Steps one way before the other has its turn; the first and the last of each are not counted, since in them both
ways are at work."""
SETTINGS = ("backend=ray", "evaluation.every=0", "evaluation.deals=1", "checkpoint_every=1000", "keep_every=0")


class Interleaved(Run):
    """A run that is synchronous in every other block of steps."""

    def max_age(self, step: int) -> int:
        return super().max_age(step) if ahead(step) else 0


def ahead(step: int) -> bool:
    """Whether this step (from 0) belongs to a block of conversations that go on meanwhile."""
    return step // BLOCK % 2 == 1


async def measure(pairs: int, max_age: int, emit: Callable[[Event], None]) -> AsyncIterator[Figure]:
    """Seconds per step both ways, their ratio by pair of blocks, and the age of tokens."""
    stale = (f"asynchronous.max_age={max_age}", "loss.correction.how=truncate")
    recipe = recipe_file.load(RECIPE, [f"steps={2 * pairs * BLOCK}", *SETTINGS, *stale])
    models = await starting_models(recipe, emit)
    ends: list[float] = []
    ages: list[float] = []

    def note(event: Event) -> None:
        emit(event)
        if isinstance(event, StepDone):
            ends.append(time.perf_counter())
            ages.append(event.metrics["rollout/age_max"])

    with tempfile.TemporaryDirectory() as place, closing(RunFolder.create(Path(place) / "run")) as folder:
        engines = engines_of(recipe, models)
        async with SimulatorArena("ray", policies=engines, limits=recipe.rollout.limits) as arena:
            learners = Learners.of(recipe, models)
            try:
                run = Interleaved(
                    recipe, folder, arena, learners, Trackers(folder.metric, [], lambda _: None), note
                )
                await run.to_the_end(False, Orders(asyncio.Event(), lambda _: None))
            finally:
                await learners.close()
    for figure in figures(ends, ages):
        yield figure


def figures(ends: list[float], ages: list[float]) -> list[Figure]:
    """From the times at which steps ended, and the age of their oldest tokens."""
    blocks = [_middle(ends, number) for number in range(len(ends) // BLOCK)]
    waiting, going = statistics.fmean(blocks[::2]), statistics.fmean(blocks[1::2])
    ratios = [one / other for one, other in zip(blocks[::2], blocks[1::2], strict=True)]
    told = f"by pair of blocks: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    return [
        Figure("step_synchronous", waiting, "s", f"mean of {len(blocks[::2])} blocks of {RECIPE}"),
        Figure("step_asynchronous", going, "s", f"mean of {len(blocks[1::2])} blocks between them"),
        Figure("overlap_gain", waiting / going, "times as fast", told),
        Figure("age_max", max(ages), "versions", "the oldest token that was trained on"),
    ]


def _middle(ends: list[float], block: int) -> float:
    """Seconds per step of a block without its first and last."""
    first = block * BLOCK
    return (ends[first + BLOCK - 2] - ends[first]) / (BLOCK - 2)
