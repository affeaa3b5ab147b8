"""`simarena compare`: arms over several seeds, everything else equal: values of one recipe key, or a study's."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.text import visible
from simarena.training import study
from simarena.training.sweep import Arm, recipes, run_arm
from simarena.tui.casting import DEFAULT_RECIPE
from simarena.tui.console import emit, run, show
from simarena.tui.progress import watching
from simarena.tui.runs import HOME


def compare(
    key: Annotated[
        str,
        typer.Argument(help="The recipe key to change, such as credit.rule, or a study: a name or .toml path."),
    ],
    values: Annotated[
        list[str] | None, typer.Argument(help="The key's values, one arm each; of a study, arms to leave it at.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="A recipe by name or .toml path.")] = DEFAULT_RECIPE,
    setting: Annotated[
        list[str] | None, typer.Option("-s", metavar="KEY=VALUE", help="Override a recipe key in every arm.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each arm, with seeds 0, 1, ...")] = 3,
    target: Annotated[float, typer.Option(help="Held-out success whose first reaching is timed.")] = 0.7,
    out: Annotated[Path | None, typer.Option(help="Where the runs go.  [default: runs/compare-KEY]")] = None,
    show_only: Annotated[
        bool, typer.Option("--show", help="Play nothing: the table of a study's runs that are finished.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per arm on stdout.")] = False,
) -> None:
    """Train every arm and print steps to a target and final success, each with its spread over seeds.

    Finished runs are kept and not run again, so it can be stopped and called again. A study has tasks and arms of
    its own, such as `credit`: every credit rule on two tasks.

    Example: simarena compare credit.rule returns trajectory
    """
    values = values or []
    if len(set(values)) < len(values):
        raise UsageError(f"values are not distinct: {', '.join(values)}")
    if key in study.names() or key.endswith(".toml"):
        _study(key, values, seeds, out or HOME / f"compare-{Path(key).stem}", show_only, json)
        return
    if not values or show_only:
        raise UnknownName("study", key, study.names()) if not values else UsageError("--show is for studies")
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


def _study(name: str, arms: list[str], seeds: int, home: Path, show_only: bool, json: bool) -> None:
    """Play a study and print its table; what is finished of it if it is interrupted."""
    planned = study.plan(study.load(name), seeds, arms)
    try:
        if not show_only:
            with watching() as watcher:
                run(study.play(planned, home, watcher))
    finally:
        found = study.cells(planned, home)
        if json:
            for cell in found:
                emit(_cell(cell))
        elif found:
            show(_cells(found))


def _cell(cell: study.Cell) -> dict[str, object]:
    numbers = {"episodes": cell.episodes, "success": cell.success, "seconds": cell.seconds}
    exact = {} if cell.exploitability is None else {"exploitability": list(cell.exploitability)}
    return {
        **cell.model_dump(mode="json", exclude={"courses"}),
        "seeds": [course.seed for course in cell.courses],
        **exact,
        **{name: [None if math.isinf(n) else n for n in spread] for name, spread in numbers.items()},
    }


def _cells(cells: list[study.Cell]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("task", "arm"):
        table.add_column(heading)
    exact = any(cell.exploitability for cell in cells)
    for heading in ("seeds", "episodes to near best", "final success", *["exploitability"] * exact, "seconds"):
        table.add_column(heading, justify="right")
    for number, cell in enumerate(cells):
        first = not number or cells[number - 1].task != cell.task
        table.add_row(
            visible(f"{cell.task} (near: {cell.target:.2f})") if first else "",
            visible(cell.arm),
            str(len(cell.courses)),
            _spread(cell.episodes, "{:,.0f}"),
            _spread(cell.success, "{:.2f}"),
            *([_spread(cell.exploitability, "{:.3f}") if cell.exploitability else ""] if exact else []),
            f"{cell.seconds[0]:.0f}",
        )
    return table


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
    return mean if least == most else f"{mean} ({least}–{most})"
