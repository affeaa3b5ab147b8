"""Two learners with a population: each its own files and metrics, and the same again after being killed."""

import json
import subprocess
from pathlib import Path

import pytest
from commands import SUPPORT, command, environment, finish, kill_when

from simarena.arena.record import RunFolder

PAIR = SUPPORT / "pair.toml"
NAMES = ("alice", "bob")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


def what_must_be_equal(run: Path) -> dict[str, object]:
    """Everybody's weights, optimiser and reference, the run's books, metrics but for times, all episodes."""
    folder = RunFolder.open(run)
    last = folder.checkpoints()[6]
    rows = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in folder.metrics()]
    names = ("model", "trainer/optimiser", "trainer/reference")
    weights = {
        f"{who}/{name}": (last / who / f"{name}.safetensors").read_bytes() for who in NAMES for name in names
    }
    books = json.loads((last / "run.json").read_text())
    snapshots = {path.name: path.read_bytes() for path in (run / "population").glob("*.safetensors")}
    episodes = {e.id: e.digest() for e in folder.episodes()}
    return {**weights, **episodes, "books": books, "metrics": rows, "snapshots": snapshots}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("straight") / "run"
    finish(run, recipe=PAIR)
    return run


def test_each_learner_learns_by_itself(straight: Path) -> None:
    last = RunFolder.open(straight).checkpoints()[6]
    states = [json.loads((last / who / "trainer" / "state.json").read_text()) for who in NAMES]
    assert [state["version"] for state in states] == [6, 6]
    assert (last / "alice" / "model.safetensors").read_bytes() != (last / "bob" / "model.safetensors").read_bytes()
    row = [row for row in RunFolder.open(straight).metrics() if "reward/mean" in row][-1]
    assert {f"{who}/loss/entropy" for who in NAMES} <= row.keys()
    assert row["alice/train/learning_rate"] != row["bob/train/learning_rate"]


def test_groups_never_mix_policies(straight: Path) -> None:
    """In a deal against members one seat learns; the others are played by snapshots or bots, the same for all."""
    deals: dict[tuple[str, int], set[str]] = {}
    for episode in RunFolder.open(straight).episodes():
        if episode.id.startswith("train-"):
            company = json.dumps(
                {seat: one.spec.model_dump() for seat, one in episode.seats.items()}, sort_keys=True
            )
            deals.setdefault((episode.id.split("/")[0], episode.deal), set()).add(company)
    assert all(len(companies) == 1 for companies in deals.values())
    assert len({company for companies in deals.values() for company in companies}) > 2


def test_members_pay_offs_and_anchors_are_kept(straight: Path) -> None:
    folder = RunFolder.open(straight)
    books = json.loads((folder.checkpoints()[6] / "run.json").read_text())["population"]
    names = {member["name"] for member in books["members"]}
    bot = "simarena.simulators.poker.players:Maniac"
    assert names == {bot, "alice@4", "alice@6", "bob@4", "bob@6"}
    assert books["payoff"]["alice@6"]["bob@4"]["games"] == 4.0
    assert sum(tally["games"] for tally in books["records"].values()) > 0
    assert {path.stem for path in (straight / "population").glob("*.safetensors")} == names - {bot}
    facts = folder.facts()
    assert set(facts["after"]["anchors"]) == {"start", "simarena.simulators.poker.players:Uniform"}
    assert facts["before"]["exploitability"] > 0.4


def test_a_run_killed_again_and_again_equals_one_that_was_not(straight: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for kills, step in enumerate((1, 3, 4)):
        more = ("--resume",) if kills else ()
        words = command(run, *more, recipe=PAIR)
        process = subprocess.Popen(words, env=environment(), stderr=subprocess.DEVNULL)
        kill_when(process, run, step)
    finish(run, "--resume")
    assert what_must_be_equal(run) == what_must_be_equal(straight)
