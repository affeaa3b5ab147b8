"""The starting point: the net a recipe asks for; a cloning that nobody waits for any more leaves nothing."""

import asyncio
import contextlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from simarena.training import cloning, recipe_file, starting_point


def test_the_net_has_the_shape_asked_for_and_one_cache_entry_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMARENA_HOME", str(tmp_path))
    small = ["policy.shape.hidden=16", "policy.shape.layers=1", "policy.shape.heads=2"]
    folders = [starting_point._tiny(recipe_file.load("service-desk-tiny", more)) for more in ([], small)]
    shapes = [json.loads((folder / "config.json").read_text()) for folder in folders]
    assert [(one["hidden_size"], one["num_hidden_layers"]) for one in shapes] == [(128, 4), (16, 1)]


async def test_a_cancelled_cloning_stops_at_its_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMARENA_HOME", str(tmp_path))
    started, ended = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def none(*_: object) -> list[Any]:
        return []

    def imitate(*arguments: Any) -> None:
        progress = arguments[-1]
        try:
            for step in range(1000):
                progress(step, 1000, 0.5)
                loop.call_soon_threadsafe(started.set)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(cloning, "demonstrations", none)
    monkeypatch.setattr(cloning, "imitate", imitate)
    recipe = recipe_file.load("service-desk-tiny")
    work = asyncio.create_task(starting_point._cloned(recipe, tmp_path, lambda _: None))
    await started.wait()
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    assert await asyncio.to_thread(ended.wait, 5)
    await asyncio.sleep(0.05)
    assert list(tmp_path.iterdir()) == []
