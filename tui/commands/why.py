"""`simarena why`: how the turns of a recorded conversation were credited, down to the token."""

from dataclasses import asdict
from typing import Annotated

import typer

from simarena.arena.episodes import Episode
from simarena.arena.errors import UsageError
from simarena.training import accounts
from simarena.tui import runs
from simarena.tui.console import emit, show
from simarena.tui.explanation import explanation
from simarena.tui.feed.why_told import why_of


def why(
    run: Annotated[str, typer.Argument(help="A run folder, or its name under runs/, such as `latest`.")],
    episode: Annotated[str, typer.Argument(help="Id of one episode.")],
    turn: Annotated[int | None, typer.Option(help="Only this turn of the conversation, with its tokens.")] = None,
    seat: Annotated[str, typer.Option(help="Whose turns; left out: the first seat that a policy plays.")] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, all tokens in it.")] = False,
) -> None:
    """Show why a seat's turns earned their advantages: reward parts, group, baseline, and with --turn each token.

    Reads what training recorded; `simarena replay` shows the conversation itself.

    Example: simarena why latest train-0/17/2 --turn 4
    """
    folder = runs.locate(run)
    batch, entry = runs.place(folder, episode)
    known = {one.episode: one for one in folder.listing(batch)}

    def sibling(id: str) -> Episode:
        if id not in known:
            raise UsageError(f"no episode {id!r} in batch {batch!r}")
        return folder.episode_at(batch, known[id].at, known[id].size)

    told = why_of(
        folder.episode_at(batch, entry.at, entry.size), seat, accounts.read(folder, batch), folder, sibling
    )
    if turn is not None and turn not in (own := [one.turn for one in told.turns]):
        raise UsageError(f"turn {turn} of {told.id} is not one of {told.seat!r}, whose turns are {own}")
    if json:
        chosen = [one for one in told.turns if turn in (None, one.turn)]
        emit({**asdict(told), "turns": [asdict(one) for one in chosen]})
    else:
        show(*explanation(told, turn))
