"""The run folder: whole files or none, one writer, clear errors."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from simarena.arena.episodes import Episode, Reward, Seat, Turn
from simarena.arena.errors import RecordError, RunFolderError, UsageError
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec


def episode(name: str = "play/0/0", **more: object) -> Episode:
    fields: dict[str, object] = {
        "id": name,
        "scenario": "toy",
        "deal": 0,
        "seats": {"a": Seat(spec=AgentSpec(agent="x:Y")), "b": Seat(spec=AgentSpec(agent="x:Z"))},
        "ending": "finished",
        **more,
    }
    return Episode(**fields)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder.create(tmp_path / "run")
    run.describe({"seed": 1})
    return run


def test_rewards_go_to_the_turn_before_them() -> None:
    earned = [(1, "a", 1.0), (2, "a", 2.0), (3, "a", 4.0), (1, "b", 8.0)]
    played = episode(
        turns=(Turn(index=1, seat="a"), Turn(index=2, seat="b"), Turn(index=3, seat="a")),
        rewards=tuple(Reward(index=i, seat=s, value=v) for i, s, v in earned),
    )
    assert played.turn_rewards("a") == (3.0, 4.0)
    assert played.turn_rewards("b") == (8.0,)
    assert played.returns("a") == 7.0


def test_the_digest_ignores_wall_time_only() -> None:
    assert episode(timings={"total": 1.0}).digest() == episode(timings={"total": 2.0}).digest()
    assert episode(deal=1).digest() != episode().digest()


def test_an_unfinished_episode_has_no_outcome() -> None:
    with pytest.raises(RecordError, match="carries an outcome"):
        episode(ending="turn_cap", outcome={"a": 1.0})
    with pytest.raises(RecordError, match=r"unknown seats \['z'\]"):
        episode(outcome={"z": 1.0})


def test_episodes_come_back_as_they_were(folder: RunFolder) -> None:
    written = [episode("play/1/0"), episode("play/0/0", checks={"done": True})]
    folder.write_episodes("play", written)
    assert list(folder.episodes("play")) == sorted(written, key=lambda e: e.id)
    with pytest.raises(UsageError, match="no batch 'nope'"):
        list(folder.episodes("nope"))


def test_a_checkpoint_is_complete_or_absent(folder: RunFolder) -> None:
    with contextlib.suppress(ZeroDivisionError), folder.checkpoint(1) as path:
        (path / "half").write_text("x")
        raise ZeroDivisionError
    assert list((folder.path / "checkpoints").iterdir()) == []
    for step in (2, 10):
        with folder.checkpoint(step) as path:
            (path / "whole").write_text(str(step))
    assert list(folder.checkpoints()) == [2, 10]
    folder.prune([10])
    assert list(folder.checkpoints()) == [10]


def test_a_batch_that_a_kill_left_half_written_is_not_there(folder: RunFolder) -> None:
    folder.write_episodes("eval-1", [episode()])
    (folder.path / "episodes" / ".eval-2.jsonl").write_text('{"id":"pl')
    assert folder.batches() == ["eval-1"]
    assert len(list(folder.episodes())) == 1


def test_the_working_folder_itself_can_hold_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    RunFolder.create(Path()).describe({"name": "here"})
    assert (tmp_path / "latest" / "run.json").is_file()


def test_metrics_survive_a_torn_line_and_rewind(folder: RunFolder) -> None:
    for step in range(4):
        folder.metric({"step": step})
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')
    folder.rewind(2)
    folder.metric({"step": 3, "again": True})
    assert folder.metrics() == [{"step": 0}, {"step": 1}, {"step": 2}, {"step": 3, "again": True}]


def test_damaged_metrics_are_named(folder: RunFolder) -> None:
    (folder.path / "metrics.jsonl").write_text('{"step": 0}\nnonsense\n{"step": 1}\n')
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl is damaged"):
        folder.metrics()


def test_a_folder_is_never_overwritten(folder: RunFolder) -> None:
    folder.close()
    with pytest.raises(UsageError, match="--resume"):
        RunFolder.create(folder.path)
    assert RunFolder.resume(folder.path).facts() == {"seed": 1}


def test_one_writer_at_a_time(folder: RunFolder) -> None:
    code = f"""
from pathlib import Path
from simarena.arena.record import RunFolder
try: RunFolder.resume(Path({str(folder.path)!r}))
except Exception as error: print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "RunFolderError another process is writing" in done.stdout


