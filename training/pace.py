"""The pace of a run: how fast it learned, what it waited for, and how old its tokens were.

A pure function of metrics rows. Evaluations and saving are no part of a step.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simarena.arena.messages import Frozen


class Pace(Frozen):
    """Over all steps of a run."""

    tokens_per_second: float
    """Tokens that the learners sampled, by the time of steps from end to end."""
    seconds_per_step: float
    waiting: float
    """Share of that time in which the trainer had nothing to learn from yet."""
    age: float
    """Mean over tokens: versions between the policy that sampled it and the one that learned from it."""
    age_max: int


def pace(rows: Sequence[Mapping[str, Any]]) -> Pace | None:
    """The pace of these steps; None if there are none."""
    steps = [row for row in rows if "time/step" in row]
    if not steps:
        return None
    seconds = math.fsum(row["time/step"] for row in steps)
    tokens = math.fsum(row["tokens/sampled"] for row in steps)
    return Pace(
        tokens_per_second=tokens / seconds,
        seconds_per_step=seconds / len(steps),
        waiting=math.fsum(row["time/waiting"] for row in steps) / seconds,
        age=math.fsum(row["rollout/age"] * row["tokens/sampled"] for row in steps) / max(1.0, tokens),
        age_max=int(max(row["rollout/age_max"] for row in steps)),
    )
