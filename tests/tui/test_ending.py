"""The ending of a run: the same deal before and after, and commands that can be copied."""

from pathlib import Path

import pytest

from simarena.arena.episodes import Episode, Seat
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec
from simarena.training.contrast import contrast
from simarena.tui import runs


def episode(id: str, deal: int, success: bool) -> Episode:
    seats = {"user": Seat(spec=AgentSpec(agent="x"))}
    return Episode(id=id, scenario="s", deal=deal, seats=seats, ending="finished", checks={"done": success})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    run = RunFolder.create(Path("runs/one"))
    run.describe({})
    return run


def test_the_deal_shown_is_one_that_came_to_succeed(folder: RunFolder) -> None:
    folder.write_episodes("eval-000000", [episode(f"eval-0/{d}/0", d, d == 1) for d in range(4)])
    folder.write_episodes("eval-000020", [episode(f"eval-20/{d}/0", d, False) for d in range(4)])
    folder.write_episodes("eval-000040", [episode(f"eval-40/{d}/0", d, d in (1, 2, 3)) for d in range(4)])
    pair = contrast(folder)
    assert pair is not None
    assert [one.id for one in pair] == ["eval-0/2/0", "eval-40/2/0"]


def test_without_two_evaluations_there_is_nothing_to_compare(folder: RunFolder) -> None:
    assert contrast(folder) is None
    folder.write_episodes("eval-000000", [episode("eval-0/0/0", 0, True)])
    folder.write_episodes("train-000001", [episode("train-0/0/0", 0, True)])
    assert contrast(folder) is None


def test_a_run_is_named_latest_only_while_it_is(folder: RunFolder) -> None:
    assert runs.name_of(folder) == "latest"
    assert runs.locate("latest").path == Path("runs/one")
    RunFolder.create(Path("runs/two")).describe({})
    assert runs.name_of(folder) == "runs/one"
    assert runs.locate("one").path == Path("runs/one")


def test_the_latest_checkpoint_skips_runs_without_one(folder: RunFolder) -> None:
    assert runs.latest_checkpoint() is None
    for step in (3, 20):
        with folder.checkpoint(step):
            pass
    RunFolder.create(Path("runs/two")).describe({})
    assert runs.latest_checkpoint() == Path("runs/one/checkpoints/step-20")
