"""The starting point: the model folder a run begins with, made on first use and cached by content.

`tiny` is built over the scenario's lexicon; with `policy.cloning` the model is first cloned from a teacher. The
starting point does not depend on the run's seed: runs of all seeds begin with the same weights.
The cache key covers the demonstrations themselves, so a change of rules, people or teacher makes a new one.
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path

from simarena.agents import cache
from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.arena.specs import build_scenario
from simarena.training import events
from simarena.training.config import Recipe
from simarena.training.evaluation import options_of

TINY = "tiny"
RECIPE_OF_CLONES = 2
"""Raised when cloning itself changes, so that old clones are not taken for new ones."""


async def starting_models(
    recipe: Recipe, emit: Callable[[events.Event], None], names: Collection[str] | None = None
) -> dict[str, Path]:
    """The model folders that these learners begin with, or all that the recipe seats, by name.

    Raises as `starting_model` does.
    """
    names = {*recipe.roster, *recipe.frozen} if names is None else names
    return {name: await starting_model(recipe.alone(name), emit) for name in sorted(names)}


async def starting_model(recipe: Recipe, emit: Callable[[events.Event], None]) -> Path:
    """The folder that the recipe's only learner begins with. Raises UsageError for a model that cannot be had."""
    model = recipe.policy.model
    base = _tiny(recipe) if model == TINY else await asyncio.to_thread(locate, model)
    return await _cloned(recipe, base, emit) if recipe.policy.cloning.steps else base


def locate(name: str) -> Path:
    """The folder of a model that is not built: as `models.locate`, or the newest checkpoint of a run folder."""
    from simarena.agents import models

    folder = Path(name)
    if (folder / "run.json").is_file() and not (folder / "config.json").is_file():
        saved = RunFolder.open(folder).checkpoints()
        folder = saved[max(saved)] if saved else folder
        return models.locate(folder)
    return models.locate(name)


def _tiny(recipe: Recipe) -> Path:
    from simarena.agents import tiny

    words = build_scenario(recipe.scenario.name, options_of(recipe, "train")).lexicon()
    if not words:
        raise UsageError(
            f"policy.model = 'tiny' needs the words of scenario {recipe.scenario.name!r}, which gives no lexicon: "
            "give it a `lexicon` method, or name another model"
        )
    shape = tiny.Shape(**recipe.policy.shape.model_dump(exclude_defaults=True))
    name = f"tiny-{_key(words, asdict(shape))}"  # defaults too: one that changes must not find the old model
    return cache.once(name, lambda folder: tiny.build(words, folder, seed=0, shape=shape))


async def _cloned(recipe: Recipe, base: Path, emit: Callable[[events.Event], None]) -> Path:
    from simarena.training import cloning

    episodes = await cloning.demonstrations(recipe, base)
    digests = [episode.digest() for episode in episodes]
    settings = recipe.policy.cloning.model_dump(mode="json")
    name = f"clone-{_key(RECIPE_OF_CLONES, _content(base), settings, digests)}"
    loop = asyncio.get_running_loop()

    left = threading.Event()

    def progress(step: int, total: int, loss: float) -> None:
        if left.is_set():
            raise InterruptedError("cloning was cancelled")
        loop.call_soon_threadsafe(emit, events.Cloning(step=step, total=total, loss=loss))

    try:
        return await asyncio.to_thread(
            cache.once, name, lambda folder: cloning.imitate(recipe, episodes, base, folder, progress)
        )
    finally:  # a thread cannot be cancelled: without this, Ctrl-C would wait for the last step
        left.set()


def _content(folder: Path) -> list[str]:
    """sha256 of each file of a model folder, by name."""
    return [f"{path.name}:{_sha256(path)}" for path in sorted(folder.iterdir()) if path.is_file()]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _key(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
