"""Pictures: a few screens compared to the last dot, and the command that draws them.

After a change that is meant, `SIMARENA_DRAW=1 pytest tests/tui/screens/test_pictures.py` draws them anew; look
at them before they are committed.
"""

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from feeds import FakeSource
from scenes import desk, explained, tooled, trained
from screens import NOON

from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.tui.commands.watch import _size
from simarena.tui.main import main
from simarena.tui.picture import picture

HERE = Path(__file__).parent / "pictures"
SCENES: dict[str, tuple[Callable[[], FakeSource], str, tuple[int, int], str]] = {
    "arena": (tooled, "enter j", (120, 30), "simarena-dark"),
    "arena-narrow-light": (desk, "t g", (80, 24), "simarena-light"),
    "training": (trained, "2", (160, 44), "simarena-dark"),
    "why-contrast": (explained, "t g w", (140, 36), "simarena-contrast"),
}


@pytest.fixture(autouse=True)
def no_idling() -> None:
    """Pictures are drawn as the command draws them, when all is quiet."""


@pytest.mark.parametrize("name", SCENES)
async def test_screens_look_as_they_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, keys, size, theme = SCENES[name]
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 0.5, 0.5))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("simarena.tui.machine.shutil.which", lambda name: None)
    source = make()
    for row in list(source.conversations):
        source.conversations.put(dataclasses.replace(row, updated=NOON))
    drawn = _nameless(await picture(source, keys=keys.split(), size=size, theme=theme))
    file = HERE / f"{name}.svg"
    if os.environ.get("SIMARENA_DRAW"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(drawn)
    assert drawn == file.read_text(), f"{name} has changed: SIMARENA_DRAW=1 draws it anew, then look at it"


def _nameless(svg: str) -> str:
    """Rich names its classes after the contents; here after nothing."""
    return re.sub(r"terminal-\d+", "terminal", svg)


def test_the_command_draws_a_recorded_run(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "told"})
    folder.close()
    file = tmp_path / "screen.svg"
    assert main(["watch", str(tmp_path / "run"), "--picture", str(file), "--size", "90x20"]) == 0
    drawn = file.read_text()
    assert "This&#160;run&#160;recorded&#160;no&#160;conversations." in drawn
    assert "url(" not in drawn.replace("url(#", ""), "nothing may be loaded from elsewhere"
    assert "cdnjs" not in drawn


def test_a_picture_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "told"})
    folder.close()
    assert main(["watch", str(tmp_path / "run"), "--picture", str(tmp_path / "no" / "x.svg")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_sizes_are_columns_by_lines() -> None:
    assert _size("132x38") == (132, 38)
    for wrong in ("132", "x38", "10x10", "axb"):
        with pytest.raises(UsageError, match="write it as 132x38"):
            _size(wrong)
