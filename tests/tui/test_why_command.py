"""`simarena why`: the numbers that training used, and clear words where there are none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import escapes

from simarena.arena.record import RunFolder
from simarena.training import accounts

SUPPORT = Path(__file__).parent.parent / "support"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two real steps."""
    place = tmp_path_factory.mktemp("trained")
    command = [str(Path(sys.executable).parent / "simarena"), "train", str(SUPPORT / "echo.toml"), "-s", "steps=2"]
    environment = os.environ | {"PYTHONPATH": str(SUPPORT), "SIMARENA_HOME": str(place), "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "--out", str(place / "run")], env=environment, check=True, capture_output=True)
    return place / "run"


@pytest.fixture
def credited(trained: Path) -> tuple[str, accounts.Account]:
    """An episode that was learned from, and its group's account."""
    found = accounts.read(RunFolder.open(trained), "train-000001")
    account = next(one for one in found if not one.rejected)
    return account.members[0], account


def test_it_tells_the_numbers_that_training_used(cli, trained: Path, credited) -> None:
    id, account = credited
    told = json.loads(cli("why", str(trained), id, "--json").out)
    assert (told["rule"], told["step"], told["fate"], told["policy"]) == ("returns", 1, "trained", "learner")
    assert [turn["advantage"] for turn in told["turns"]] == [turn.advantage for turn in account.of(id)]
    assert {one["id"] for one in told["siblings"]} == set(account.members)
    rewards = [one["reward"] for one in told["siblings"]]
    assert rewards == sorted(rewards, reverse=True)
    for turn in told["turns"]:
        assert turn["value"] - turn["baseline"] == pytest.approx(turn["advantage"])
        sampled = [token for token in turn["tokens"] if token["sampled"]]
        assert sampled
        assert {(token["advantage"], token["ratio"]) for token in sampled} == {(turn["advantage"], 1.0)}
        assert all(token["logprob"] <= 0 for token in sampled)
        assert {token["advantage"] for token in turn["tokens"] if not token["sampled"]} <= {None}
        assert "".join(token["text"] for token in sampled)


def test_a_person_reads_the_sum_and_one_turns_tokens(cli, trained: Path, credited) -> None:
    id, _ = credited
    done = cli("why", str(trained), id)
    assert done.code == 0
    assert done.out.startswith(f"{id} · pupil (policy learner) · step 1 · trained\n")
    assert "credit returns: " in done.out
    assert done.out.count("− baseline") == 2
    assert escapes(done.out.encode()) == []
    one = cli("why", str(trained), id, "--turn", "2").out
    assert one.count("− baseline") == 1
    assert "log-prob" in one


def test_an_evaluation_has_rewards_and_tokens_and_says_why_no_credit(cli, trained: Path) -> None:
    done = cli("why", str(trained), "eval-0/0/0")
    assert done.code == 0
    assert "not learned from" in done.out
    assert "advantage" not in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["eval-0/0/99"], "no episode 'eval-0/0/99'"),
        (["eval-0/0/0", "--turn", "77"], "turn 77 of eval-0/0/0 is not one of 'pupil', whose turns are [1, 2]"),
        (["eval-0/0/0", "--seat", "pupl"], "did you mean 'pupil'"),
    ],
)
def test_bad_input(cli, trained: Path, arguments: list[str], says: str) -> None:
    done = cli("why", str(trained), *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert says in line
