"""A study: several arms on several tasks over several seeds, read from a TOML file, as one table of numbers.

An arm and a task are settings laid over one recipe. Where runs are as long as they like, what is compared is the
conversations it took to come near the best: 90 % of the best arm's final success on that task. Summaries are pure
functions of finished runs.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.messages import Frozen
from simarena.arena.record import RunFolder
from simarena.training import recipe_file
from simarena.training.config import Recipe
from simarena.training.sweep import Emit, finished

FOLDER = Path(__file__).parent / "studies"
NEAR = 0.9
"""Share of the best final success that counts as having got there."""
Spread = tuple[float, float, float]
"""Mean, least and greatest."""


class Study(Frozen):
    """What is run."""

    recipe: str
    settings: tuple[str, ...] = ()
    """Overrides of every run."""
    tasks: dict[str, tuple[str, ...]] = Field(min_length=1)
    """Task → its overrides."""
    arms: dict[str, tuple[str, ...]] = Field(min_length=2)
    """Arm → its overrides."""

    def recipe_of(self, task: str, arm: str, seed: int) -> Recipe:
        """The recipe of one run. Raises as `recipe_file.load` does."""
        settings = [*self.settings, *self.tasks[task], *self.arms[arm], f"seed={seed}", f"name={task}-{arm}"]
        return recipe_file.load(self.recipe, settings)


class Course(Frozen):
    """How one run went."""

    seed: int
    success: float
    """At its end."""
    seconds: float
    """Of its steps, without evaluations and cloning."""
    points: tuple[tuple[float, float], ...]
    """(episodes played so far, continuations of forks among them; success) at each evaluation."""
    exploitability: float | None = None
    """At its end, where the scenario is a small game."""

    def episodes_to(self, target: float) -> float:
        """Episodes until an evaluation was at least this good; infinite if none was."""
        return next((played for played, success in self.points if success >= target), math.inf)


class Cell(Frozen):
    """All runs of one arm on one task."""

    task: str
    arm: str
    courses: tuple[Course, ...]
    target: float
    """The success that is near the best of this task."""

    @property
    def episodes(self) -> Spread:
        return _spread([course.episodes_to(self.target) for course in self.courses])

    @property
    def success(self) -> Spread:
        return _spread([course.success for course in self.courses])

    @property
    def seconds(self) -> Spread:
        return _spread([course.seconds for course in self.courses])

    @property
    def exploitability(self) -> Spread | None:
        """None where it is not measured."""
        known = [course.exploitability for course in self.courses if course.exploitability is not None]
        return _spread(known) if known else None


def names() -> tuple[str, ...]:
    """The studies that come with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load(name: str) -> Study:
    """The study of this name, or in the file at this path. Raises UsageError, and UnknownName with the nearest."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UnknownName("study", name, names())
    try:
        return Study.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read study {str(path)!r}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"study {str(path)!r}, key {key!r}: {first['msg']}") from None


def plan(study: Study, seeds: int, arms: Sequence[str] = ()) -> list[tuple[str, str, Recipe]]:
    """(task, arm, recipe) of every run, seed by seed, so that a study that is cut short has all arms in it.

    `arms` are those wanted; none means all. Everything wrong with a recipe is raised before anything is played.
    """
    for arm in arms:
        if arm not in study.arms:
            raise UnknownName("arm", arm, study.arms)
    wanted = arms or tuple(study.arms)
    return [(t, a, study.recipe_of(t, a, seed)) for seed in range(seeds) for t in study.tasks for a in wanted]


async def play(runs: Sequence[tuple[str, str, Recipe]], home: Path, emit: Emit) -> None:
    """Play every run that is not there yet, in folders under `home`."""
    for task, arm, recipe in runs:
        await finished(recipe, _place(home, task, arm, recipe), emit)


def cells(runs: Sequence[tuple[str, str, Recipe]], home: Path) -> list[Cell]:
    """What the finished ones of these runs came to, task by task."""
    found: dict[tuple[str, str], list[Course]] = {}
    for task, arm, recipe in runs:
        place = _place(home, task, arm, recipe)
        if (place / "run.json").exists() and "after" in RunFolder.open(place).facts():
            found.setdefault((task, arm), []).append(course(RunFolder.open(place)))
    best = {
        task: max(_spread([one.success for one in found[key]])[0] for key in found if key[0] == task)
        for task, _ in found
    }
    return [
        Cell(task=task, arm=arm, courses=tuple(found[task, arm]), target=NEAR * best[task])
        for task, arm in dict.fromkeys((task, arm) for task, arm, _ in runs)
        if (task, arm) in found
    ]


def course(folder: RunFolder) -> Course:
    """How a finished run went."""
    facts, rows = folder.facts(), folder.metrics()
    return Course(
        seed=facts["seed"],
        success=facts["after"]["success"],
        seconds=math.fsum(row.get("time/step", 0.0) for row in rows),
        points=tuple(_points(rows)),
        exploitability=facts["after"].get("exploitability"),
    )


def _points(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[float, float]]:
    played = forks = 0.0
    for row in rows:
        played = row.get("ledger/dispatched", played)
        forks += row.get("forks/played", 0.0)
        if "eval/success" in row:
            yield played + forks, row["eval/success"]


def _place(home: Path, task: str, arm: str, recipe: Recipe) -> Path:
    return home / f"{task}-{arm}-seed{recipe.seed}"


def _spread(values: Sequence[float]) -> Spread:
    return math.fsum(values) / len(values), min(values), max(values)
