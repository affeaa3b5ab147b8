"""The trainer: a learner with its model folder, as the run loop calls it, here or as a Ray actor.

Owns nothing of its own but the way in: weights out, samples in, checkpoints to and fro.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import JsonValue

from simarena.training.config import Recipe
from simarena.training.samples import Sample


class Trainer:
    """Loads the model and learns. Heavy imports happen here, in the process that trains."""

    def __init__(self, model: Path, recipe: Recipe) -> None:
        import torch

        torch.set_num_threads(recipe.threads)
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from simarena.training.learner import Learner

        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.learner = Learner(
            AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32),
            loss=recipe.loss,
            optimiser=recipe.optimiser,
            adapter=recipe.policy.lora if recipe.policy.train == "lora" else None,
            seed=recipe.seed,
        )

    def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        return self.learner.update(batch)

    def weights(self) -> dict[str, Any]:
        return dict(self.learner.weights())

    def boxed_weights(self) -> list[Any]:
        """The weights in Ray's object store; boxed, since a bare reference would be fetched on the way."""
        import ray

        return [ray.put(self.weights())]

    def save(self, folder: Path, extra: dict[str, JsonValue]) -> None:
        from simarena.training import checkpoints

        checkpoints.save(folder, self.learner, self.tokenizer, extra)

    def load(self, folder: Path) -> dict[str, JsonValue]:
        from simarena.training import checkpoints

        return checkpoints.load(folder, self.learner)


class TrainerDoor(Protocol):
    """The run loop's way to a trainer, wherever it lives."""

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]: ...

    async def weights(self) -> Any:
        """For `SimulatorArena.publish`: arrays by name, or a reference to them."""
        ...

    async def save(self, folder: Path, extra: dict[str, JsonValue]) -> None: ...

    async def load(self, folder: Path) -> dict[str, JsonValue]: ...

    async def close(self) -> None: ...


class LocalTrainer:
    """A trainer in this process."""

    def __init__(self, model: Path, recipe: Recipe) -> None:
        self._trainer = Trainer(model, recipe)

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        return await asyncio.to_thread(self._trainer.update, batch)

    async def weights(self) -> Any:
        return self._trainer.weights()

    async def save(self, folder: Path, extra: dict[str, JsonValue]) -> None:
        self._trainer.save(folder, extra)

    async def load(self, folder: Path) -> dict[str, JsonValue]:
        return self._trainer.load(folder)

    async def close(self) -> None: ...


class RayTrainer:
    """A trainer in a Ray actor of its own; its weights never pass through this process."""

    def __init__(self, model: Path, recipe: Recipe) -> None:
        import ray

        self._actor = ray.remote(Trainer).options(num_cpus=0).remote(model, recipe)

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        metrics: dict[str, float] = await self._actor.update.remote(batch)
        return metrics

    async def weights(self) -> Any:
        (reference,) = await self._actor.boxed_weights.remote()
        return reference

    async def save(self, folder: Path, extra: dict[str, JsonValue]) -> None:
        await self._actor.save.remote(folder, extra)

    async def load(self, folder: Path) -> dict[str, JsonValue]:
        extra: dict[str, JsonValue] = await self._actor.load.remote(folder)
        return extra

    async def close(self) -> None:
        import ray

        ray.kill(self._actor)
