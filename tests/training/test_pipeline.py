"""The pipeline: how early a lesson may begin, in which order lessons come, and what happens to one that fails."""

import asyncio
import random

import pytest

from simarena.arena.errors import UsageError
from simarena.arena.ledger import Ledger
from simarena.training import recipe_file
from simarena.training.lesson import Lesson
from simarena.training.pipeline import Pipeline

ECHO = {"name": "echo", "scenario": {"name": "toys:Echo"}, "seats": {"pupil": "learner"}}
RECIPE = recipe_file.parse(ECHO)


class Clockwork:
    """A trainer and a player whose work takes made-up time; notes what was begun at which version."""

    def __init__(self, max_age: int, steps: int, seed: int = 0) -> None:
        self.chance, self.steps = random.Random(seed), steps
        self.version = 0
        self.begun: list[tuple[int, int]] = []
        self.playing_while_learning = 0
        self._playing = 0
        self._max_age = max_age

    async def play(self, step: int) -> Lesson:
        self.begun.append((step, self.version))
        self._playing += 1
        await asyncio.sleep(self.chance.random() / 500)
        self._playing -= 1
        return Lesson(RECIPE, step, Ledger())

    async def run(self) -> list[int]:
        pipeline = Pipeline(self.play, 0, self.steps, lambda step: self._max_age)
        learned = []
        while self.version < self.steps:
            pipeline.published(self.version)
            learned.append((await pipeline.next()).step)
            await asyncio.sleep(self.chance.random() / 500)
            self.playing_while_learning += self._playing
            self.version += 1
        await pipeline.close()
        return learned


@pytest.mark.parametrize("max_age", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
async def test_no_lesson_begins_too_early_and_each_is_learned_once_in_order(max_age: int, seed: int) -> None:
    work = Clockwork(max_age, steps=12, seed=seed)
    assert await work.run() == list(range(12))
    assert [step for step, _ in work.begun] == list(range(12))
    ages = [step - version for step, version in work.begun]
    assert max(ages) <= max_age
    assert min(ages) >= 0
    assert bool(work.playing_while_learning) == bool(max_age)


async def test_a_slow_trainer_is_waited_for_at_the_bound() -> None:
    """All that may be played ahead is played, and nothing more, until the next version is there."""
    begun: list[int] = []

    async def play(step: int) -> Lesson:
        begun.append(step)
        return Lesson(RECIPE, step, Ledger())

    pipeline = Pipeline(play, 4, 100, lambda step: 2)
    await asyncio.sleep(0.01)
    assert begun == [4, 5, 6]
    pipeline.published(5)
    await asyncio.sleep(0.01)
    assert begun == [4, 5, 6, 7]
    await pipeline.close()


async def test_what_playing_raises_comes_out_where_the_lesson_would() -> None:
    async def play(step: int) -> Lesson:
        if step == 1:
            raise UsageError("out of coffee")
        return Lesson(RECIPE, step, Ledger())

    pipeline = Pipeline(play, 0, 3, lambda step: 3)
    assert (await pipeline.next()).step == 0
    with pytest.raises(UsageError, match="out of coffee"):
        await pipeline.next()
    await pipeline.close()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, 'set loss.correction.how to "truncate"'),
        (
            {
                "loss": {"correction": {"how": "mask", "high": 5.0}},
                "phases": [{"steps": 2, "loss": {"kind": "reinforce"}, "credit": {"rule": "raft"}}],
            },
            "need a correction",
        ),
    ],
)
def test_stale_tokens_need_a_correction(more: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        recipe_file.parse({**ECHO, "asynchronous": {"max_age": 1}, **more})
    corrected = {"loss": {"correction": {"how": "truncate"}}}
    assert recipe_file.parse({**ECHO, "asynchronous": {"max_age": 1}, **corrected}).asynchronous.max_age == 1
