"""`simarena watch`: follows a run that goes on, or looks through one that is over."""

import sys
from typing import Annotated, Literal

import typer

from simarena.tui.console import run
from simarena.tui.feed.opening import started
from simarena.tui.feed.query import Query, compile_query


def watch(
    where: Annotated[
        str, typer.Argument(metavar="[RUN | URL]", help="A run folder, its name under runs/, or a bus URL.")
    ] = "latest",
    display: Annotated[
        Literal["auto", "screen", "plain", "json"],
        typer.Option(help="screen, or its headless twins; auto: screen on a terminal, else plain."),
    ] = "auto",
    query: Annotated[
        str, typer.Option("-q", "--query", help="Only these, such as 'persona:forger reward<0'.")
    ] = "",
) -> None:
    """Watch conversations and training, live or recorded. Follows until the run ends.

    A recorded run needs no server. URL#RUN names one of several runs on a server.

    Example: simarena watch latest -q 'NOT success:yes'
    """
    wanted = compile_query(query)
    shown = display if display != "auto" else ("screen" if sys.stdout.isatty() and sys.stdin.isatty() else "plain")
    if code := run(_watch(where, shown, wanted)):
        raise typer.Exit(code)


async def _watch(where: str, display: str, query: Query) -> int:
    source = await started(where)
    try:
        if display == "screen":
            from simarena.tui.app import run_app

            return await run_app(source, str(query))
        if display == "json":
            from simarena.tui.displays.jsonl import jsonl

            await jsonl(source, query)
        else:
            from simarena.tui.displays.plain import plain

            await plain(source, query)
    finally:
        await source.close()
    return 0
