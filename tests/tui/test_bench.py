"""Benchmarks measure what they say, on small sizes; their speed is not asserted."""

import time

import pytest

from simarena.tui.bench import bus
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


@pytest.mark.slow
async def test_turns_are_also_measured_over_ray() -> None:
    names = [figure.name async for figure in bus.measure(conversations=20, messages=300, backends=("ray",))]
    assert names == ["messages_memory", "messages_redis", "turns_ray"]


def test_a_figure_is_one_json_object() -> None:
    figure = Figure("turns_ray", 1234.5, "turns/s", "target 1000")
    assert figure.row() == {"name": "turns_ray", "value": 1234.5, "unit": "turns/s", "against": "target 1000"}
    assert str(figure).split() == ["turns_ray", "1,234.5", "turns/s", "target", "1000"]


@pytest.mark.slow
def test_a_stopwatch_counts_overlapping_calls_once() -> None:
    from simarena.tui.bench.timed import Stopwatch

    watch = Stopwatch()
    with watch:
        with watch:
            time.sleep(0.02)
        inner = watch.seconds
        time.sleep(0.02)
    total = watch.seconds
    time.sleep(0.02)
    assert 0.02 <= inner < total
    assert total >= 0.04
    assert watch.seconds == total
