"""The trend of a run, on worked numbers."""

import pytest

from simarena.training.trend import trend


def rows(*values: float) -> list[dict[str, float]]:
    return [{"step": float(step), "reward/mean": value} for step, value in enumerate(values, 1)]


def test_first_and_last_five_steps_with_their_intervals() -> None:
    found = trend([*rows(0, 1, 2, 3, 4), {"step": 5.0, "eval/success": 1.0}, *rows(9, 5, 5, 5, 5, 5)])
    assert found is not None
    assert found.first.mean == 2
    # deviation of 0..4 is sqrt(2.5); 2.776 · sqrt(2.5 / 5) = 1.963
    assert found.first.high == pytest.approx(2 + 1.963, abs=1e-3)
    assert (found.last.mean, found.last.low, found.last.high) == (5, 5, 5)


def test_a_short_run_has_no_trend() -> None:
    assert trend(rows(*range(9))) is None
