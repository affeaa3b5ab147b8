"""Cross-policy sampling: a past self takes a share of the turns, says so, and is there again after a resume."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import ECHO

from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.training import recipe_file
from simarena.training.run import train

CROSSED = (
    "rollout.cross_policy.share=0.3",
    "rollout.cross_policy.every=4",
    "loss.correction.how=truncate",
    "policy.shape={hidden=16, layers=1, heads=2, intermediate=32}",
    "checkpoint_every=3",
    "evaluation.every=0",
)


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMARENA_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def run(path: Path, steps: int, resume: bool = False) -> RunFolder:
    folder = RunFolder.resume(path) if resume else RunFolder.create(path)
    recipe = recipe_file.load(str(ECHO), [*CROSSED, f"steps={steps}"])
    asyncio.run(train(recipe, folder, resume=resume, emit=lambda _: None, stop=asyncio.Event()))
    folder.close()
    return folder


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run(tmp_path_factory.mktemp("straight") / "run", 8)


@pytest.mark.slow
def test_turns_in_training_are_of_the_present_or_the_past_and_evaluations_are_not(straight: RunFolder) -> None:
    ages: dict[int, Counter[int]] = {}
    for episode in straight.episodes():
        kind, _, step = episode.id.partition("/")[0].partition("-")
        for record in episode.records_of("pupil"):
            if kind == "eval":
                assert record.version == int(step)
            else:
                ages.setdefault(int(step), Counter())[int(step) - record.version] += 1
    assert {step: set(found) for step, found in ages.items()} == {step: {0, step % 4} for step in range(8)}
    old = sum(found[step % 4] for step, found in ages.items() if step % 4)
    assert old / sum(sum(found.values()) for step, found in ages.items() if step % 4) == pytest.approx(
        0.3, abs=0.06
    )
    row = next(row for row in straight.metrics() if row["step"] == 8 and "reward/mean" in row)
    assert row["rollout/age_max"] == 3
    assert 0.1 < row["tokens/stale"] < 0.6
    assert row["correction/weight"] != 1


@pytest.mark.slow
def test_a_resume_goes_on_with_the_same_past(straight: RunFolder, tmp_path: Path) -> None:
    run(tmp_path / "run", 6)
    assert [path.name for path in (tmp_path / "run" / "past").iterdir()] == ["learner@4.safetensors"]
    cut = run(tmp_path / "run", 8, resume=True)
    kept = [
        {
            "weights": (folder.checkpoints()[8] / "model.safetensors").read_bytes(),
            "episodes": {one.id: one.digest() for one in folder.episodes() if one.id.startswith("train-")},
        }
        for folder in (straight, cut)
    ]
    assert kept[0] == kept[1]


def test_half_a_setting_and_a_loss_without_correction_are_refused() -> None:
    with pytest.raises(UsageError, match="needs both `share` and `every`"):
        recipe_file.load(str(ECHO), ["rollout.cross_policy.share=0.3"])
    with pytest.raises(UsageError, match=r"rollout\.cross_policy trains on tokens of older policies"):
        recipe_file.load(str(ECHO), [one for one in CROSSED if not one.startswith("loss")])
