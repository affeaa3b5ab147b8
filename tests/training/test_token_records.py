"""An engine without token records is refused as a learner before anything is played or written."""

import asyncio
from pathlib import Path

import pytest

from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.training import recipe_file
from simarena.training.evaluation import require_records
from simarena.training.run import train

TOLD = "policy.engine = 'openai' gives no token records, so assistant cannot learn"


async def test_training_refuses_it_at_once(tmp_path: Path) -> None:
    recipe = recipe_file.load("service-desk-tiny", ["policy.engine=openai"])
    folder = RunFolder.create(tmp_path / "run")
    with pytest.raises(UsageError, match=TOLD):
        await train(recipe, folder, resume=False, emit=lambda _: None, stop=asyncio.Event())
    assert not (folder.path / "run.json").exists()


def test_an_engine_that_gives_them_may_learn() -> None:
    require_records(recipe_file.load("service-desk-tiny"))
