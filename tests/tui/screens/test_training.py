"""The Training screen: curves, personas, the ledger that adds up, alarms; and what stands there without any."""

import pytest
from feeds import FakeSource
from scenes import trained
from screens import lines_with, press, settled, shown, text_of

from simarena.tui.widgets.braille import Canvas, bar, sparkline
from simarena.tui.widgets.curve import Plot, Series, figure, rows


async def test_curves_personas_and_a_ledger_that_adds_up() -> None:
    async with shown(trained(), (160, 44)) as pilot:
        await press(pilot, "2")
        text = text_of(pilot)
    for words in ("step 3 of 3", "success 75%", "held out 75%", "reward +1.00", "entropy", "gradient norm", "KL"):
        assert words in text, words
    assert text.index("muddled") < text.index("forger")
    assert "50%   +25" in text
    assert "100%   +50" in text
    assert "384 episodes dispatched" in text
    assert "zero_variance" in text
    assert "✓ adds up" in text
    assert "Alarms" in text


async def test_a_ledger_that_does_not_add_up_is_told() -> None:
    source = trained()
    source.training.take({"step": 4, "ledger/trained": 1, "ledger/dispatched": 999})
    async with shown(source, (160, 44)) as pilot:
        await press(pilot, "2")
        assert lines_with(pilot, "does not add up")


async def test_alarms_are_told_here_and_in_the_status_line() -> None:
    source = trained()
    source.training.take({"step": 5, "loss/entropy": float("nan")})
    async with shown(source, (160, 44)) as pilot:
        assert lines_with(pilot, "1 alarm")
        await press(pilot, "2")
        assert lines_with(pilot, "step 5     loss/entropy is nan")


async def test_new_steps_appear_and_pausing_holds_them() -> None:
    source = trained()
    async with shown(source, (160, 44)) as pilot:
        await press(pilot, "2", "space")
        source.training.take({"step": 4, "outcome/success": 1.0})
        await settled(pilot)
        assert lines_with(pilot, "step 3 of 3")
        await press(pilot, "space")
        assert lines_with(pilot, "success 100%")


@pytest.mark.parametrize(
    ("live", "words"), [(True, "Curves appear with the first step"), (False, "recorded no metrics")]
)
async def test_without_figures_it_says_what_to_do(live: bool, words: str) -> None:
    source = FakeSource()
    source.live = live
    async with shown(source) as pilot:
        await press(pilot, "2")
        assert lines_with(pilot, words)


async def test_narrow_screen_scrolls_to_everything() -> None:
    async with shown(trained(), (80, 24)) as pilot:
        await press(pilot, "2")
        assert lines_with(pilot, "success")
        assert not lines_with(pilot, "adds up")
        await press(pilot, "G")
        assert lines_with(pilot, "CPU")
        await press(pilot, "g", *["j"] * 4, *["k"] * 2, "z")
        assert lines_with(pilot, "reward ±") or lines_with(pilot, "success")


def test_a_line_through_known_points() -> None:
    canvas = Canvas(2, 1, (0, 3), (0, 3))
    canvas.line([(0, 0), (3, 3)], "key")
    assert canvas.row(0).plain == "⡠⠊"  # one dot in each of four columns, rising by one row each


def test_numbers_that_are_not_finite_break_the_line() -> None:
    canvas = Canvas(4, 1, (0, 7), (0, 3))
    canvas.line([(0, 0), (3, float("nan")), (7, 3)], "key")
    assert canvas.row(0).plain == "⡀  ⠈"


def test_bars_and_sparklines() -> None:
    assert bar(0.0, 4).plain == "────"
    assert bar(0.5, 4).plain == "━━──"
    assert bar(0.625, 4).plain == "━━╸─"
    assert bar(9.0, 4).plain == "━━━━"
    assert sparkline([0, 1, 2, 7], 3) == "▁▂█"
    assert sparkline([], 3) == ""


@pytest.mark.parametrize(
    ("value", "shown_as"),
    [(0.0, "0"), (0.123, "0.12"), (0.00123, "0.001"), (0.0001, "1e-04"), (1234.0, "1234"), (65_000.0, "65k")],
)
def test_figures_are_short(value: float, shown_as: str) -> None:
    assert figure(value) == shown_as
    assert figure(float("inf")) == "–"


def test_a_plot_fills_exactly_its_box() -> None:
    plot = Plot("reward", [Series("reward", [(1, 0.0), (2, 1.0)], "key", [(1, -1, 1), (2, 0, 2)])])
    for width, height in ((20, 4), (40, 9), (77, 13)):
        drawn = rows(plot, width, height)
        assert len(drawn) == height
        assert all(row.cell_len <= width for row in drawn)
    assert rows(Plot("none"), 30, 5)[1].plain.strip() == "no figures yet"
