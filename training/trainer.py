"""The trainer: a learner with its model folder, as the run loop calls it, here or as a Ray actor.

Owns nothing of its own but the way in: weights out, samples in, checkpoints to and fro.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import JsonValue

from simarena.arena.errors import SimArenaError
from simarena.arena.seeds import derive
from simarena.training.config import Recipe
from simarena.training.samples import Sample


class Trainer:
    """Loads the model and learns. Heavy imports happen here, in the process that trains."""

    def __init__(self, model: Path, recipe: Recipe) -> None:
        import torch

        torch.set_num_threads(recipe.threads)
        from simarena.agents import models
        from simarena.training.critic import Critic
        from simarena.training.learner import Learner

        self._recipe = recipe
        self.tokenizer = models.load_tokenizer(model)
        self.learner = Learner(
            models.load_model(model),
            loss=recipe.loss,
            optimiser=recipe.optimiser,
            adapter=recipe.policy.lora if recipe.policy.train == "lora" else None,
            seed=recipe.seed,
            anchored=any(phase.loss.anchored for phase in recipe.phases),
        )
        width = self.learner.model.config.hidden_size
        self.critic = Critic(width, recipe.critic, derive("critic", recipe.seed)) if recipe.critic else None

    def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        self.learner.loss = self._recipe.loss_at(self.learner.version)
        known = self.critic.learn(batch) if self.critic else {}
        return {**known, **self.learner.update(batch)}

    def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]:
        """The critic's value before each sampled token, by sample."""
        assert self.critic is not None
        ids = {name: self._plain(text) for name, text in hints.items()}
        return self.critic.values(self.learner.model, batch, ids, self.learner.options.micro_tokens)

    def _plain(self, text: str) -> tuple[int, ...]:
        """The ids of a text that may not become a control token."""
        ids = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return tuple(ids)

    def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]:
        """Metrics on how much replies depend on what they answer."""
        from simarena.training import mutual

        ends = mutual.last_turns(batch, count)
        scores = mutual.cross_scores(self.learner.model, ends, self.learner.options.micro_tokens)
        return mutual.mutual_information(scores) if len(ends) > 1 else {}

    def weights(self) -> dict[str, Any]:
        return dict(self.learner.weights())

    def boxed_weights(self) -> list[Any]:
        """The weights in Ray's object store; boxed, since a bare reference would be fetched on the way."""
        import ray

        return [ray.put(self.weights())]

    def save(self, folder: Path, extra: dict[str, JsonValue]) -> None:
        from simarena.training import checkpoints

        checkpoints.save(folder, self.learner, self.tokenizer, extra)
        if self.critic:
            checkpoints.save_critic(folder, self.critic)

    def load(self, folder: Path) -> dict[str, JsonValue]:
        from simarena.training import checkpoints

        if self.critic:
            checkpoints.load_critic(folder, self.critic)
        return checkpoints.load(folder, self.learner)


class TrainerDoor(Protocol):
    """The run loop's way to a trainer, wherever it lives."""

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]: ...

    async def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]: ...

    async def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]: ...

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

    async def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]:
        return await asyncio.to_thread(self._trainer.values, batch, hints)

    async def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]:
        return await asyncio.to_thread(self._trainer.mutual, batch, count)

    async def weights(self) -> Any:
        return self._trainer.weights()

    async def save(self, folder: Path, extra: dict[str, JsonValue]) -> None:
        self._trainer.save(folder, extra)

    async def load(self, folder: Path) -> dict[str, JsonValue]:
        return self._trainer.load(folder)

    async def close(self) -> None: ...


class TrainerActor:
    """Builds a trainer in a process of its own, and does what it is told with it."""

    def __init__(self, model: Path, recipe: Recipe) -> None:
        self._trainer: Trainer | Exception
        try:
            self._trainer = Trainer(model, recipe)
        except (SimArenaError, OSError) as error:  # told to the first caller: Ray makes a crash report of it here
            self._trainer = error

    def do(self, method: str, *arguments: Any) -> Any:
        """What the trainer's method returns, or what it raised on purpose, which Ray would bury in a report."""
        try:
            if isinstance(self._trainer, Exception):
                raise self._trainer
            return getattr(self._trainer, method)(*arguments)
        except (SimArenaError, OSError) as error:
            return error


class RayTrainer:
    """A trainer in a Ray actor of its own; its weights never pass through this process."""

    def __init__(self, model: Path, recipe: Recipe) -> None:
        import ray

        self._actor = ray.remote(TrainerActor).options(num_cpus=0).remote(model, recipe)

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        metrics: dict[str, float] = await self._do("update", batch)
        return metrics

    async def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]:
        values: dict[str, list[float]] = await self._do("values", batch, hints)
        return values

    async def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]:
        metrics: dict[str, float] = await self._do("mutual", batch, count)
        return metrics

    async def weights(self) -> Any:
        (reference,) = await self._do("boxed_weights")
        return reference

    async def save(self, folder: Path, extra: dict[str, JsonValue]) -> None:
        await self._do("save", folder, extra)

    async def load(self, folder: Path) -> dict[str, JsonValue]:
        extra: dict[str, JsonValue] = await self._do("load", folder)
        return extra

    async def _do(self, method: str, *arguments: Any) -> Any:
        result = await self._actor.do.remote(method, *arguments)
        if isinstance(result, Exception):
            raise result
        return result

    async def close(self) -> None:
        import ray

        ray.kill(self._actor)