def test_what_is_no_run_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder"):
        RunFolder.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot write"):
        RunFolder.create(tmp_path / "file" / "run")


def test_latest_points_at_the_newest(tmp_path: Path) -> None:
    for name in ("one", "two"):
        RunFolder.create(tmp_path / name).describe({"name": name})
    assert json.loads((tmp_path / "latest" / "run.json").read_text()) == {"name": "two"}


def test_the_index_lists_a_batch_and_finds_an_episode(folder: RunFolder) -> None:
    written = [episode(f"play/{n}/0", labels={"persona": "ü" * n}) for n in range(4)]
    folder.write_episodes("play", written)
    entries = folder.listing("play")
    assert [entry.episode for entry in entries] == [one.id for one in written]
    assert entries[2].labels == {"persona": "üü"}
    assert entries[2].seats == {"a": "Y", "b": "Z"}
    assert [folder.episode_at("play", entry.at, entry.size) for entry in entries] == written


def test_an_index_that_is_missing_stale_or_damaged_is_made_anew(folder: RunFolder) -> None:
    folder.write_episodes("play", [episode(f"play/{n}/0") for n in range(3)])
    good = folder.listing("play")
    path = folder.path / "episodes" / "play.index"
    for text in ("", "nonsense", path.read_text().replace('"bytes":', '"bytes":1'), path.read_text()[:-30]):
        path.write_text(text)
        assert folder.listing("play") == good
    path.unlink()
    assert folder.listing("play") == good
    folder.write_episodes("play", [])
    assert folder.listing("play") == []


def test_a_growing_batch_is_listed_from_where_it_was_left_to_its_last_whole_line(folder: RunFolder) -> None:
    lines = [(episode(f"play/{n}/0").model_dump_json() + "\n").encode() for n in range(3)]
    path = folder.path / "episodes" / "play.jsonl"
    path.write_bytes(lines[0] + lines[1][:-1])
    (first,) = folder.listing("play")
    end = first.at + first.size
    assert folder.listing("play", end) == []
    path.write_bytes(b"x" * len(lines[0]) + lines[1] + lines[2][:9])  # what was read is not read again
    (second,) = folder.listing("play", end)
    assert (second.episode, second.at, second.size) == ("play/1/0", end, len(lines[1]))
    assert folder.episode_at("play", second.at, second.size).id == "play/1/0"
    folder.write_episodes("play", [episode(f"play/{n}/0") for n in range(3)])
    assert [entry.episode for entry in folder.listing("play", end)] == ["play/1/0", "play/2/0"], "by the index"
    path.write_bytes(lines[0] + b"nonsense\n")
    with pytest.raises(RunFolderError, match=f"play.jsonl from byte {end}, line 1 is not an episode"):
        folder.listing("play", end)


def test_an_index_is_read_without_its_batch(folder: RunFolder) -> None:
    folder.write_episodes("play", [episode()])
    path = folder.path / "episodes" / "play.jsonl"
    path.write_text("x" * path.stat().st_size)
    (entry,) = folder.listing("play")
    assert entry.episode == "play/0/0"
    with pytest.raises(RunFolderError, match="is not an episode"):
        folder.episode_at("play", entry.at, entry.size)


def test_a_viewer_sees_whether_anybody_writes_and_never_keeps_a_writer_out(folder: RunFolder) -> None:
    assert RunFolder.open(folder.path).written
    folder.close()
    assert not RunFolder.open(folder.path).written
    writer = RunFolder.resume(folder.path)
    assert RunFolder.open(folder.path).written
    writer.close()


def test_the_bus_of_a_run_is_told_while_it_goes_on_and_without_its_password(folder: RunFolder) -> None:
    with folder.on_bus("abc", "redis://me:secret@host/0"):
        assert RunFolder.open(folder.path).bus() == ("abc", "redis://***@host/0")
        assert "secret" not in (folder.path / "bus.json").read_text()
    assert folder.bus() is None
    (folder.path / "bus.json").write_text('{"run"')
    assert folder.bus() is None


def test_credit_is_kept_by_batch(folder: RunFolder) -> None:
    assert folder.credit("train-000001") == []
    folder.write_credit("train-000001", ['{"a": 1}', '{"b": 2}'])
    assert folder.credit("train-000001") == [b'{"a": 1}', b'{"b": 2}']
