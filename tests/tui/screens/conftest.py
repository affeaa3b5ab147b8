"""No test of screens reads the settings of whoever runs it, or its colours; none waits for a quiet machine."""

import asyncio
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def settings_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for settings; returns where the file would be."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / "config" / "simarena" / "watch.toml"


@pytest.fixture(autouse=True)
def no_idling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pilot sleeps after each key until the process has hardly worked for a while, on a busy machine two
    seconds. Here all widgets have dealt with their messages instead: see `screens.settled`."""

    async def a_moment(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    monkeypatch.setattr("textual.app.wait_for_idle", a_moment)
    monkeypatch.setattr("textual.pilot.wait_for_idle", a_moment)
