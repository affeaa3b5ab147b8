"""A sweep: one recipe key at several values, over several seeds, everything else equal.

Changes one thing at a time, so that a gain is ascribed to what causes it. Summaries are pure functions of
metrics rows; runs that are finished are not run again.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen
from simarena.arena.record import RunFolder
from simarena.training import events, recipe_file
from simarena.training.config import Recipe
from simarena.training.run import train

Rows = Sequence[Mapping[str, Any]]
Emit = Callable[[events.Event], None]


class Curve(Frozen):
    """How one run went on held-out deals."""

    seed: int
    before: float
    after: float
    steps_to_target: int | None
    """First evaluated step at or above the target; None if it was never reached."""
    seconds: float


class Arm(Frozen):
    """All runs with one value of the key."""

    value: str
    curves: tuple[Curve, ...]

    @property
    def after(self) -> tuple[float, float, float]:
        """Mean, least and greatest final success."""
        return _spread([curve.after for curve in self.curves])

    @property
    def steps(self) -> tuple[float, float, float]:
        """Mean, least and greatest steps to the target; infinite where a run never reached it."""
        return _spread([math.inf if c.steps_to_target is None else c.steps_to_target for c in self.curves])


def recipes(
    name: str, overrides: Sequence[str], key: str, values: Sequence[str], seeds: int
) -> list[list[Recipe]]:
    """The recipes of every arm, by value then seed. Raises as `recipe_file.load` does."""
    return [
        [recipe_file.load(name, [*overrides, f"{key}={value}", f"seed={seed}"]) for seed in range(seeds)]
        for value in values
    ]


async def run_arm(recipes: Sequence[Recipe], value: str, home: Path, target: float, emit: Emit) -> Arm:
    """Run every recipe of one arm in folders under `home`, or read the runs that are there already."""
    curves = []
    for recipe in recipes:
        folder = await finished(recipe, home / f"{_safe(value)}-seed{recipe.seed}", emit)
        curves.append(curve(folder, target))
    return Arm(value=value, curves=tuple(curves))


def curve(folder: RunFolder, target: float) -> Curve:
    """The curve of a finished run."""
    facts, rows = folder.facts(), folder.metrics()
    return Curve(
        seed=facts["seed"],
        before=facts["before"]["success"],
        after=facts["after"]["success"],
        steps_to_target=steps_to(rows, target),
        seconds=facts["seconds"],
    )


def steps_to(rows: Rows, target: float) -> int | None:
    """The first evaluated step whose held-out success is at least `target`."""
    return next((int(row["step"]) for row in rows if row.get("eval/success", -1.0) >= target), None)


async def finished(recipe: Recipe, path: Path, emit: Emit) -> RunFolder:
    """The finished run of this recipe at this path: read, gone on with, or played.

    Raises UsageError if a run with other settings is there.
    """
    there = (path / "run.json").exists()
    facts = RunFolder.open(path).facts() if there else {}
    if there and facts["recipe"] != recipe.model_dump(mode="json"):
        raise UsageError(f"{path} holds a run with other settings: give --out another folder, or delete it")
    if "after" in facts:
        emit(events.Note(text=f"{path.name} is there already"))
        return RunFolder.open(path)
    folder = RunFolder.resume(path) if there else RunFolder.create(path)
    try:
        await train(recipe, folder, resume=there, emit=emit, stop=asyncio.Event())
    finally:
        folder.close()
    return folder


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return math.fsum(values) / len(values), min(values), max(values)


def _safe(value: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in value)
