"""A learner over two processes is the learner in one: metrics, weights, checkpoints both ways, and a lost rank."""

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollouts import ADAPTER, BATCH, VOCAB, llama, rollout

from simarena.agents import tiny
from simarena.arena.errors import SimArenaError
from simarena.training.config import LearnerOptions
from simarena.training.crew import Crew
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.trainer import Alone, hire

OPENING = tuple(range(20, 50))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of the hand-made rollouts, with some tokenizer."""
    place = tmp_path_factory.mktemp("model")
    tiny.build([f"w{n}" for n in range(VOCAB - 6)], place, seed=0)
    llama().save_pretrained(place)
    return place


def options(train: str, **more: Any) -> LearnerOptions:
    adapter = {"lora": ADAPTER} if train == "lora" else {}
    return LearnerOptions.model_validate(
        {
            "policy": {"model": "given", "train": train, **adapter},
            "optimiser": {"lr": 1e-3, "micro_tokens": 40},
            "loss": GRPOOptions(kl_beta=0.1, **more).model_dump(),
        }
    )


def batch(version: int) -> list[Any]:
    """Six short trajectories and a group of five with a common opening, as this version sampled them."""

    def of(sample: Any) -> Any:
        return dataclasses.replace(sample, versions=tuple(version if mine else -1 for mine in sample.mask))

    blank = (0,) * len(OPENING)
    group = [
        dataclasses.replace(
            one,
            key=f"g/{one.key}",
            ids=(*OPENING, *one.ids),
            **{
                name: (*blank, *getattr(one, name))
                for name in ("advantages", "logprobs", "versions", "turns", "mask")
            },
        )
        for one in (rollout(n, advantages=(0.5 - 0.3 * n, 0.2)) for n in range(5))
    ]
    return [of(one) for one in [*BATCH, *group]]


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in other.items():
        np.testing.assert_allclose(one[name], array, atol=2e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("train", ["full", "lora"])
def test_two_ranks_equal_one(train: str, folder: Path, tmp_path: Path) -> None:
    alone = hire(folder, options(train), 0, 1, ranks=1)
    crew = hire(folder, options(train), 0, 1, ranks=2)
    assert isinstance(alone, Alone)
    assert isinstance(crew, Crew)
    for step in range(2):
        wanted, got = alone.do("update", batch(step)), crew.do("update", batch(step))
        assert got["ratio/max"] == got["ratio/ess"] == 1.0
        # How a step is cut follows the ranks; all else does not.
        for name in sorted(wanted.keys() - {"tokens/computed", "tokens/padding"}):
            assert got[name] == pytest.approx(wanted[name], rel=1e-3, abs=1e-5), name
    same(crew.do("weights"), alone.do("weights"))
    crew.do("save", tmp_path / "two")
    alone.do("save", tmp_path / "one")

    # Each goes on from the other's checkpoint, and a crew from its own bit for bit.
    straight = crew.do("update", batch(2))
    then = crew.do("weights")
    crew.do("load", tmp_path / "two")
    assert crew.do("update", batch(2)) == straight
    assert all((array == then[name]).all() for name, array in crew.do("weights").items())
    alone.do("load", tmp_path / "two")
    crew.do("load", tmp_path / "one")
    wanted, got = alone.do("update", batch(2)), crew.do("update", batch(2))
    assert got["train/grad_norm"] == pytest.approx(wanted["train/grad_norm"], rel=1e-3)
    same(crew.do("weights"), alone.do("weights"))

    # An update without anything to learn from waits for nobody, and a lost rank is told in words.
    assert crew.do("update", [])["train/skipped_steps"] == 1.0
    os.kill(crew.ranks[1].process.pid, signal.SIGKILL)
    with pytest.raises(SimArenaError, match="rank 1 of the trainer ended with exit code -9: resume"):
        crew.do("update", batch(4))
    crew.close()
