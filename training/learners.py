"""The learners of a run: every policy's trainer under its name, as the run loop calls them together.

With one learner its files and metrics have no name; with several each has a folder and a prefix of its own. Knows
no rollout and no weights.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simarena.arena.arena import SimulatorArena
from simarena.arena.together import together
from simarena.training.config import Recipe
from simarena.training.exact import Question
from simarena.training.samples import Sample
from simarena.training.seating import home_of, named
from simarena.training.trainer import LocalTrainer, RayTrainer, TrainerDoor


class Learners:
    """Trainers by learner."""

    def __init__(self, trainers: Mapping[str, TrainerDoor]) -> None:
        self._trainers = dict(sorted(trainers.items()))

    @classmethod
    def of(cls, recipe: Recipe, models: Mapping[str, Path]) -> "Learners":
        """A trainer for each learner of the recipe, here or as Ray actors; `models` are what they begin with."""
        door: type[LocalTrainer] | type[RayTrainer] = RayTrainer if recipe.backend == "ray" else LocalTrainer
        roster = recipe.roster.items()
        return cls(
            {name: door(models[name], one, recipe.seed, recipe.threads, recipe.ranks) for name, one in roster}
        )

    async def update(self, batches: Mapping[str, Sequence[Sample]]) -> dict[str, float]:
        """One step of every learner, each on its own samples; their metrics."""
        metrics = await together(one.update(batches[name]) for name, one in self._trainers.items())
        return named(dict(zip(self._trainers, metrics, strict=True)))

    async def values(
        self, name: str, batch: Sequence[Sample], hints: Mapping[str, str]
    ) -> Mapping[str, Sequence[float]]:
        """What this learner's critic expects, by sample."""
        return await self._trainers[name].values(batch, hints)

    async def mutual(self, batches: Mapping[str, Sequence[Sample]], count: int) -> dict[str, float]:
        """What each learner's replies tell about their input, on `count` of its samples."""
        return named({name: await one.mutual(batches[name], count) for name, one in self._trainers.items()})

    async def publish(self, arena: SimulatorArena, version: int) -> None:
        """Give the arena everyone's newest weights."""
        for name, trainer in self._trainers.items():
            await arena.publish(name, version, await trainer.weights())

    async def save(self, folder: Path) -> None:
        for name, trainer in self._trainers.items():
            await trainer.save(self._home(folder, name))

    async def load(self, folder: Path) -> None:
        for name, trainer in self._trainers.items():
            await trainer.load(self._home(folder, name))

    async def snapshot(self, name: str, file: Path) -> None:
        """Write this learner's weights as they are now."""
        await self._trainers[name].snapshot(file)

    async def revived(self, name: str, file: Path) -> Any:
        """The weights that `snapshot` kept."""
        return await self._trainers[name].revived(file)

    async def first_words(self, name: str, questions: Sequence[Question]) -> list[dict[str, float]]:
        """What this learner would say first; see `exact`."""
        return await self._trainers[name].first_words(questions)

    async def close(self) -> None:
        for trainer in self._trainers.values():
            await trainer.close()

    def _home(self, folder: Path, name: str) -> Path:
        return home_of(folder, name, self._trainers)
