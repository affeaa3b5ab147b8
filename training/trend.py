"""The trend of a run: mean reward of its last steps against its first, with intervals.

A pure function of metrics rows.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simarena.arena.messages import Frozen

WINDOW = 5
T_QUANTILE = 2.776
"""0.975 quantile of Student's t with WINDOW − 1 degrees of freedom."""


class Mean(Frozen):
    """Mean over steps, with a 95 % interval from the spread between them."""

    mean: float
    low: float
    high: float


class Trend(Frozen):
    """Mean reward of the first and the last WINDOW steps."""

    first: Mean
    last: Mean


def trend(rows: Sequence[Mapping[str, Any]], name: str = "reward/mean") -> Trend | None:
    """The trend of one metric; None for a run too short to have two windows."""
    values = [float(row[name]) for row in rows if name in row]
    if len(values) < 2 * WINDOW:
        return None
    return Trend(first=_mean(values[:WINDOW]), last=_mean(values[-WINDOW:]))


def _mean(values: Sequence[float]) -> Mean:
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    half = T_QUANTILE * deviation / math.sqrt(len(values))
    return Mean(mean=mean, low=mean - half, high=mean + half)
