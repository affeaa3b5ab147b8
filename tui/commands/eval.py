"""`simarena eval`: scores one checkpoint on held-out deals, per persona, with intervals."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from simarena.arena.text import one_line
from simarena.training import recipe_file
from simarena.training.config import Recipe
from simarena.training.evaluation import evaluate_checkpoint
from simarena.training.seating import Chair, chair
from simarena.training.starting_point import starting_models
from simarena.tui import runs
from simarena.tui.casting import DEFAULT_RECIPE, cast, learned, model, pairs, recipe_of
from simarena.tui.casting import checkpoint as checkpoint_in
from simarena.tui.comparison import comparison
from simarena.tui.console import emit, run, show
from simarena.tui.progress import tell


def evaluate(
    checkpoint: Annotated[str, typer.Argument(help="A run such as `latest`, a model folder, tiny or smollm2.")],
    recipe: Annotated[
        str | None, typer.Option(help="Recipe to score under; left out: the checkpoint's own, or the default.")
    ] = None,
    split: Annotated[str, typer.Option(help="heldout, validation or train.")] = "heldout",
    deals: Annotated[int, typer.Option(min=1, help="Conversations to play.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the agents' chance.")] = 0,
    backend: Annotated[str | None, typer.Option(help="inproc or ray; left out: the recipe's.")] = None,
    engine: Annotated[str | None, typer.Option(help="transformers or vllm; left out: the recipe's.")] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(metavar="SEAT=WHO", help="Somebody else on a seat: an agent, a run, a model."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Score a checkpoint: success per persona with 95 % intervals, harmful compliance, over-refusal.

    Everybody sits where the run's recipe says, frozen policies as they began; `--seat` puts others there.

    Example: simarena eval latest --deals 100
    """
    guests = pairs(seat or (), "--seat")
    how = {"split": split, "deals": deals, "seed": seed}
    run(_evaluate(checkpoint, recipe, {"backend": backend, "engine": engine}, guests, how, json))


async def _evaluate(
    checkpoint: str,
    recipe: str | None,
    where: dict[str, str | None],
    guests: dict[str, str],
    how: dict[str, Any],
    json: bool,
) -> None:
    folder, chosen, trained = await _learned(checkpoint, recipe)
    chosen = _placed(chosen, **where)
    others = await cast(guests, tell)
    seated = {one.name for seat, one in _chairs(chosen).items() if one.kind == "frozen" and seat not in guests}
    score, _ = await evaluate_checkpoint(
        chosen,
        await starting_models(chosen, tell, seated),
        trained,
        guests=others.seats,
        engines=others.policies,
        **how,
    )
    split = how["split"]
    if json:
        emit({"checkpoint": str(folder), "split": split, **score.model_dump(mode="json")})
    else:
        show(Text(one_line(str(folder)), "bold"), comparison({folder.name: score}, split))


def _placed(recipe: Recipe, backend: str | None, engine: str | None) -> Recipe:
    """The recipe in this backend and with this engine, where one is given."""
    written = recipe.model_dump(exclude_unset=True)
    if backend is not None:
        written["backend"] = backend
    if engine is not None:
        written["policy"] = {**written.get("policy", {}), "engine": engine}
    return recipe_file.parse(written)


def _chairs(recipe: Recipe) -> dict[str, Chair]:
    return {seat: chair(written) for seat, written in recipe.seats.items()}


async def _learned(name: str, recipe: str | None) -> tuple[Path, Recipe, dict[str, Path]]:
    """The folder of a checkpoint, the recipe to score it under, and the model of every learner of that."""
    found = runs.folder(name)
    folder = checkpoint_in(found) if found is not None else None
    several = learned(folder) if folder is not None and recipe is None else {}
    if folder is None or not several:
        folder = await model(name, recipe_file.load(recipe or DEFAULT_RECIPE), tell)
    chosen = (recipe_of(folder) if recipe is None else None) or recipe_file.load(recipe or DEFAULT_RECIPE)
    return folder, chosen, several or dict.fromkeys(chosen.roster, folder)
