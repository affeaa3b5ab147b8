"""The command as a whole: exit codes, one-line errors, help, and what it does not import."""

import json
import os
import subprocess
import sys

import pytest

COMMANDS = [
    "train",
    "play",
    "eval",
    "replay",
    "list",
    "doctor",
    "compare",
    "bench bus",
    "bench rollout",
    "bench overlap",
]
HEAVY = ("torch", "ray", "transformers", "textual", "vllm", "redis")


def program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from simarena.tui.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, json; from simarena.tui.main import main; main(['--help']); main(['train', '--help']);"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli, command: str) -> None:
    done = cli(*command.split(), "--help")
    assert done.code == 0
    assert f"Example: simarena {command}" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_a_usage_error_in_one_line(cli, command: str) -> None:
    done = cli(*command.split(), "--nonsense")
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("error: ")
    assert "--nonsense" in line
    assert f"simarena {command} --help" in line


def test_no_command_shows_help_and_is_a_usage_error(cli) -> None:
    done = cli()
    assert done.code == 2
    assert "Commands:" in done.err
    assert cli("trian").err == "error: No such command 'trian'. Did you mean 'train'?: see `simarena --help`\n"


def test_version_is_the_distribution(cli) -> None:
    done = cli("--version")
    assert done.code == 0
    assert done.out.startswith("simarena 0.")


def test_a_traceback_is_shown_only_when_asked_for() -> None:
    quiet = program("replay", "nowhere")
    loud = program("replay", "nowhere", SIMARENA_TRACEBACK="1")
    assert quiet.returncode == 2
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr


def test_a_closed_pipe_is_not_an_error_on_screen() -> None:
    read, write = os.pipe()
    os.close(read)
    code = "import sys; from simarena.tui.main import main; sys.exit(main(['list']))"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 1


def test_a_pipe_gets_no_escape_codes_and_no_color_no_colours(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in cli("list").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in cli("play", "service-desk").out


def test_errors_are_safe_to_show(cli) -> None:
    done = cli("replay", "\x1b]0;owned\x07\u202e")
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err
