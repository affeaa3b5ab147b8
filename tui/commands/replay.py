"""`simarena replay`: shows what a run recorded. Reads files only: no Ray, no server, no torch."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, get_args

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simarena.arena.episodes import Ending, Episode
from simarena.arena.errors import UnknownName
from simarena.arena.record import RunFolder
from simarena.arena.text import one_line
from simarena.tui import runs
from simarena.tui.console import emit, invocation, narrate, show
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
    batch = batch if batch is not None else runs.newest_batch(folder)
    chosen = [one for one in runs.episodes(folder, batch) if _matches(one, persona, ending)]
    if json:
        emit({"run": str(folder.path), "batch": batch, "episodes": [_row(one) for one in chosen]})
    else:
        show(_batches(folder, batch), "", *_list(batch, chosen))
        narrate("", *(_hint(folder, one) for one in chosen[:1]))


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


def _batches(folder: RunFolder, chosen: str) -> Table:
    table = Table("batch", "episodes", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, size in runs.sizes(folder).items():
        table.add_row(Text(one_line(name), "bold" if name == chosen else ""), Text(str(size)))
    return table


def _list(batch: str, episodes: Sequence[Episode]) -> Iterator[RenderableType]:
    done = sum(episode.success for episode in episodes)
    yield Text(one_line(f"{batch}: {len(episodes)} episodes, {done} with success"), "bold")
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    for ratio in (None, None, 1):
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=ratio)
    for episode in episodes[:_SHOWN]:
        table.add_row(*map(Text, summary(episode)))
    yield table
    if len(episodes) > _SHOWN:
        yield Text(f"… {len(episodes) - _SHOWN} more (--json lists all)", "dim")


def _hint(folder: RunFolder, episode: Episode) -> Text:
    return Text(one_line(f"show one: {invocation()} replay {runs.name_of(folder)} {episode.id}"))
