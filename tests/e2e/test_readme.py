"""What the README shows works as written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("block", blocks("python"))
def test_the_python_runs(block: str) -> None:
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 8


COMMANDS = sorted(set(re.findall(r"simarena (train|play|eval|replay|list|doctor|compare|bench)\b", TEXT)))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_exist(command: str) -> None:
    simarena = Path(sys.executable).parent / "simarena"
    done = subprocess.run([str(simarena), command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Example: " in done.stdout or command == "bench"


def test_every_linked_file_and_make_target_is_there() -> None:
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / path).exists(), path
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`|\$ )make (\w+)", TEXT, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
