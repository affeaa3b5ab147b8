"""Group statistics: what every credit rule subtracts, and the options they share.

Sums are exact (`math.fsum`), so advantages do not depend on the order in which members arrive.
"""

import math
from collections.abc import Sequence
from typing import Literal

from simarena.arena.messages import Frozen

Normalise = Literal["centre", "std"]
Advantages = tuple[tuple[float, ...], ...]
"""One tuple per member of a group, with one number per learning turn of that member."""


class CreditOptions(Frozen):
    """Settings of every credit rule."""

    rule: str
    normalise: Normalise = "centre"
    """`centre` subtracts the mean (Dr.GRPO, arXiv 2503.20783); `std` also divides by the standard deviation
    (GRPO, arXiv 2402.03300), which weighs easy and hard deals up."""
    shuffle: bool = False
    """Negative control: deal the batch's advantages out to its turns at random. Nothing can be learned then,
    so a score that still rises comes from somewhere else."""


def centred(values: Sequence[float], normalise: Normalise) -> list[float]:
    """Values minus their mean, shape [n] → [n]; over (sample deviation + 1e-6) with `std`.

    A group of one has nothing to be compared with and gets 0, not its raw reward.
    """
    if len(values) < 2:
        return [0.0] * len(values)
    mean = math.fsum(values) / len(values)
    away = [value - mean for value in values]
    if normalise == "centre":
        return away
    deviation = math.sqrt(math.fsum(a * a for a in away) / (len(values) - 1))
    return [a / (deviation + 1e-6) for a in away]


def to_go(rewards: Sequence[float], gamma: float) -> list[float]:
    """Discounted return from each turn on, G_t = r_t + γ G_{t+1}, shape [turns] → [turns]."""
    returns: list[float] = []
    for reward in reversed(rewards):
        returns.append(reward + gamma * (returns[-1] if returns else 0.0))
    return returns[::-1]
