"""Group statistics: what a credit rule subtracts, and the options all rules share.

Sums are exact (`math.fsum`), so advantages do not depend on the order in which members arrive.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from simarena.arena.messages import Frozen
from simarena.training.credit.rewards import RewardWeights
from simarena.training.credit.turns import TurnCredit

Normalise = Literal["centre", "std", "loo"]


class CreditOptions(Frozen):
    """Settings of every credit rule."""

    compares: ClassVar[bool] = True
    """Whether the rule sets members of a group against each other. If not, equal outcomes carry signal all the
    same, and the zero-variance filter is off."""

    paired: ClassVar[bool] = False
    """Whether the rule gives pairs, which only a loss that prefers can use."""

    rule: str
    rewards: RewardWeights = RewardWeights()
    scale: Literal["none", "turn", "agent", "task"] = "none"
    """Bring the advantages of a batch to one size: whiten over its turns, each one vote (`turn`, Agent-R1,
    arXiv 2511.14460); divide by each agent's spread (`agent`, after Dr.MAS, arXiv 2602.08847); whiten the tokens
    of each task, told apart by the label `task` or else by scenario (`task`, AgentRL, arXiv 2510.04206)."""
    shuffle: bool = False
    """Negative control: deal the batch's advantages out to its turns at random. Nothing can be learned then,
    so a score that still rises comes from somewhere else."""


class GroupCreditOptions(CreditOptions):
    """Settings of the rules that compare the members of a group."""

    normalise: Normalise = "centre"
    """`centre` subtracts the mean (Dr.GRPO, arXiv 2503.20783); `std` also divides by the standard deviation
    (GRPO, arXiv 2402.03300), which weighs easy and hard deals up; `loo` subtracts the mean of the others (RLOO,
    arXiv 2402.14740)."""


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
    if normalise == "loo":
        return [a * len(values) / (len(values) - 1) for a in away]
    deviation = math.sqrt(math.fsum(a * a for a in away) / (len(values) - 1))
    return [a / (deviation + 1e-6) for a in away]


def compared(values: Sequence[float], normalise: Normalise, key: str) -> list[TurnCredit]:
    """`centred`, with its reasons: the value as part `return`, and what it was set against."""
    mean = math.fsum(values) / len(values) if values else 0.0
    return [
        TurnCredit(
            advantage=advantage,
            baseline=value - advantage if normalise == "loo" else mean,
            compared=len(values),
            key=key,
            parts={"return": value},
        )
        for value, advantage in zip(values, centred(values, normalise), strict=True)
    ]


def to_go(rewards: Sequence[float], gamma: float) -> list[float]:
    """Discounted return from each turn on, G_t = r_t + γ G_{t+1}, shape [turns] → [turns]."""
    returns: list[float] = []
    for reward in reversed(rewards):
        returns.append(reward + gamma * (returns[-1] if returns else 0.0))
    return returns[::-1]
