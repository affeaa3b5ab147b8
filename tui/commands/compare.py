"""`simarena compare`: one recipe key at several values over several seeds, everything else equal."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from simarena.arena.errors import UsageError
from simarena.arena.text import visible
from simarena.training.sweep import Arm, recipes, run_arm
from simarena.tui.casting import DEFAULT_RECIPE
from simarena.tui.console import emit, run, show
from simarena.tui.progress import watching
from simarena.tui.runs import HOME


def compare(
    key: Annotated[str, typer.Argument(help="The recipe key to change, such as credit.rule.")],
    values: Annotated[list[str], typer.Argument(help="Its values, one arm each.")],
    recipe: Annotated[str, typer.Option(help="A recipe by name or .toml path.")] = DEFAULT_RECIPE,
    setting: Annotated[
        list[str] | None, typer.Option("-s", metavar="KEY=VALUE", help="Override a recipe key in every arm.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each arm, with seeds 0, 1, ...")] = 3,
    target: Annotated[float, typer.Option(help="Held-out success whose first reaching is timed.")] = 0.7,
    out: Annotated[Path | None, typer.Option(help="Where the runs go.  [default: runs/compare-KEY]")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per arm on stdout.")] = False,
) -> None:
    """Train every arm and print steps to a target and final success, each with its spread over seeds.

    Finished runs are kept and not run again, so it can be stopped and called again.

    Example: simarena compare credit.rule returns trajectory
    """
    if len(set(values)) < len(values):
        raise UsageError(f"values are not distinct: {', '.join(values)}")
    planned = recipes(recipe, setting or (), key, values, seeds)
    home = out or HOME / f"compare-{key}"
    arms = []
    for value, arm in zip(values, planned, strict=True):
        with watching() as watcher:
            arms.append(run(run_arm(arm, value, home, target, watcher)))
        if json:
            emit(_object(key, target, arms[-1]))
    if not json:
        show(_table(key, target, arms))


def _object(key: str, target: float, arm: Arm) -> dict[str, object]:
    steps = [None if math.isinf(number) else number for number in arm.steps]
    return {"key": key, "target": target, **arm.model_dump(mode="json"), "steps": steps, "after": list(arm.after)}


def _table(key: str, target: float, arms: list[Arm]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(key)
    for heading in ("seeds", "before", f"steps to {target:g}", "after", "seconds"):
        table.add_column(heading, justify="right")
    for arm in arms:
        before = [curve.before for curve in arm.curves]
        seconds = [curve.seconds for curve in arm.curves]
        table.add_row(
            visible(arm.value),
            str(len(arm.curves)),
            f"{sum(before) / len(before):.2f}",
            _spread(arm.steps, "{:.0f}"),
            _spread(arm.after, "{:.2f}"),
            f"{sum(seconds) / len(seconds):.0f}",
        )
    return table


def _spread(numbers: tuple[float, float, float], form: str) -> str:
    mean, least, most = (form.format(n) if not math.isinf(n) else "never" for n in numbers)
    return f"{mean} ({least}–{most})"
