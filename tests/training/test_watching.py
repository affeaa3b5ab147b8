"""Trackers, monitors and the report: what a run shows is what happened, and hostile text stays text."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rollouts import SEAT, credited, episode, record

from simarena.arena.errors import MissingExtra
from simarena.arena.messages import Message, Text, ToolCall, ToolResult
from simarena.training import monitors
from simarena.training.events import Block, Rate
from simarena.training.groups import form
from simarena.training.report import render, write_report
from simarena.training.trackers import Trackers, open_copies


class Broken:
    def __init__(self) -> None:
        self.calls = 0

    def log(self, step: int, metrics: Any) -> None:
        self.calls += 1
        raise ConnectionError("gone")

    def close(self) -> None:
        self.calls += 1


def test_a_copy_that_breaks_is_dropped_and_the_record_goes_on() -> None:
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    broken = Broken()
    trackers = Trackers(rows.append, [broken], notes.append)
    for step in (1, 2):
        trackers.log(step, {"reward/mean": 0.5})
    trackers.close()
    assert rows == [{"step": 1, "reward/mean": 0.5}, {"step": 2, "reward/mean": 0.5}]
    assert broken.calls == 1
    assert notes == ["tracker Broken failed and is off from here on: gone"]


def test_a_record_that_cannot_be_written_is_an_error() -> None:
    def full(row: dict[str, Any]) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        Trackers(full, [], print).log(1, {})


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_an_absent_tracker_says_how_to_install_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'simarena\[{name}\]'"):
        open_copies([name], tmp_path, {})


def test_tensorboard_files_hold_the_step_axis(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trackers = Trackers(lambda row: None, open_copies(["tensorboard"], tmp_path, {}), print)
    for step in (1, 2, 5):
        trackers.log(step, {"reward/mean": step / 10})
    trackers.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(e.step, round(e.value, 4)) for e in events.Scalars("reward/mean")] == [(1, 0.1), (2, 0.2), (5, 0.5)]


def test_wandb_gets_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []

    class FakeWandb:
        @staticmethod
        def init(**settings: Any) -> Any:
            logged.append(settings["config"])
            return type("Run", (), {"log": lambda self, row, step: logged.append((step, row)), "finish": print})()

    monkeypatch.setitem(sys.modules, "wandb", FakeWandb)
    trackers = Trackers(lambda row: None, open_copies(["wandb"], tmp_path, {"seed": 1}), print)
    trackers.log(4, {"a/b": 1.0})
    assert logged == [{"seed": 1}, (4, {"a/b": 1.0})]


def test_monitors_count_what_was_played() -> None:
    plays = [episode([float(m), 1.0], member=m, labels={"persona": "terse" if m else "chatty"}) for m in range(3)]
    plays += [episode(member=3, ending="turn_cap"), episode(member=4, ending="simulator_fault")]
    broken = episode(
        [0.0, 0.0], deal=1, records=[record((1,), (3,), start=True), record((2,), (3,), start=True)], member=0
    )
    groups = [form(plays, SEAT), form([broken], SEAT)]
    seen = monitors.of_groups(groups, ["", "zero_variance"])
    assert seen["reward/mean"] == pytest.approx((1 + 2 + 3 + 0) / 4)
    assert seen["reward/group_std"] == pytest.approx((2 / 3) ** 0.5 / 2)
    assert seen["outcome/success"] == 0.75
    assert (seen["episodes/truncated"], seen["episodes/faulty"]) == (1 / 6, 1 / 6)
    assert (seen["groups/zero_variance"], seen["groups/min_group"]) == (0.5, 0.0)
    assert (seen["tokens/prefix_breaks"], seen["episodes/turns"]) == (1.0, 2.0)
    assert monitors.by_label(groups, "persona") == {"chatty": 1.0, "terse": 1.0}
    assert monitors.of_credit([credited([1.0, 0.0], [-1.0])]) == pytest.approx(
        {"credit/std": (2 / 3) ** 0.5, "credit/max": 1.0, "credit/zero": 1 / 3}
    )
    assert all(value == 0 for value in (monitors.of_groups([], []) | monitors.of_credit([])).values())


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def block(success: float, **more: Any) -> dict[str, Any]:
    rate = Rate(success=success, low=success - 0.1, high=success + 0.1, episodes=50)
    return Block(**rate.model_dump(), by_persona={"<b>terse</b>": rate}, **more).model_dump(mode="json")


def page() -> str:
    said = episode([1.0], labels={"persona": "terse"})
    parts = [
        Text(text="<script>alert(1)</script> \x1b[31mred\u202e"),
        ToolCall(name="book", arguments={"to": "<i>"}),
    ]
    lines = [
        Message(seat="user", kind="speech", parts=(part,), episode="e", id=f"1-{i}")
        for i, part in enumerate(parts)
    ]
    lines.append(Message(seat="assistant", kind="thought", parts=(Text(text="my secret"),), episode="e", id="2-0"))
    answer = ToolResult(name="book", content="done")
    lines.append(Message(seat="world", kind="tool_result", parts=(answer,), episode="e", id="2-1"))
    metrics = [{"step": s, "reward/mean": s / 10, "train/grad_norm": float("nan")} for s in range(1, 6)]
    run = {"name": "demo", "plan": "credit  returns", "before": block(0.2, over_refusal=0.5), "after": block(0.9)}
    return render(run, metrics, [("Before", said.model_copy(update={"messages": tuple(lines)}))])


def test_the_report_is_self_contained_and_well_formed() -> None:
    tags = Tags()
    tags.feed(page())
    assert tags.open == []
    assert tags.links == []
    assert "script" not in tags.tags
    assert tags.tags.count("svg") == 1
    assert "http" not in page()


def test_the_report_shows_both_sides_and_the_curve() -> None:
    text = page()
    assert "20% [10%, 30%] of 50" in text
    assert '<td class="better">90% [80%, 100%] of 50</td>' in text
    assert "over refusal</td><td>50%</td><td>–" in text
    assert "5 steps" in text
    assert "book → done" in text


def test_hostile_text_is_shown_not_obeyed() -> None:
    text = page()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; ␛[31mred&lt;U+202E&gt;" in text
    assert "&lt;b&gt;terse&lt;/b&gt;" in text
    assert "book(to=&lt;i&gt;)" in text
    assert "my secret" not in text


def test_a_run_without_results_has_a_report_too(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, json.loads('{"name": "young"}'), [])
    assert "young" in path.read_text()
    assert "held-out" not in path.read_text()
