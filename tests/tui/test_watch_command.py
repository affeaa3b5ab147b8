"""`simarena watch` as a pipe meets it: plain and JSON lines, clear errors, nothing hostile let through."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hostile import BYTES, TEXTS, escapes

from simarena.arena.episodes import Episode, Reward, Seat, Turn
from simarena.arena.glance import Glance
from simarena.arena.messages import Message, Text, ToolCall, ToolResult
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec
from simarena.tui.displays.plain import line
from simarena.tui.feed.opened import line_of
from simarena.tui.feed.rows import row_of
from simarena.tui.feed.status import Status
from simarena.tui.feed.training_book import TrainingBook

STORED = {name: text for name, text in TEXTS.items() if name != "lone surrogate"}
"""What JSON in UTF-8 can hold."""


def episode(name: str, text: str, seat: str = "assistant", **more: object) -> Episode:
    """An episode with this text wherever a text can be."""
    id = f"play/{name}/{text}"
    say = {"episode": id, "seat": seat, "time": 1.0}
    fields: dict[str, object] = {
        "id": id,
        "scenario": text,
        "deal": 1,
        "seats": {seat: Seat(spec=AgentSpec(agent=f"module:{text}", options={"x": text}))},
        "labels": {"persona": text, text: "x"},
        "messages": (
            Message(id="1-1", kind="tool_call", parts=(ToolCall(name=text, arguments={text: text}),), **say),  # type: ignore[arg-type]
            Message(id="1-2", kind="tool_result", parts=(ToolResult(name=text, content={text: [text]}),), **say),  # type: ignore[arg-type]
            Message(id="1-3", kind="speech", parts=(Text(text=text),), **say),  # type: ignore[arg-type]
        ),
        "turns": (Turn(index=1, seat=seat),),
        "rewards": (Reward(index=1, seat=seat, value=0.5, parts={text: 0.5}),),
        "ending": "agent_fault",
        "fault": text,
        **more,
    }
    return Episode(**fields)  # type: ignore[arg-type]


def simarena(*arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    command = [str(Path(sys.executable).parent / "simarena"), *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=60, env=os.environ | more)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run folder with the corpus in every place that a display shows."""
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "\x1b]0;owned\x07[/]", "recipe": {"seats": {"\x1b[2J": "learner"}}})
    played = [episode(name, text, seat=text or "assistant") for name, text in STORED.items()]
    folder.write_episodes("play", played, {one.id: TEXTS["title"] for one in played})
    for name, text in STORED.items():
        told = {f"{name}{text}": 1.0, f"alarms/{text}": 1.0, "reward/mean": float("nan")}
        folder.metric({"step": 1, "ledger/dispatched": 1, **told})
    with (folder.path / "metrics.jsonl").open("ab") as file:
        file.write(b"".join(b'{"step": 2, "' + bad + b'": 1}\n' for bad in BYTES))
    folder.close()
    return folder.path


def test_nothing_hostile_reaches_the_terminal(hostile: Path) -> None:
    for display in ("plain", "json"):
        done = simarena("watch", str(hostile), "--display", display)
        assert done.returncode == 0, done.stderr
        assert escapes(done.stdout) == []
        assert escapes(done.stderr) == []
        lines = done.stdout.splitlines()
        assert len(lines) > len(STORED)
    assert all(isinstance(json.loads(one), dict) for one in lines)


def test_every_conversation_is_one_line(hostile: Path) -> None:
    out = simarena("watch", str(hostile), "--display", "plain").stdout.decode()
    told = [one for one in out.splitlines() if "agent_fault after turn 1" in one]
    assert len(told) == len(STORED)


def test_hostile_arguments_are_told_safely(cli) -> None:
    for text in STORED.values():
        for arguments in ([f"x{text}"], ["latest", "-q", f"nofield{text}:x ("]):
            if "\x00" in text:  # no operating system lets one through
                continue
            done = cli("watch", *arguments, "--display", "plain")
            assert (done.code, done.out) == (2, "")
            assert escapes(done.err.encode()) == []
            assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_values_of_a_feed_are_safe_whatever_is_on_the_bus(name: str) -> None:
    text = TEXTS[name]
    who = {"scenario": text, "seats": {text: f"policy.{text}"}, "labels": {"persona": text}, "seat": text}
    glance = Glance(episode=text, kind=text, line=text, returns={text: 1.0}, updated=1.0, **who)  # type: ignore[arg-type]
    row = row_of(glance)
    written = line(row)
    assert "\n" not in written
    assert len(written) < 1000
    shown = [written, row.id, row.scenario, row.last, *row.labels.values(), *row.seats, *row.seats.values()]
    message = Message(episode="e", id="1-1", seat=text, kind="speech", parts=(Text(text=text),), audience=(text,))
    opened = line_of(message)
    shown += [opened.text, opened.seat, *(opened.audience or ())]
    book = TrainingBook()
    book.take({"step": 1, "ledger/dispatched": 1, text: 1.0, f"alarms/{text}": 1.0})
    shown += [*book.names(), *(line(alarm) for alarm in book.alarms), line(Status(where="x", detail="y"))]
    assert escapes("\n".join(shown).encode()) == []


