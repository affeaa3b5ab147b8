"""Progress: what a person follows a run by, on a terminal and in a pipe."""

import io
import re
import sys

import pytest
from rich.console import Console

from simarena.training.events import Block, Cloning, Evaluated, Note, Rate, Saved, Started, StepDone
from simarena.tui.board import Board, clock, line
from simarena.tui.comparison import comparison
from simarena.tui.progress import panel, watching


def rate(success: float, episodes: int = 10) -> Rate:
    return Rate(success=success, low=max(0.0, success - 0.2), high=min(1.0, success + 0.2), episodes=episodes)


def block(success: float, **personas: float) -> Block:
    by_persona = {name: rate(value) for name, value in personas.items()}
    return Block(**rate(success, 64).model_dump(), by_persona=by_persona, harmful_compliance=0.25)


def step(number: int, **personas: float) -> StepDone:
    metrics = {"outcome/success": 0.625, "reward/mean": -0.125, "time/tokens_per_second": 1234.5}
    return StepDone(step=number, total=120, metrics=metrics, ledger={}, by_persona=personas, seconds_left=65.0)


def render(thing: object, width: int = 80) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(thing)
    return stream.getvalue()


def test_a_step_is_one_line_in_a_pipe() -> None:
    assert line(step(37, terse=0.5, chatty=0.25)) == (
        "step 37/120: success 0.62, reward -0.12, 1,234 tokens/s, 1m05s left | chatty 0.25, terse 0.50"
    )


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Started(plan="", total_steps=120, run="runs/a"), "run runs/a: 120 steps"),
        (Cloning(step=60, total=600, loss=0.4567), "cloning 60/600: loss 0.457"),
        (Cloning(step=61, total=600, loss=0.4567), ""),
        (Cloning(step=7, total=7, loss=1.0), "cloning 7/7: loss 1.000"),
        (Saved(step=20, path="runs/a/checkpoints/step-20"), "saved runs/a/checkpoints/step-20"),
        (Note(text="hello"), "hello"),
    ],
)
def test_each_event_has_its_line(event: object, expected: str) -> None:
    assert line(event) == expected  # type: ignore[arg-type]


def test_an_evaluation_says_where_and_how_sure() -> None:
    text = line(Evaluated(step=20, split="heldout", block=block(0.5)))
    assert text == "evaluated at step 20 on heldout deals: success 0.50 (0.30–0.70), 64 episodes"


@pytest.mark.parametrize(("seconds", "text"), [(4.6, "5s"), (59.7, "1m00s"), (65, "1m05s"), (7384, "2h03m")])
def test_durations(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_the_panel_fits_80_columns_and_keeps_personas_it_has_seen() -> None:
    board = Board()
    board.take(Started(plan="", total_steps=120, run="runs/a"))
    board.take(step(1, **{f"persona{i}": i / 20 for i in range(12)}))
    board.take(step(2, persona3=1.0))
    shown = render(panel(board))
    assert "step 2/120" in shown
    assert "1,234 tokens/s" in shown
    assert "persona3 1.00" in shown
    assert "persona4 0.20" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_panel_shows_cloning_until_the_first_step() -> None:
    board = Board()
    board.take(Started(plan="", total_steps=120))
    board.take(Cloning(step=30, total=600, loss=0.5))
    assert "cloning 30/600" in render(panel(board))
    board.take(step(1))
    assert "cloning" not in render(panel(board))


def test_hostile_names_stay_on_the_panel() -> None:
    board = Board()
    board.take(step(1, **{"\x1b[2J\n[bold]": 0.5}))
    shown = render(panel(board))
    assert "\x1b" not in shown
    assert "[bold]" in shown


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with watching() as watcher:
        watcher(Note(text="x" * 200))
        watcher(step(1, terse=1.0))
    assert len(stream.getvalue().splitlines()[0]) == 200
    assert stream.getvalue().splitlines()[1].startswith("step 1/120: ")


def test_a_terminal_gets_a_panel_and_keeps_the_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with watching() as watcher:
        watcher(Started(plan="", total_steps=120, run="runs/a"))
        watcher(step(1, terse=1.0))
        watcher(Note(text="\x1b]0;owned\x07 careful"))
    written = stream.getvalue()
    assert "\x1b]0;" not in written
    assert "careful" in written
    assert re.search(r"step 1/120", written)
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_before_and_after_side_by_side() -> None:
    before, after = block(0.25, terse=0.2, chatty=0.1), block(0.75, terse=0.9, vague=1.0)
    shown = render(comparison({"before": before, "after": after}))
    rows = {row.split("  ")[0]: row for row in shown.splitlines()}
    assert re.search(r"all +0\.25 \(0\.05–0\.45\) +0\.75 \(0\.55–0\.95\) +64$", rows["all"].rstrip())
    assert re.search(r"chatty +0\.10 \(0\.00–0\.30\) +– +10$", rows["chatty"].rstrip())
    assert re.search(r"vague +– +1\.00", rows["vague"])
    assert re.search(r"harmful compliance \(best: 0\) +0\.25 +0\.25 +$", shown, re.MULTILINE)
    assert "over-refusal" not in shown
    assert max(map(len, shown.splitlines())) <= 80
