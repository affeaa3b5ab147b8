"""The whole loop learns, and only from its rewards; a killed run goes on as if nothing had happened."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import command, environment, finish, kill_when

from simarena.arena.record import RunFolder

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


LEARNS = ("-s", "steps=20", "-s", "rollout.deals=8", "-s", "evaluation.deals=32")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_policy_learns_from_its_rewards(tmp_path: Path, seed: int) -> None:
    report = finish(tmp_path / "run", *LEARNS, "--seed", str(seed))
    assert report["before"]["success"] <= 0.1  # type: ignore[index]
    assert report["after"]["success"] >= 0.8  # type: ignore[index]


def test_with_shuffled_credit_it_does_not(tmp_path: Path) -> None:
    report = finish(tmp_path / "run", *LEARNS, "-s", "credit.shuffle=true")
    assert report["after"]["success"] <= 0.1  # type: ignore[index]


def what_must_be_equal(run: Path) -> dict[str, object]:
    """Weights, optimiser, counters, metrics but for times, and every episode's digest."""
    folder = RunFolder.open(run)
    last = folder.checkpoints()[8]
    rows = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in folder.metrics()]
    return {
        "model": (last / "model.safetensors").read_bytes(),
        "optimiser": (last / "trainer" / "optimiser.safetensors").read_bytes(),
        "state": json.loads((last / "trainer" / "state.json").read_text()),
        "metrics": rows,
        "episodes": {e.id: e.digest() for e in folder.episodes()},
    }


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("straight") / "run"
    finish(run)
    return run


def test_the_trainer_scores_what_the_engine_sampled(straight: Path) -> None:
    """The ratio of a fresh token is 1 by construction; this is what would show that it had to be forced."""
    gaps = [row["mismatch/max"] for row in RunFolder.open(straight).metrics() if "mismatch/max" in row]
    assert len(gaps) > 4  # a step without signal trains on nothing
    assert max(gaps) < 1e-5


def test_it_samples_scores_and_measures_at_the_temperatures_asked_for(tmp_path: Path) -> None:
    cool = tmp_path / "cool"
    finish(cool, "-s", "steps=3", "-s", "rollout.temperature=0.6", "-s", "evaluation.temperature=0")
    folder = RunFolder.open(cool)
    told = {
        (episode.id.partition("-")[0], turn.record.temperature)
        for episode in folder.episodes()
        for turn in episode.turns
        if turn.record
    }
    assert told == {("train", 0.6), ("eval", 0.0)}
    assert max(row["mismatch/max"] for row in folder.metrics() if "mismatch/max" in row) < 1e-5


def test_a_run_killed_again_and_again_equals_one_that_was_not(straight: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for kills, step in enumerate((1, 3, 6)):
        more = ("--resume",) if kills else ()
        process = subprocess.Popen(command(run, *more), env=environment(), stderr=subprocess.DEVNULL)
        kill_when(process, run, step)
    finish(run, "--resume")
    assert what_must_be_equal(run) == what_must_be_equal(straight)


def test_over_ray_a_killed_run_equals_one_in_process_that_was_not(straight: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(command(run, "--backend", "ray"), env=environment(), stderr=subprocess.DEVNULL)
    kill_when(process, run, 5)
    finish(run, "--resume")
    assert what_must_be_equal(run) == what_must_be_equal(straight)


def test_a_finished_run_can_be_resumed_without_harm(straight: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(straight, run)
    assert finish(run, "--resume")["steps"] == 8
    assert what_must_be_equal(run) == what_must_be_equal(straight)
