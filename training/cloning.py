"""Behaviour cloning: a first policy from the conversations of a scripted agent, before any reward.

Imitation is the policy gradient with every advantage 1: the step is the learner's own. Knows no scenario.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from simarena.agents import models
from simarena.agents.demonstrator import POLICY
from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.seeds import rng
from simarena.arena.specs import AgentSpec
from simarena.training.config import Cloning, OptimiserOptions, Recipe
from simarena.training.evaluation import options_of
from simarena.training.groups import form
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.samples import Sample, samples

Progress = Callable[[int, int, float], None]
"""Called with (step, steps, loss in nats per token)."""


async def demonstrations(recipe: Recipe, model: Path) -> list[Episode]:
    """The teacher's finished conversations on training deals, with records in this model's tokens."""
    cloning = recipe.policy.cloning
    options = {"teacher": cloning.teacher, "model": str(model), "options": cloning.options}
    lane = f"policy.{POLICY}"
    teacher = AgentSpec(agent="simarena.agents.demonstrator:Demonstrator", options=options, lane=lane)
    async with SimulatorArena("inproc", limits=recipe.rollout.limits) as arena:
        await arena.host(lane)
        play = arena.play(
            recipe.scenario.name,
            options=options_of(recipe, "train"),
            seats=dict.fromkeys(recipe.learners, teacher),
            deals=range(cloning.episodes),
            prefix="clone",
        )
        episodes = [episode async for episode in play if episode.ending == "finished"]
    return sorted(episodes, key=lambda episode: episode.id)


def imitate(recipe: Recipe, episodes: list[Episode], source: Path, target: Path, progress: Progress) -> None:
    """Train the model in `source` on these conversations and write it to `target`.

    Stops after `cloning.steps`, or `cloning.seconds` of wall time.
    """
    import torch

    from simarena.training.learner import Learner

    torch.set_num_threads(recipe.threads)
    cloning = recipe.policy.cloning
    pool = [sample for episode in episodes for seat in recipe.learners for sample in _lessons(episode, seat)]
    optimiser = OptimiserOptions(lr=cloning.lr, warmup=20, micro_tokens=recipe.optimiser.micro_tokens)
    learner = Learner(models.load_model(source), GRPOOptions(), optimiser)
    order, began = _shuffled(len(pool), cloning), time.monotonic()
    for step in range(cloning.steps):
        picked = [pool[order[(step * cloning.batch + i) % len(order)]] for i in range(cloning.batch)]
        metrics = learner.update([_as_of(sample, learner.version, i) for i, sample in enumerate(picked)])
        progress(step + 1, cloning.steps, metrics["loss/nll"])
        if time.monotonic() - began > cloning.seconds:
            break
    models.save(learner.model, models.load_tokenizer(source), target)


def _lessons(episode: Episode, seat: str) -> tuple[Sample, ...]:
    turns = len(episode.turns_of(seat))
    return samples(form([episode], seat), ((1.0,) * turns,))


def _shuffled(count: int, cloning: Cloning) -> list[int]:
    order = list(range(count))
    rng("cloning", cloning.episodes).shuffle(order)
    return order


def _as_of(sample: Sample, version: int, place: int) -> Sample:
    """The sample as if this version had sampled it, under a key of its own."""
    versions = tuple(version if sampled else -1 for sampled in sample.mask)
    return replace(sample, key=f"{place:04}/{sample.key}", versions=versions)
