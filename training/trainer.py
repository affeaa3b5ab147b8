"""The trainer: a learner with its model folder, as the run loop calls it, here or as a Ray actor.

Owns nothing of its own but the way in: weights out, samples in, checkpoints to and fro.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from simarena.arena.errors import SimArenaError
from simarena.arena.seeds import derive
from simarena.training.config import LearnerOptions
from simarena.training.crew import Crew
from simarena.training.exact import Question
from simarena.training.samples import Sample


class Trainer:
    """Loads the model and learns. Heavy imports happen here, in the process that trains."""

    def __init__(
        self,
        model: Path,
        options: LearnerOptions,
        seed: int = 0,
        threads: int = 1,
        *,
        rank: int = 0,
        ranks: int = 1,
        meeting: Path | None = None,
    ) -> None:
        """`meeting` is a file through which several ranks find one another."""
        import torch

        torch.set_num_threads(threads)
        from simarena.agents import models
        from simarena.training.critic import Critic
        from simarena.training.learner import Learner
        from simarena.training.ranks import Spread

        self._options = options
        self.tokenizer = models.load_tokenizer(model)
        self.learner = Learner(
            models.load_model(model),
            loss=options.loss,
            optimiser=options.optimiser,
            adapter=options.policy.lora if options.policy.train == "lora" else None,
            seed=seed,
            anchored=any(phase.loss.anchored for phase in options.phases),
            reference_every=options.policy.reference_every,
            ranks=Spread(rank, ranks, meeting) if meeting else None,
        )
        width = self.learner.model.config.hidden_size
        self.critic = Critic(width, options.critic, derive("critic", seed)) if options.critic else None

    def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        self.learner.loss = self._options.loss_at(self.learner.version)
        known = self.critic.learn(batch) if self.critic else {}
        return {**known, **self.learner.update(batch)}

    def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]:
        """The critic's value before each sampled token, by sample."""
        assert self.critic is not None
        ids = {name: self._plain(text) for name, text in hints.items()}
        with self.learner.whole():
            return self.critic.values(self.learner.model, batch, ids, self.learner.options.micro_tokens)

    def _plain(self, text: str) -> tuple[int, ...]:
        """The ids of a text that may not become a control token."""
        ids = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return tuple(ids)

    def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]:
        """Metrics on how much replies depend on what they answer."""
        from simarena.training import mutual

        ends = mutual.last_turns(batch, count)
        with self.learner.whole():
            scores = mutual.cross_scores(self.learner.model, ends, self.learner.options.micro_tokens)
        return mutual.mutual_information(scores) if len(ends) > 1 else {}

    def weights(self) -> dict[str, Any]:
        return dict(self.learner.weights())

    def save(self, folder: Path) -> None:
        from simarena.training import checkpoints

        checkpoints.save(folder, self.learner, self.tokenizer)
        if self.critic and not self.learner.ranks.number:
            checkpoints.save_critic(folder, self.critic)

    def load(self, folder: Path) -> None:
        from simarena.training import checkpoints

        if self.critic:
            checkpoints.load_critic(folder, self.critic)
        checkpoints.load(folder, self.learner)

    def snapshot(self, file: Path) -> None:
        from simarena.training import checkpoints

        checkpoints.save_snapshot(file, self.learner)

    def revived(self, file: Path) -> dict[str, Any]:
        from simarena.training import checkpoints

        return dict(checkpoints.snapshot(file, self.learner))

    def first_words(self, questions: Sequence[Question]) -> list[dict[str, float]]:
        from simarena.training import exact

        with self.learner.whole():
            return exact.first_words(self.learner.model, self.tokenizer, questions)


class TrainerDoor(Protocol):
    """The run loop's way to a trainer, wherever it lives."""

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]: ...

    async def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]: ...

    async def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]: ...

    async def weights(self) -> Any:
        """For `SimulatorArena.publish`: arrays by name, or a reference to them."""
        ...

    async def save(self, folder: Path) -> None: ...

    async def load(self, folder: Path) -> None: ...

    async def snapshot(self, file: Path) -> None:
        """Write what speaks as the policy does now, whole or not at all; a few MB if it is adapters that learn."""
        ...

    async def revived(self, file: Path) -> Any:
        """A snapshot's weights, as `weights` gave them then."""
        ...

    async def first_words(self, questions: Sequence[Question]) -> list[dict[str, float]]:
        """The policy's probability of each of a question's words, as `exact.first_words`."""
        ...

    async def close(self) -> None: ...


