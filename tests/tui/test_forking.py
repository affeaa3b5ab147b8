"""`simarena play --fork`: go on from a recorded conversation, as a person or with others, and find it recorded."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from simarena.arena.episodes import Episode
from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.tui.forking import Fork, New, converse

CLERK = "simarena.simulators.scenarios.service_desk.clerk:Clerk"


@pytest.fixture
def run(cli) -> RunFolder:
    """A run with one batch of two conversations, as `latest`."""
    played = cli("play", "service-desk", "-n", "2", "--seat", f"assistant={CLERK}", "--json").out.splitlines()
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first"})
    folder.write_episodes("eval-000000", [Episode.model_validate_json(line) for line in played])
    folder.close()
    return folder


def test_a_fork_is_recorded_beside_its_parent_and_linked_to_it(cli, run: RunFolder) -> None:
    done = cli("play", "--fork", "latest:play/1/0@2", "--json")
    assert done.code == 0
    forked = Episode.model_validate(json.loads(done.out))
    (parent,) = [one for one in run.episodes("eval-000000") if one.id == "play/1/0"]
    assert forked.parent is not None
    assert (forked.parent.episode, forked.parent.turn, forked.parent.digest) == (parent.id, 2, parent.digest())
    assert [m.parts for m in forked.messages if m.turn <= 2] == [m.parts for m in parent.messages if m.turn <= 2]
    assert "recorded as fork-000001/play/1/0@2/0 in runs/first" in done.err
    assert list(run.episodes("fork-000001")) == [forked]
    cli("play", "--fork", f"latest:{forked.id}@3")
    assert [one.id for one in run.episodes("fork-000002")] == [f"fork-000002/{forked.id}@3/0"]
    told = cli("watch", "latest", "--display", "plain", "-q", "parent:*@*").out.splitlines()
    assert len(told) == 2


def test_a_person_takes_over_and_is_shown_what_was_said(run: RunFolder) -> None:
    command = [str(Path(sys.executable).parent / "simarena"), "play", "--fork", "latest:play/0/0@1"]
    done = subprocess.run(
        [*command, "--seat", "assistant=human"], input="one moment please\n/leave\n" * 40, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (parent,) = [one for one in run.episodes("eval-000000") if one.id == "play/0/0"]
    first = parent.messages[0].text.split()[:3]
    assert " ".join(first) in " ".join(done.stderr.split())
    (forked,) = run.episodes("fork-000001")
    assert forked.seats["assistant"].spec.lane == "human"
    assert any(m.text == "one moment please" for m in forked.messages)


async def test_forks_that_go_on_at_the_same_time_are_both_recorded(run: RunFolder) -> None:
    (parent, _) = run.episodes("eval-000000")
    forks = await asyncio.gather(*(converse(Fork(run, parent, turn), {}) for turn in (1, 2)))
    assert run.batches() == ["eval-000000", "fork-000001", "fork-000002"]
    assert sorted(one.id for one in forks) == sorted(
        one.id for batch in run.batches()[1:] for one in run.episodes(batch)
    )


async def test_a_fork_that_came_to_nothing_leaves_no_trace(run: RunFolder) -> None:
    (parent, _) = run.episodes("eval-000000")
    before = sorted((run.path / "episodes").iterdir())
    with pytest.raises(UsageError, match="has no turn 99"):
        await converse(Fork(run, parent, 99), {})
    assert sorted((run.path / "episodes").iterdir()) == before
    with run.claim("fork") as first, RunFolder.open(run.path).claim("fork") as second:
        assert (first, second) == ("fork-000001", "fork-000002")
        assert run.batches() == ["eval-000000"]


async def test_a_new_conversation_is_played_the_same_way(run: RunFolder) -> None:
    episode = await converse(New("service-desk", deal=3), {"assistant": CLERK})
    assert (episode.deal, episode.parent) == (3, None)
    assert run.batches() == ["eval-000000"]
    again = await converse(New("service-desk", deal=3, folder=run), {"assistant": CLERK})
    assert run.batches() == ["eval-000000", "seat-000001"]
    assert list(run.episodes("seat-000001")) == [again]
    assert again.id.startswith("seat-000001/")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "say what to play"),
        (["service-desk", "--fork", "latest:play/0/0@1"], "say what to play"),
        (["--fork", "play/0/0@1"], "is not of the form RUN:EPISODE@TURN"),
        (["--fork", "latest:play/0/0"], "is not of the form"),
        (["--fork", "latest:play/0/0@x"], "is not of the form"),
        (["--fork", "nowhere:play/0/0@1"], "no run folder 'nowhere'"),
        (["--fork", "latest:play/7/0@1"], "no episode 'play/7/0'"),
        (["--fork", "latest:play/0/0@99"], "has no turn 99"),
        (["--fork", "latest:play/0/0@1", "--seat", "judge=human"], "no seat ['judge']"),
        (["--fork", "latest:play/0/0@1", "-n", "4"], "-n is not used by --fork"),
    ],
)
def test_bad_input(cli, run: RunFolder, arguments: list[str], says: str) -> None:
    done = cli("play", *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert says in line


def test_a_seat_that_only_a_person_or_a_lost_policy_could_keep_must_be_given(cli, run: RunFolder) -> None:
    (one, _) = run.episodes("eval-000000")
    for lane, says in (("human", "was played over lane 'human'"), ("policy.learner", "keeps no checkpoint")):
        spec = one.seats["assistant"].spec.model_copy(update={"lane": lane})
        seats = {**one.seats, "assistant": one.seats["assistant"].model_copy(update={"spec": spec})}
        run.write_episodes("other", [one.model_copy(update={"id": f"x-{lane}", "seats": seats})])
        done = cli("play", "--fork", f"latest:x-{lane}@1")
        assert done.code == 2
        assert says in done.err
