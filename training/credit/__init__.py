"""Credit: who earned what. A rule is a pure function from a group to one number per learning turn.

A further rule is one file with an options class and a function, and one entry in `RULES`.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from simarena.training.credit.gigpo import GiGPOOptions, gigpo
from simarena.training.credit.returns import ReturnsOptions, returns
from simarena.training.credit.statistics import Advantages, CreditOptions
from simarena.training.credit.trajectory import TrajectoryOptions, trajectory
from simarena.training.groups import Group

__all__ = ["RULES", "Advantages", "assign", "shuffled"]

RULES: dict[str, tuple[type[CreditOptions], Callable[[Group, Any], Advantages]]] = {
    "trajectory": (TrajectoryOptions, trajectory),
    "returns": (ReturnsOptions, returns),
    "gigpo": (GiGPOOptions, gigpo),
}


def assign(groups: Sequence[Group], options: CreditOptions, rng: random.Random) -> list[Advantages]:
    """The advantages of a batch of groups, in their order. `rng` is used for the negative control only."""
    _, rule = RULES[options.rule]
    advantages = [rule(group, options) for group in groups]
    return shuffled(advantages, rng) if options.shuffle else advantages


def shuffled(advantages: Sequence[Advantages], rng: random.Random) -> list[Advantages]:
    """The same numbers in the same shapes, dealt out anew over all turns of the batch."""
    numbers = [number for group in advantages for member in group for number in member]
    rng.shuffle(numbers)
    deck = iter(numbers)
    return [tuple(tuple(next(deck) for _ in member) for member in group) for group in advantages]
