"""`simarena replay`: shows what a run recorded. Reads files only: no Ray, no server, no torch."""

from collections.abc import Iterable
from typing import Annotated, Any, get_args

import typer
from rich.table import Table
from rich.text import Text

from simarena.arena.episodes import Ending, Episode
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.arena.text import one_line
from simarena.tui import runs
from simarena.tui.console import emit, narrate, show
from simarena.tui.transcript import summary, transcript

_SHOWN = 12
"""Episodes listed when none is named."""


def replay(
    run: Annotated[str, typer.Argument(help="A run folder, or its name under runs/, such as `latest`.")],
    episode: Annotated[str, typer.Argument(help="Id of one episode; left out: list them.")] = "",
    batch: Annotated[str | None, typer.Option(help="Look in this batch only.")] = None,
    persona: Annotated[str | None, typer.Option(help="List only episodes with this persona.")] = None,
    ending: Annotated[str | None, typer.Option(help="List only episodes that ended so.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Show a recorded conversation: who said what to whom, what it earned, how it ended.

    Without an episode, list the batches of the run and the first episodes of one of them.

    Example: simarena replay latest
    """
    folder = runs.locate(run)
    if ending is not None and ending not in get_args(Ending):
        raise UnknownName("ending", ending, get_args(Ending))
    if episode:
        found = runs.find(folder, episode, batch)
        emit(found.model_dump(mode="json")) if json else show(transcript(found))
        return
    sizes = runs.sizes(folder)
    if not sizes:
        raise UsageError(f"{folder.path} has recorded no episodes yet")
    batch = batch if batch is not None else _newest(sizes)
    chosen = [one for one in folder.episodes(batch) if _matches(one, persona, ending)]
    if json:
        emit(
            {"run": str(folder.path), "batches": sizes, "batch": batch, "episodes": [_row(one) for one in chosen]}
        )
        return
    show(_batches(sizes, batch))
    _list(folder, batch, chosen)


def _newest(sizes: dict[str, int]) -> str:
    return max(sizes)


def _matches(episode: Episode, persona: str | None, ending: str | None) -> bool:
    return (persona is None or episode.labels.get("persona") == persona) and ending in (None, episode.ending)


def _row(episode: Episode) -> dict[str, Any]:
    return {
        "id": episode.id,
        "labels": episode.labels,
        "ending": episode.ending,
        "success": episode.success,
        "returns": {seat: episode.returns(seat) for seat in episode.seats},
    }


def _batches(sizes: dict[str, int], chosen: str) -> Table:
    table = Table("batch", "episodes", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, size in sizes.items():
        table.add_row(Text(one_line(name), "bold" if name == chosen else ""), Text(str(size)))
    return table


def _list(folder: RunFolder, batch: str, episodes: Iterable[Episode]) -> None:
    episodes = list(episodes)
    done = sum(episode.success for episode in episodes)
    show("", Text(one_line(f"{batch}: {len(episodes)} episodes, {done} with success"), "bold"))
    for episode in episodes[:_SHOWN]:
        show(Text(summary(episode, 78)))
    if len(episodes) > _SHOWN:
        show(Text(f"… {len(episodes) - _SHOWN} more (--json lists all)", "dim"))
    if episodes:
        narrate("", Text(one_line(f"show one: simarena replay {folder.path} {episodes[0].id}")))
