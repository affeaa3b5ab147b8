"""The command `simarena`: its subcommands, and how every error leaves it.

Exit codes: 0 done, 1 the run failed, 2 a usage error, 130 interrupted. An error is one line on stderr;
SIMARENA_TRACEBACK=1 shows where it came from. Knows no command's work.
"""

import itertools
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from simarena.arena.errors import SimArenaError, UsageError
from simarena.tui.commands import bench, compare, doctor, play, replay, serve, tournament, train, watch, why
from simarena.tui.commands import eval as evaluate
from simarena.tui.commands import list as listing
from simarena.tui.console import complain

app = typer.Typer(
    name="simarena",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train.train)
app.command()(play.play)
app.command(name="eval")(evaluate.evaluate)
app.command()(watch.watch)
app.command()(replay.replay)
app.command()(why.why)
app.command(name="list")(listing.listing)
app.command()(tournament.tournament)
app.command()(compare.compare)
app.command()(serve.serve)
app.command()(doctor.doctor)
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"simarena {metadata.version('simarena')}")
        raise typer.Exit


@app.callback()
def simarena(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Language-model agents talk to each other and learn from it.

    Start with `simarena train`; `simarena doctor` says what is installed.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = app(args=arguments, prog_name="simarena", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except BrokenPipeError:
        # Whoever read our output has gone, such as `head`; keep the interpreter from flushing into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except typer.TyperException as error:
        return _usage(error, sys.argv[1:] if arguments is None else arguments)
    except Exception as error:
        if os.environ.get("SIMARENA_TRACEBACK") == "1":
            raise
        if isinstance(error, SimArenaError | OSError):
            complain(error)
        else:
            complain(f"{type(error).__name__}: {error} (a defect; SIMARENA_TRACEBACK=1 shows where)")
        return 2 if isinstance(error, UsageError) else 1


def _usage(error: typer.TyperException, arguments: Sequence[str]) -> int:
    """A command line that does not parse: one line, and where to read on."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "simarena"
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(message + "\n")
    else:
        complain(f"{message.rstrip('.')}{_given(error, arguments)}: see `{path} --help`")
    return error.exit_code


def _given(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """The value of the option that was refused, which the parser's own message leaves out."""
    options = getattr(getattr(error, "param", None), "opts", ())
    pairs = itertools.pairwise(arguments)
    return next((f", got {value!r}" for option, value in pairs if option in options), "")
