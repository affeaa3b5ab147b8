"""The trainer's actor: what goes wrong on purpose comes back as it is, whenever it went wrong."""

from pathlib import Path

import pytest

from simarena.agents import tiny
from simarena.arena.errors import RunFolderError, UsageError
from simarena.training import recipe_file
from simarena.training.trainer import TrainerActor


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(["say", "red"], tmp_path_factory.mktemp("model"), seed=0)


def test_a_trainer_that_cannot_be_built_tells_its_first_caller(model: Path, tmp_path: Path) -> None:
    misfit = ["policy.train=lora", 'policy.lora.targets=["no_such_layer"]']
    refused = TrainerActor(model, recipe_file.load("service-desk-tiny", misfit)).do("weights")
    assert isinstance(refused, UsageError)
    assert "policy.lora.targets" in str(refused)
    missing = TrainerActor(tmp_path, recipe_file.load("service-desk-tiny")).do("weights")
    assert isinstance(missing, UsageError)
    assert str(tmp_path) in str(missing)


def test_it_does_what_it_is_told_and_returns_what_fails(model: Path, tmp_path: Path) -> None:
    actor = TrainerActor(model, recipe_file.load("service-desk-tiny"))
    assert actor.do("save", tmp_path) is None
    assert actor.do("load", tmp_path) is None
    assert isinstance(actor.do("load", tmp_path / "nowhere"), RunFolderError)
