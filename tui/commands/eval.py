"""`simarena eval`: scores one checkpoint on held-out deals, per persona, with intervals."""

from typing import Annotated

import typer
from rich.text import Text

from simarena.arena.text import one_line
from simarena.training import recipe_file
from simarena.training.evaluation import evaluate_checkpoint
from simarena.tui.casting import DEFAULT_RECIPE, model, recipe_of
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
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Score a checkpoint: success per persona with 95 % intervals, harmful compliance, over-refusal.

    Example: simarena eval latest --deals 100
    """
    run(_evaluate(checkpoint, recipe, split, deals, seed, backend, json))


async def _evaluate(
    checkpoint: str, recipe: str | None, split: str, deals: int, seed: int, backend: str | None, json: bool
) -> None:
    folder = await model(checkpoint, recipe_file.load(recipe or DEFAULT_RECIPE), tell)
    chosen = (recipe_of(folder) if recipe is None else None) or recipe_file.load(recipe or DEFAULT_RECIPE)
    if backend is not None:
        chosen = recipe_file.parse({**chosen.model_dump(exclude_unset=True), "backend": backend})
    models = dict.fromkeys((*chosen.roster, *chosen.frozen), folder)
    score, _ = await evaluate_checkpoint(models, chosen, split=split, deals=deals, seed=seed)
    if json:
        emit({"checkpoint": str(folder), "split": split, **score.model_dump(mode="json")})
    else:
        show(Text(one_line(str(folder)), "bold"), comparison({folder.name: score}, split))
