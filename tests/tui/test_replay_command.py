"""`simarena replay` and `simarena list runs`: what a run recorded, from its files alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simarena.arena.episodes import Episode
from simarena.arena.record import RunFolder


@pytest.fixture
def run(cli) -> RunFolder:
    """A run of two batches under runs/, as `latest`."""
    played = cli("play", "service-desk", "-n", "15", "--json").out.splitlines()
    episodes = [Episode.model_validate_json(line) for line in played]
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first"})
    folder.write_episodes("eval-000000", [_as(one, f"eval-0/{one.deal}/0") for one in episodes])
    folder.metric({"step": 0})
    folder.metric({"step": 1})
    folder.write_episodes("train-000001", [_as(one, f"train-0/{one.deal}/0") for one in episodes[:3]])
    folder.close()
    return folder


def _as(episode: Episode, id: str) -> Episode:
    return episode.model_copy(update={"id": id})


def test_without_an_episode_it_lists_batches_and_the_newest_one(cli, run: RunFolder) -> None:
    done = cli("replay", "latest")
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()[1:3]] == [["eval-000000", "15"], ["train-000001", "3"]]
    assert "train-0/0/0" in done.out
    assert "eval-0/0/0" not in done.out
    assert "replay latest train-0/0/0" in done.err


def test_the_command_it_suggests_works(cli, run: RunFolder) -> None:
    done = cli("replay", "latest", "train-0/1/0")
    assert done.code == 0
    assert done.out.startswith("train-0/1/0 · service-desk · deal 1")
    assert "ended: finished" in done.out


def test_json_is_the_whole_episode(cli, run: RunFolder) -> None:
    done = cli("replay", "runs/first", "eval-0/7/0", "--json")
    (stored,) = [one for one in run.episodes("eval-000000") if one.id == "eval-0/7/0"]
    assert Episode.model_validate(json.loads(done.out)) == stored


def test_lists_can_be_narrowed(cli, run: RunFolder) -> None:
    everything = json.loads(cli("replay", "latest", "--batch", "eval-000000", "--json").out)["episodes"]
    persona = everything[0]["labels"]["persona"]
    some = json.loads(cli("replay", "latest", "--batch", "eval-000000", "--persona", persona, "--json").out)
    assert [one["id"] for one in some["episodes"]] == [
        one["id"] for one in everything if one["labels"]["persona"] == persona
    ]
    none = json.loads(cli("replay", "latest", "--ending", "turn_cap", "--json").out)
    assert none["episodes"] == []


def test_a_long_list_says_how_much_it_leaves_out(cli, run: RunFolder) -> None:
    done = cli("replay", "latest", "--batch", "eval-000000")
    assert "… 3 more" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "value", "fix"),
    [
        (["nowhere"], "'nowhere'", "simarena list runs"),
        (["."], ".", "not a run folder"),
        (["latest", "eval-0/99/0"], "'eval-0/99/0'", "replay runs/first"),
        (["latest", "l-0/7/0"], "'l-0/7/0'", "did you mean eval-0/7/0"),
        (["latest", "--batch", "eval-9"], "'eval-9'", "eval-000000, train-000001"),
        (["latest", "--ending", "finish"], "'finish'", "did you mean 'finished'"),
    ],
)
def test_bad_input(cli, run: RunFolder, arguments: list[str], value: str, fix: str) -> None:
    done = cli("replay", *arguments)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert value in line
    assert fix in line


def test_a_run_without_episodes_says_so(cli) -> None:
    folder = RunFolder.create(Path("runs/empty"))
    folder.describe({})
    done = cli("replay", "runs/empty")
    assert done.code == 2
    assert "no episodes yet" in done.err


def test_a_damaged_episode_file_is_one_line(cli, run: RunFolder) -> None:
    (run.path / "episodes" / "train-000001.jsonl").write_text('{"id":"train-0/0/0","scenario"\n')
    done = cli("replay", "latest")
    assert done.code == 1
    assert "train-000001" in done.err
    assert len(done.err.splitlines()) == 1


def test_list_runs_shows_steps_and_checkpoints(cli, run: RunFolder) -> None:
    (run.path / "checkpoints" / "step-1").mkdir(parents=True)
    assert "runs/first  1 steps, newest checkpoint step-1" in cli("list", "runs").out


def test_replay_needs_no_torch_no_ray_and_no_server(run: RunFolder) -> None:
    code = (
        "import sys; from simarena.tui.main import main; main(['replay', 'latest', 'eval-0/0/0']);"
        "sys.exit(any(name in sys.modules for name in ('torch', 'ray', 'redis', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
