"""`simarena train`: trains a recipe with live progress, then shows what it came to."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from simarena.agents import smollm2
from simarena.arena.arena import cast_seats
from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.arena.specs import build_scenario
from simarena.arena.text import visible
from simarena.training import recipe_file
from simarena.training.config import Recipe
from simarena.training.deals import Deals
from simarena.training.evaluation import options_of, require_records, seats_of
from simarena.training.events import Note
from simarena.training.plan import plan
from simarena.training.run import TrainReport
from simarena.training.run import train as train_recipe
from simarena.training.starting_point import locate
from simarena.tui import runs
from simarena.tui.casting import DEFAULT_RECIPE, MODELS, readable
from simarena.tui.console import emit, invocation, narrate, show
from simarena.tui.ending import ending
from simarena.tui.progress import watching


def train(
    recipe: Annotated[
        str | None, typer.Argument(help=f"A recipe by name or .toml path.  [default: {DEFAULT_RECIPE}]")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("-s", metavar="KEY=VALUE", help="Override one recipe key, such as steps=40."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder.  [default: runs/RECIPE-TIME]")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, or else with the latest.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Same as -s seed=N.")] = None,
    backend: Annotated[str | None, typer.Option(help="inproc or ray; same as -s backend=NAME.")] = None,
    model: Annotated[str | None, typer.Option(help="Same as -s policy.model=NAME.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="transformers or vllm; same as -s policy.engine=NAME.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the resolved plan and exit.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout at the end.")] = False,
) -> None:
    """Train a policy and show how it did before and after.

    Ctrl-C finishes the step and saves; `--resume` goes on from there.

    Example: simarena train service-desk-tiny -s steps=40 --seed 1
    """
    settings = [
        *(setting or []),
        *_named(seed=seed, backend=backend, **{"policy.model": model, "policy.engine": engine}),
    ]
    if resume:
        if recipe is not None or settings:
            raise UsageError("--resume goes on with the recipe of the run: leave out the recipe and its settings")
        folder = RunFolder.resume(runs.locate(str(out or "latest")).path)
        chosen = recipe_file.parse(folder.facts()["recipe"])
    else:
        chosen = recipe_file.load(recipe or DEFAULT_RECIPE, settings)
        _check(chosen)
        if dry_run:
            _show_plan(chosen, json)
            return
        folder = RunFolder.create(out or runs.fresh(chosen.name))
    with closing(folder):
        report = _train(chosen, folder, resume)
    _finish(chosen, folder, report, json)


def _named(**settings: object) -> Iterator[str]:
    """Options with a name of their own, as the recipe overrides they stand for."""
    return (f"{key}={value}" for key, value in settings.items() if value is not None)


def _check(recipe: Recipe) -> None:
    """Refuse what can be seen to be wrong before a run folder is made."""
    for split in ("train", recipe.evaluation.split):
        rules = build_scenario(recipe.scenario.name, options_of(recipe, split))
    Deals(recipe, 0).take(1)
    cast_seats(rules, seats_of(recipe, recipe.rollout.temperature))
    require_records(recipe)
    for model in sorted({recipe.learner(name).policy.model for name in (*recipe.roster, *recipe.frozen)}):
        if model == smollm2.NAME:
            smollm2.find_gguf()
        elif model not in MODELS:
            readable(str(locate(model)))


def _show_plan(recipe: Recipe, json: bool) -> None:
    if json:
        emit(recipe.model_dump(mode="json"))
    else:
        show(_grid(plan(recipe)))


def _grid(text: str) -> Table:
    """Lines of `name  text` as two columns, so that a long text wraps under itself."""
    grid = Table.grid(padding=(0, 1))
    for line in visible(text).splitlines():
        name, _, rest = line.partition(" ")
        grid.add_row(Text(name, "bold"), Text(rest.strip()))
    return grid


def _train(recipe: Recipe, folder: RunFolder, resume: bool) -> TrainReport:
    try:
        with watching() as watcher, asyncio.Runner() as runner:
            loop, stop = runner.get_loop(), asyncio.Event()

            def wind_down() -> None:
                stop.set()
                watcher(Note(text="finishing this step and saving; press Ctrl-C again to stop now"))

            with _interruptible(lambda: loop.call_soon_threadsafe(wind_down)):
                return runner.run(train_recipe(recipe, folder, resume=resume, emit=watcher, stop=stop))
    except KeyboardInterrupt:
        narrate(Text("stopped at once", "bold"), _how_to_resume(folder))
        raise typer.Exit(130) from None


@contextmanager
def _interruptible(stop: Callable[[], object]) -> Iterator[None]:
    """The first Ctrl-C calls `stop`; the second raises KeyboardInterrupt wherever the program is."""
    times = 0

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        nonlocal times
        times += 1
        if times > 1:
            raise KeyboardInterrupt
        stop()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _how_to_resume(folder: RunFolder) -> Text:
    return Text(visible(f"go on with: {invocation()} train --resume --out {folder.path}"))


def _finish(recipe: Recipe, folder: RunFolder, report: TrainReport, json: bool) -> None:
    """The report: for people on stdout, or as one object there and for people on stderr."""
    if json:
        emit(report.model_dump(mode="json"))
    if report.interrupted:
        narrate(
            Text(f"stopped and saved at step {report.steps} of {recipe.steps}", "bold"), _how_to_resume(folder)
        )
        raise typer.Exit(130)
    (narrate if json else show)(*ending(recipe, folder, report))
    if report.stopped_by:
        narrate(
            Text(visible(f"ended at step {report.steps} of {recipe.steps} by alarm {report.alarms[-1]}"), "bold")
        )
        raise typer.Exit(1)
