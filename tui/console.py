"""The two channels of the command line: stdout carries data, stderr carries narration.

Owns how lines reach a terminal or a pipe. Knows no command and no episode. Strings given here are shown as
they are, never parsed as markup; hostile text is the caller's to pass through `arena.text` first.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from simarena.arena.text import one_line

T = TypeVar("T")


def stdout() -> Console:
    """The console for what was asked for."""
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False)


def stderr() -> Console:
    """The console for what is going on."""
    return Console(file=sys.stderr, markup=False, highlight=False, emoji=False)


def show(*what: RenderableType) -> None:
    """Print to stdout."""
    _print(stdout(), what)


def narrate(*what: RenderableType) -> None:
    """Print to stderr."""
    _print(stderr(), what)


def _print(console: Console, what: Iterable[RenderableType]) -> None:
    """Bare lines are never broken, so that a command can be copied and a pipe be searched."""
    for thing in what:
        console.print(thing, soft_wrap=isinstance(thing, Text))


def write(lines: Iterable[str]) -> None:
    """Lines of safe text on stdout, without the cost of laying them out."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def emit(value: object) -> None:
    """One JSON object on one line of stdout, in ASCII, so that it is safe on a terminal too."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def complain(error: object) -> None:
    """The one line that says what went wrong."""
    sys.stderr.write(f"error: {one_line(str(error))}\n")


def invocation() -> str:
    """How the person can call this program: its name if that is on the PATH, else where it is."""
    return "simarena" if shutil.which("simarena") else os.path.relpath(sys.argv[0])


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; Ctrl-C ends it with exit code 130 and one line."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise typer.Exit(130) from None
