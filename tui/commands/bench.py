"""`simarena bench`: measures and prints; one JSON line per figure with `--json`."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

import typer
from rich.text import Text

from simarena.tui.bench.figure import Figure
from simarena.tui.console import emit, run, show
from simarena.tui.progress import tell

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure how fast this machine is.")
Json = Annotated[bool, typer.Option("--json", help="One JSON line per figure on stdout.")]


@app.command()
def bus(json: Json = False) -> None:
    """Messages per second, and scripted turns per second end to end in both backends.

    Example: simarena bench bus
    """
    from simarena.tui.bench.bus import measure

    run(_print(measure(), json))


@app.command()
def rollout(
    model: Annotated[Literal["tiny", "smollm2"], typer.Option(help="tiny or smollm2.")] = "tiny",
    steps: Annotated[int, typer.Option(min=1, help="Training steps to measure.")] = 2,
    json: Json = False,
) -> None:
    """Sampled tokens per second against plain transformers, and what a training step costs beside them.

    Example: simarena bench rollout --model tiny
    """
    from simarena.tui.bench.rollout import measure

    run(_print(measure(model, steps, tell), json))


@app.command()
def overlap(
    pairs: Annotated[int, typer.Option(min=1, help="Blocks of steps each way.")] = 3,
    max_age: Annotated[int, typer.Option(min=1, help="As asynchronous.max_age of a recipe.")] = 1,
    json: Json = False,
) -> None:
    """What is gained by conversations that go on while the trainer learns: both ways by turns, over Ray.

    Example: simarena bench overlap --pairs 2
    """
    from simarena.tui.bench.overlap import measure

    run(_print(measure(pairs, max_age, tell), json))


@app.command()
def watch(
    rate: Annotated[int, typer.Option(min=1, help="Messages a second that are written.")] = 1000,
    seconds: Annotated[float, typer.Option(min=1, help="How long.")] = 60.0,
    conversations: Annotated[int, typer.Option(min=1, help="Conversations that go on at once.")] = 500,
    json: Json = False,
) -> None:
    """What a viewer takes in, how soon it answers a key meanwhile, and what the run loses by being watched.

    Example: simarena bench watch --seconds 10
    """
    from simarena.tui.bench.watch import measure

    run(_print(measure(rate, seconds, conversations), json))


async def _print(figures: AsyncIterator[Figure], json: bool) -> None:
    async for figure in figures:
        emit(figure.row()) if json else show(Text(str(figure)))
