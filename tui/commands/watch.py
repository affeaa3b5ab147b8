"""`simarena watch`: follows a run that goes on, or looks through one that is over."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from simarena.arena.errors import UsageError
from simarena.tui import runs
from simarena.tui.console import narrate, run
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
    serve: Annotated[bool, typer.Option("--serve", help="The screen in a browser of this machine.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where --serve listens, on 127.0.0.1.")] = 8000,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the screen into a file instead.")
    ] = None,
    keys: Annotated[str, typer.Option(help="Keys to press before --picture, such as '2' or 'enter j w'.")] = "",
    size: Annotated[str, typer.Option(metavar="COLUMNSxLINES", help="Size of the --picture.")] = "132x38",
) -> None:
    """Watch conversations and training, live or recorded. Follows until the run ends; a run that
    dies under the headless displays is exit code 1.

    A recorded run needs no server. URL#RUN names one of several runs on a server.

    Example: simarena watch latest -q 'NOT success:yes'
    """
    wanted = compile_query(query)
    if serve:
        from simarena.tui.serve import serve as browser_door

        if "://" not in where:
            runs.locate(where)  # what is not there is told here, not in the browser
        browser_door(["watch", where, "--display", "screen", "-q", query], port)
        return
    if picture is not None:
        run(_picture(where, picture, str(wanted), keys.split(), _size(size)))
        return
    shown = display if display != "auto" else ("screen" if sys.stdout.isatty() and sys.stdin.isatty() else "plain")
    if code := run(_watch(where, shown, wanted)):
        raise typer.Exit(code)


def _size(written: str) -> tuple[int, int]:
    columns, cross, lines = written.partition("x")
    if not (cross and columns.isdecimal() and lines.isdecimal() and int(columns) >= 40 and int(lines) >= 12):
        raise UsageError(f"--size {written!r} is no size: write it as 132x38, at least 40x12")
    return int(columns), int(lines)


async def _picture(where: str, file: Path, query: str, keys: list[str], size: tuple[int, int]) -> None:
    from simarena.tui.picture import picture

    source = await started(where)
    try:
        drawn = await picture(source, query=query, keys=keys, size=size)
    finally:
        await source.close()
    try:
        await asyncio.to_thread(file.write_text, drawn, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from None
    narrate(Text(f"drawn {file}"))


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
        return int(source.status().connection == "lost")
    finally:
        await source.close()
