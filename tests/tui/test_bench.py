"""Benchmarks measure what they say, on small sizes; their speed is not asserted."""

import time

import pytest

from simarena.training.recipe_file import load
from simarena.tui.bench import bus, overlap, rollout, slowdown, watch
from simarena.tui.bench.figure import Figure


async def test_bus_figures_have_names_units_and_something_to_compare_with() -> None:
    figures = [figure async for figure in bus.measure(conversations=20, messages=300, backends=("inproc",))]
    assert [figure.name for figure in figures] == [
        "messages_memory",
        "messages_redis",
        "turns_inproc",
        "memory_inproc",
    ]
    assert all(figure.value > 0 for figure in figures[:3])
    assert all(figure.unit and figure.against for figure in figures)
    assert "target 1500" in figures[2].against


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [*((recipe, rollout.SETTINGS) for recipe in rollout.RECIPES.values()), (overlap.RECIPE, overlap.SETTINGS)],
)
def test_what_the_benchmarks_change_fits_the_recipes_as_they_are(recipe: str, settings: tuple[str, ...]) -> None:
    assert load(recipe, settings).evaluation.deals == 1


@pytest.mark.slow
async def test_turns_are_also_measured_over_ray() -> None:
    names = [figure.name async for figure in bus.measure(conversations=20, messages=300, backends=("ray",))]
    assert names == ["messages_memory", "messages_redis", "turns_ray"]


@pytest.mark.slow
async def test_watching_is_measured_with_a_writer_a_screen_and_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowdown, "ROUNDS", 1)
    found = [figure async for figure in watch.measure(rate=100, seconds=6, conversations=20, played=4)]
    figures = {figure.name: figure.value for figure in found}
    assert list(figures) == [
        "ingest",
        "key_p95_ms",
        "dropped",
        "viewer_cpu",
        "peak_mb",
        "run_slowdown",
        "run_slowdown_stalled",
    ]
    assert 0 < figures["ingest"] <= 110
    assert figures["dropped"] == 0
    assert figures["key_p95_ms"] > 0
    assert figures["run_slowdown"] < 100


def test_a_figure_is_one_json_object() -> None:
    figure = Figure("turns_ray", 1234.5, "turns/s", "target 1000")
    assert figure.row() == {"name": "turns_ray", "value": 1234.5, "unit": "turns/s", "against": "target 1000"}
    assert str(figure).split() == ["turns_ray", "1,234.5", "turns/s", "target", "1000"]


def test_what_overlap_gains_is_told_from_the_middle_of_each_block() -> None:
    """Steps of 2 s and of 1 s by turns; the first and the last of a block may be anything."""
    ends, now = [], 0.0
    for step in range(4 * overlap.BLOCK):
        middle = 0 < step % overlap.BLOCK < overlap.BLOCK - 1
        now += (1.0 if overlap.ahead(step) else 2.0) if middle else 7.0
        ends.append(now)
    found = {figure.name: figure.value for figure in overlap.figures(ends, [0.0, 1.0])}
    assert found == {"step_synchronous": 2.0, "step_asynchronous": 1.0, "overlap_gain": 2.0, "age_max": 1.0}


@pytest.mark.slow
def test_a_stopwatch_counts_overlapping_calls_once() -> None:
    from simarena.tui.bench.timed import Stopwatch

    clock = Stopwatch()
    with clock:
        with clock:
            time.sleep(0.02)
        inner = clock.seconds
        time.sleep(0.02)
    total = clock.seconds
    time.sleep(0.02)
    assert 0.02 <= inner < total
    assert total >= 0.04
    assert clock.seconds == total