class Alone:
    """A trainer in one process, called as a crew is."""

    def __init__(self, build: Any, arguments: tuple[Any, ...]) -> None:
        self._trainer = build(*arguments)

    def do(self, method: str, *arguments: Any) -> Any:
        return getattr(self._trainer, method)(*arguments)

    def close(self) -> None: ...


def hire(model: Path, options: LearnerOptions, seed: int, threads: int, ranks: int) -> Alone | Crew:
    """A trainer over this many ranks."""
    arguments = (model, options, seed, threads)
    return Crew(Trainer, arguments, ranks) if ranks > 1 else Alone(Trainer, arguments)


class LocalTrainer:
    """A trainer in this process, and its other ranks if it has any."""

    def __init__(
        self, model: Path, options: LearnerOptions, seed: int = 0, threads: int = 1, ranks: int = 1
    ) -> None:
        self._trainer = hire(model, options, seed, threads, ranks)

    async def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        metrics: dict[str, float] = await asyncio.to_thread(self._trainer.do, "update", batch)
        return metrics

    async def values(self, batch: Sequence[Sample], hints: Mapping[str, str]) -> dict[str, list[float]]:
        values: dict[str, list[float]] = await asyncio.to_thread(self._trainer.do, "values", batch, hints)
        return values

    async def mutual(self, batch: Sequence[Sample], count: int) -> dict[str, float]:
        metrics: dict[str, float] = await asyncio.to_thread(self._trainer.do, "mutual", batch, count)
        return metrics

    async def weights(self) -> Any:
        return self._trainer.do("weights")

    async def save(self, folder: Path) -> None:
        self._trainer.do("save", folder)

    async def load(self, folder: Path) -> None:
        self._trainer.do("load", folder)

    async def snapshot(self, file: Path) -> None:
        self._trainer.do("snapshot", file)

    async def revived(self, file: Path) -> Any:
        return self._trainer.do("revived", file)

    async def first_words(self, questions: Sequence[Question]) -> list[dict[str, float]]:
        answers: list[dict[str, float]] = self._trainer.do("first_words", questions)
        return answers

    async def close(self) -> None:
        self._trainer.close()


class TrainerActor:
    """Builds a trainer in a process of its own, and does what it is told with it."""

    def __init__(
        self, model: Path, options: LearnerOptions, seed: int = 0, threads: int = 1, ranks: int = 1
    ) -> None:
        self._trainer: Alone | Crew | Exception
        try:
            self._trainer = hire(model, options, seed, threads, ranks)
        except (SimArenaError, OSError) as error:  # told to the first caller: Ray makes a crash report of it here
            self._trainer = error

    def do(self, method: str, *arguments: Any) -> Any:
        """What the trainer's method returns, or what it raised on purpose, which Ray would bury in a report."""
        try:
            if isinstance(self._trainer, Exception):
                raise self._trainer
            return self._trainer.do(method, *arguments)
        except (SimArenaError, OSError) as error:
            return error

    def boxed(self, method: str, *arguments: Any) -> list[Any]:
        """Weights in Ray's object store; boxed, since a bare reference would be fetched on the way."""
        import ray

        weights = self.do(method, *arguments)
        return [weights if isinstance(weights, Exception) else ray.put(weights)]


class RayTrainer:
    """A trainer in a Ray actor of its own; its weights never pass through this process."""

    def __init__(
        self, model: Path, options: LearnerOptions, seed: int = 0, threads: int = 1, ranks: int = 1
    ) -> None:
        import ray

        self._actor = ray.remote(TrainerActor).options(num_cpus=0).remote(model, options, seed, threads, ranks)

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
        return await self._reference("weights")

    async def revived(self, file: Path) -> Any:
        return await self._reference("revived", file)

    async def _reference(self, method: str, *arguments: Any) -> Any:
        (reference,) = await self._actor.boxed.remote(method, *arguments)
        if isinstance(reference, Exception):
            raise reference
        return reference

    async def save(self, folder: Path) -> None:
        await self._do("save", folder)

    async def load(self, folder: Path) -> None:
        await self._do("load", folder)

    async def snapshot(self, file: Path) -> None:
        await self._do("snapshot", file)

    async def first_words(self, questions: Sequence[Question]) -> list[dict[str, float]]:
        answers: list[dict[str, float]] = await self._do("first_words", questions)
        return answers

    async def _do(self, method: str, *arguments: Any) -> Any:
        result = await self._actor.do.remote(method, *arguments)
        if isinstance(result, Exception):
            raise result
        return result

    async def close(self) -> None:
        import ray

        ray.kill(self._actor)
