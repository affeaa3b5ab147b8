"""How fast a policy speaks and how much of a training step is neither speaking nor learning.

Both are measured in process on the recipe of the model: the engine against plain `transformers.generate` on
the same batch of prompts, then whole training steps with a stopwatch on the engine.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simarena.agents.policy import chat_of
from simarena.arena.arena import SimulatorArena
from simarena.arena.protocols import GenerateRequest
from simarena.arena.record import RunFolder
from simarena.arena.seeds import rng
from simarena.arena.specs import AgentSpec, EngineSpec, build_scenario
from simarena.training import recipe_file
from simarena.training.config import Recipe
from simarena.training.evaluation import options_of
from simarena.training.events import Event, StepDone
from simarena.training.learners import Learners
from simarena.training.orders import Orders
from simarena.training.run import Run
from simarena.training.seating import LEARNER
from simarena.training.starting_point import starting_model
from simarena.training.trackers import Trackers
from simarena.training.trainer import LocalTrainer
from simarena.tui.bench.figure import Figure
from simarena.tui.bench.timed import BUSY
from simarena.tui.casting import stand_in

RECIPES = {"tiny": "service-desk-tiny", "smollm2": "service-desk-smollm2"}
BATCH = {"tiny": 64, "smollm2": 8}
"""Conversations that wait at once."""
SETTINGS = ("backend=inproc", "evaluation.every=0", "evaluation.deals=1", "checkpoint_every=1000", "keep_every=0")
"""Overrides that leave little but the steps."""
TOKENS = 24
"""Tokens sampled for each."""
TARGET = 5.0
"""Percent of a step that may go to the arena."""


async def measure(model: str, steps: int, emit: Callable[[Event], None]) -> AsyncIterator[Figure]:
    """All figures of a model, one at a time as they are known."""
    recipe = recipe_file.load(RECIPES[model], [f"steps={steps}", *SETTINGS])
    folder = await starting_model(recipe, emit)
    prompts = await _prompts(recipe, BATCH[model])
    engine, plain = await _tokens(folder, prompts)
    yield Figure("tokens_engine", engine, "tokens/s", f"transformers.generate on the same batch: {plain:,.0f}")
    async for figure in _steps(recipe, folder):
        yield figure


async def _prompts(recipe: Recipe, count: int) -> list[GenerateRequest]:
    """Assistant turns in mid-conversation, from conversations of the recipe's scripted teacher."""
    options, (seat, *_) = options_of(recipe, "train"), recipe.learning
    teacher = AgentSpec(agent=stand_in(recipe.scenario.name))
    rules = build_scenario(recipe.scenario.name, options)
    requests = []
    async with SimulatorArena() as arena:
        async for episode in arena.play(rules, options=options, seats={seat: teacher}, deals=range(count)):
            turns = episode.turns_of(seat)
            heard = [m for m in episode.messages if m.audible(seat) and m.turn < turns[len(turns) // 2].index]
            view = rules.view(rules.deal(rng("deal", rules.name, episode.deal)), seat)
            chat = chat_of(view, heard, seat)
            requests.append(GenerateRequest(episode.id, chat, episode.deal, view.tools, max_tokens=TOKENS))
    return requests


async def _tokens(folder: Path, requests: Sequence[GenerateRequest]) -> tuple[float, float]:
    """Sampled tokens per second: our engine, and `model.generate` with the same weights on the same prompts."""
    from simarena.agents import models
    from simarena.agents.engines.transformers import TransformersEngine

    engine = TransformersEngine(str(folder))
    await engine.generate(requests[:2])
    began = time.perf_counter()
    records = [completion.record for completion in await engine.generate(requests)]
    ours = sum(len(record.sampled) for record in records if record) / (time.perf_counter() - began)
    prompts = [record.fed for record in records if record]
    return ours, await asyncio.to_thread(_generate, models.load_model(folder), prompts)


def _generate(model: Any, prompts: Sequence[Sequence[int]]) -> float:
    """Tokens per second of `model.generate` on left-padded prompts, the end of each reply counted, no padding."""
    import torch

    ends = torch.tensor(model.generation_config.eos_token_id).view(-1)
    width = max(map(len, prompts))
    ids = torch.tensor([[int(ends[0])] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    began = time.perf_counter()
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=mask, do_sample=True, top_k=0, max_new_tokens=TOKENS)
    seconds = time.perf_counter() - began
    ended = torch.isin(out[:, width:], ends)
    return int((ended.cumsum(1) - ended.int() == 0).sum()) / seconds


async def _steps(recipe: Recipe, folder: Path) -> AsyncIterator[Figure]:
    """Whole training steps, and the share of their time outside generation and training."""
    seconds: list[tuple[float, float, float]] = []
    busy = 0.0

    def note(event: Event) -> None:
        nonlocal busy
        if isinstance(event, StepDone):
            learning = event.metrics["time/score"] + event.metrics["time/update"]
            seconds.append((event.metrics["time/step"], BUSY.seconds - busy, learning))
        busy = BUSY.seconds

    await _train(recipe, folder, note)
    step, generating, learning = (sum(part) for part in zip(*seconds, strict=True))
    outside = 100 * (step - generating - learning) / step
    yield Figure("step_seconds", step / len(seconds), "s", f"mean of {len(seconds)} steps of {recipe.name}")
    yield Figure("step_outside", outside, "% of a step", f"neither generation nor training; target {TARGET:g} %")


async def _train(recipe: Recipe, folder: Path, note: Callable[[Event], None]) -> None:
    """The recipe's run loop around a timed engine, in a folder that is thrown away."""
    options: dict[str, JsonValue] = {"model": str(folder), "policy": LEARNER}
    policies = {LEARNER: EngineSpec(engine="simarena.tui.bench.timed:TimedEngine", options=options)}
    with tempfile.TemporaryDirectory() as place, closing(RunFolder.create(Path(place) / "run")) as run:
        trackers = Trackers(run.metric, [], lambda _: None)
        async with SimulatorArena(policies=policies, seed=recipe.seed, limits=recipe.rollout.limits) as arena:
            learners = Learners({LEARNER: LocalTrainer(folder, recipe)})
            orders = Orders(asyncio.Event(), lambda _: None)
            await Run(recipe, run, arena, learners, trackers, note).to_the_end(False, orders)
