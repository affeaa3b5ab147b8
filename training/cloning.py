"""Behaviour cloning: a first policy from the conversations of a scripted agent, before any reward.

Imitation is the policy gradient with every advantage 1: the step is the learner's own. Knows no scenario.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from simarena.agents import models
from simarena.agents.demonstrator import POLICY
from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.errors import SimArenaError
from simarena.arena.seeds import rng
from simarena.arena.specs import AgentSpec
from simarena.training.config import OptimiserOptions, Recipe
from simarena.training.credit.turns import TurnCredit
from simarena.training.evaluation import options_of
from simarena.training.groups import form
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.samples import Sample, samples

WARMUP = 0.05
"""Share of the steps over which the learning rate rises."""
Progress = Callable[[int, int, float], None]
"""Called with (step, steps, loss in nats per token)."""


async def demonstrations(recipe: Recipe, model: Path) -> list[Episode]:
    """The teacher's finished conversations on training deals, with records in this model's tokens."""
    cloning = recipe.policy.cloning
    options: dict[str, JsonValue] = {
        "teacher": cloning.teacher,
        "model": str(model),
        "options": cloning.options,
        "tools": recipe.policy.tools,
    }
    lane = f"policy.{POLICY}"
    teacher = AgentSpec(agent="simarena.agents.demonstrator:Demonstrator", options=options, lane=lane)
    async with SimulatorArena("inproc", limits=recipe.rollout.limits) as arena:
        await arena.host(lane)
        play = arena.play(
            recipe.scenario.name,
            options=options_of(recipe, "train"),
            seats=dict.fromkeys(recipe.learning, teacher),
            deals=range(cloning.episodes),
            prefix="clone",
        )
        played = [episode async for episode in play]
    episodes = [episode for episode in played if episode.ending == "finished"]
    if not episodes:
        why = played[0].fault or played[0].ending
        raise SimArenaError(f"teacher {cloning.teacher!r} finished no conversation to clone; the first: {why}")
    return sorted(episodes, key=lambda episode: episode.id)


def imitate(recipe: Recipe, episodes: list[Episode], source: Path, target: Path, progress: Progress) -> None:
    """Train the model in `source` on these conversations for `cloning.steps` and write it to `target`."""
    import torch

    from simarena.training.learner import Learner

    torch.set_num_threads(recipe.threads)
    cloning = recipe.policy.cloning
    pool = [_lesson(sample, cloning.context) for episode in episodes for sample in _demonstrated(recipe, episode)]
    pool.sort(key=lambda sample: (len(sample.ids), sample.key))
    optimiser = OptimiserOptions(
        lr=cloning.lr,
        warmup=round(WARMUP * cloning.steps),
        decay=cloning.steps,
        micro_tokens=recipe.optimiser.micro_tokens,
    )
    learner = Learner(models.load_model(source), GRPOOptions(), optimiser)
    chance = rng("cloning")
    for step in range(cloning.steps):
        # Neighbours in length, so that little of the batch is padding.
        first = chance.randrange(max(1, len(pool) - cloning.batch + 1))
        metrics = learner.update([_as_of(step, sample) for sample in pool[first : first + cloning.batch]])
        progress(step + 1, cloning.steps, metrics["loss/nll"])
    models.save(learner.model, models.load_tokenizer(source), target)


def _demonstrated(recipe: Recipe, episode: Episode) -> list[Sample]:
    """The teacher's trajectories, with advantage 1 on each of its tokens."""
    return [
        sample
        for seat in recipe.learning
        for sample in samples(form([episode], seat), ((TurnCredit(advantage=1.0),) * len(episode.turns_of(seat)),))
    ]


def _lesson(sample: Sample, context: float) -> Sample:
    """The sample with all its tokens to be predicted, those of others with weight `context`."""
    if not context:
        return sample
    weights = (0.0, *(1.0 if mine else context for mine in sample.mask[1:]))
    return replace(sample, mask=(False, *[True] * (len(sample.ids) - 1)), advantages=weights)


def _as_of(version: int, sample: Sample) -> Sample:
    """The sample as if this version had sampled it, so that its ratio is 1."""
    return replace(sample, versions=tuple(version if trained else -1 for trained in sample.mask))
