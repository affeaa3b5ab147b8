"""Two learners over Ray: the numbers of one process, and checkpoints that the other commands can read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import SUPPORT, finish

from simarena.arena.record import RunFolder
from simarena.tui.main import main

RELAY = SUPPORT / "relay.toml"
NAMES = ("runner", "scout")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


@pytest.fixture(scope="module")
def inproc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("inproc") / "run"
    finish(run, recipe=RELAY)
    return run


def what_must_be_equal(run: Path) -> dict[str, object]:
    """Everybody's weights and optimiser, metrics but for times, and every episode."""
    folder = RunFolder.open(run)
    last = folder.checkpoints()[2]
    rows = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in folder.metrics()]
    names = ("model", "trainer/optimiser")
    weights = {
        f"{who}/{name}": (last / who / f"{name}.safetensors").read_bytes() for who in NAMES for name in names
    }
    return {**weights, **{e.id: e.digest() for e in folder.episodes()}, "metrics": rows}


def test_two_learners_over_ray_equal_two_in_one_process(inproc: Path, tmp_path: Path) -> None:
    first, last = (RunFolder.open(inproc).checkpoints()[step] for step in (0, 2))
    for name in NAMES:
        files = [(step / name / "model.safetensors").read_bytes() for step in (first, last)]
        assert files[0] != files[1], "nothing was learned, so there is nothing to be equal"
    finish(tmp_path / "run", "--backend", "ray", recipe=RELAY)
    assert what_must_be_equal(tmp_path / "run") == what_must_be_equal(inproc)


Told = Callable[..., Any]


@pytest.fixture
def told(capfd: pytest.CaptureFixture[str]) -> Told:
    """What a command prints with `--json`."""

    def call(*arguments: str) -> Any:
        code = main((*arguments, "--json"))
        out, err = capfd.readouterr()
        assert code == 0, err
        return json.loads(out)

    return call


def test_their_checkpoint_is_evaluated_with_each_on_its_seat(inproc: Path, told: Told) -> None:
    block = told("eval", str(inproc), "--deals", "16")
    assert block["episodes"] == 16
    last = Path(block.pop("checkpoint"))
    assert last.name == "step-2"
    seated = told("eval", str(inproc), "--deals", "16", *(f"--seat={name}={last / name}" for name in NAMES))
    assert {key: seated[key] for key in block} == block


def test_either_of_them_may_be_replaced(inproc: Path, told: Told) -> None:
    """The scripted pair has a code and always arrives; with a learner that does not know it, it does not."""
    players = "simarena.simulators.scenarios.relay.players"
    pair = ("--seat", f"scout={players}:Signaller", "--seat", f"runner={players}:Follower")
    assert told("eval", str(inproc), "--deals", "8", *pair)["success"] == 1.0
    for seat, other in (("scout", "runner"), ("runner", "scout")):
        agent = "Signaller" if other == "scout" else "Follower"
        mixed = ("--seat", f"{seat}={inproc}", "--seat", f"{other}={players}:{agent}")
        assert told("eval", str(inproc), "--deals", "8", *mixed)["success"] < 1.0


def test_why_tells_the_tokens_of_each_of_them(inproc: Path, told: Told) -> None:
    found = map(json.loads, RunFolder.open(inproc).credit("train-000001"))
    (episode, *_) = next(one["members"] for one in found if "rejected" not in one)
    for seat, words in (("scout", {"ba", "di"}), ("runner", {"harbour", "market"})):
        (turn,) = told("why", str(inproc), episode, "--seat", seat)["turns"]
        (token,) = [one for one in turn["tokens"] if one["sampled"]]
        assert (token["ratio"], turn["version"]) == (1.0, 0)
        assert token["text"] in words


def test_all_checkpoints_are_rated_as_teams(inproc: Path, tmp_path: Path, told: Told) -> None:
    table = {one["entrant"]: one for one in told("tournament", str(inproc), "--out", str(tmp_path))["standings"]}
    assert table.keys() == {"step-0", "step-2", "echo"}
    assert {one["matches"] for one in table.values()} == {64}
    assert min(table, key=lambda name: table[name]["rating"]) == "echo"