def test_plain_follows_a_run_to_its_end(cli, tmp_path: Path) -> None:
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first"})
    folder.write_episodes("eval-000000", [episode("one", "x")])

    def go_on() -> None:
        time.sleep(0.7)
        folder.write_episodes("eval-000001", [episode("two", "x"), episode("three", "y")])
        folder.metric({"step": 1, "outcome/success": 0.5})
        folder.close()

    writer = threading.Thread(target=go_on)
    writer.start()
    done = cli("watch", "--display", "plain", "-q", "persona:x")
    writer.join()
    assert done.code == 0
    assert [row.split()[1] for row in done.out.splitlines()] == ["play/one/x", "play/two/x", "1:"]
    assert "outcome/success 0.5" in done.out
    assert done.err.splitlines()[0].startswith("following the files of runs/first")
    assert done.err.splitlines()[-1] == "3 conversations, 3 moves"


def test_a_run_that_dies_is_exit_code_1(cli) -> None:
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first", "recipe": {"steps": 3}})
    killer = threading.Timer(0.7, folder.close)
    killer.start()
    done = cli("watch", "--display", "plain")
    killer.join()
    assert done.code == 1
    assert "the run is gone: runs/first" in done.err


def test_json_lines_have_types_and_a_last_status(cli) -> None:
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first"})
    folder.write_episodes("eval-000000", [episode("one", "x")])
    folder.metric({"step": 3, "reward/mean": 0.25})
    folder.close()
    done = cli("watch", "runs/first", "--display", "json")
    first, talk, metrics, last = map(json.loads, done.out.splitlines())
    assert (first["type"], first["connection"], first["where"]) == ("status", "recorded", "runs/first")
    assert (talk["type"], talk["key"], talk["reward"], talk["result"]) == (
        "conversation", "play/one/x", 0.5, "agent_fault",
    )  # fmt: skip
    assert metrics == {"type": "metrics", "step": 3, "reward/mean": 0.25}
    assert last["type"] == "status"
    assert done.err == ""


def test_a_pipe_gets_plain_lines_without_being_asked(cli) -> None:
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first"})
    folder.close()
    done = cli("watch")
    assert (done.code, done.out) == (0, "")
    assert "recorded run runs/first" in done.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere"], "no run folder 'nowhere'"),
        ([], "simarena train"),
        (["."], "not a run folder"),
        (["redis://127.0.0.1:1/0"], "no server answers at redis://127.0.0.1:1/0"),
        (["redis://me:secret@127.0.0.1:1/0"], "no server answers at redis://***@127.0.0.1:1/0"),
        (["latest", "-q", "persna:x"], "did you mean 'persona'"),
        (["latest", "-q", "(("], "something is missing"),
        (["latest", "--display", "film"], "'film'"),
    ],
)
def test_bad_input(cli, arguments: list[str], why: str) -> None:
    done = cli("watch", *arguments)
    assert (done.code, done.out) == (2, "")
    (told,) = done.err.splitlines()
    assert why in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("file", "holds", "why"),
    [
        ("run.json", "[]", "run.json is damaged: it holds no JSON object"),
        ("run.json", '{"recipe": "x"}', "recipe is 'x', not an object"),
        ("run.json", '{"recipe": {"steps": "x"}}', "recipe.steps is 'x', not a whole number"),
        ("run.json", '{"recipe": {"steps": 1e400}}', "recipe.steps is inf, not a whole number"),
        ("metrics.jsonl", '{"step": 1}\n{"step": 1e400}\n', "metrics.jsonl is damaged: a step is inf"),
        ("metrics.jsonl", '{"step": 1' + "0" * 400 + "}\n", "metrics.jsonl is damaged: a step is inf"),
        ("episodes", None, "has no episodes/ folder"),
    ],
)
def test_a_damaged_run_folder_is_told_in_a_line(cli, file: str, holds: str | None, why: str) -> None:
    folder = RunFolder.create(Path("runs/first"))
    folder.describe({"name": "first"})
    folder.close()
    if holds is None:
        (folder.path / file).rmdir()
    else:
        (folder.path / file).write_text(holds)
    done = cli("watch", "runs/first", "--display", "plain")
    assert (done.code, done.out) == (2, "")
    (told,) = done.err.splitlines()
    assert why in told


def test_watching_a_recorded_run_loads_no_torch_no_ray_and_no_server(cli) -> None:
    RunFolder.create(Path("runs/first")).describe({"name": "first"})
    code = (
        "import sys; from simarena.tui.main import main; main(['watch', 'runs/first', '--display', 'plain']);"
        "sys.exit(any(name in sys.modules for name in ('torch', 'ray', 'redis', 'transformers', 'textual')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
