"""Credit: who earned what. A rule is a pure function from a group to one credit per learning turn.

A further rule is one file with an options class and a function, and one entry in `RULES`.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simarena.training.credit import scales
from simarena.training.credit.bilevel import BilevelOptions, bilevel
from simarena.training.credit.counterfactual import CounterfactualOptions, counterfactual
from simarena.training.credit.evidence import Evidence
from simarena.training.credit.gigpo import GiGPOOptions, gigpo
from simarena.training.credit.pairs import PairsOptions, pairs
from simarena.training.credit.rae import RAEOptions, rae
from simarena.training.credit.raft import RAFTOptions, raft
from simarena.training.credit.returns import ReturnsOptions, returns
from simarena.training.credit.rewards import by_turn, weighted
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.trajectory import TrajectoryOptions, trajectory
from simarena.training.credit.turnppo import TurnPPOOptions, turnppo
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.credit.userrl import UserRLOptions, userrl
from simarena.training.credit.vine import VineOptions, vine
from simarena.training.groups import Group

__all__ = ["RULES", "Evidence", "GroupCredit", "TurnCredit", "assign", "shuffled"]

RULES: dict[str, tuple[type[CreditOptions], Callable[[Group, Any, Evidence], GroupCredit]]] = {
    "trajectory": (TrajectoryOptions, trajectory),
    "returns": (ReturnsOptions, returns),
    "userrl": (UserRLOptions, userrl),
    "gigpo": (GiGPOOptions, gigpo),
    "rae": (RAEOptions, rae),
    "turnppo": (TurnPPOOptions, turnppo),
    "bilevel": (BilevelOptions, bilevel),
    "vine": (VineOptions, vine),
    "counterfactual": (CounterfactualOptions, counterfactual),
    "raft": (RAFTOptions, raft),
    "pairs": (PairsOptions, pairs),
}
_SCALES = {"turn": scales.by_turn, "agent": scales.by_agent, "task": scales.by_task}


def assign(
    groups: Sequence[Group], options: CreditOptions, rng: random.Random, evidence: Evidence | None = None
) -> list[GroupCredit]:
    """The credit of a batch of groups, in their order. `rng` is used for the negative control only."""
    _, rule = RULES[options.rule]
    known = evidence or Evidence()
    credits = [_told(group, rule(_paid(group, options), options, known), options) for group in groups]
    if options.scale != "none":
        credits = _SCALES[options.scale](groups, credits)
    return shuffled(credits, rng) if options.shuffle else credits


def _paid(group: Group, options: CreditOptions) -> Group:
    """The group with its seat's rewards weighted."""
    members = tuple(weighted(episode, group.seat, options.rewards) for episode in group.members)
    return replace(group, members=members)


def _told(group: Group, credit: GroupCredit, options: CreditOptions) -> GroupCredit:
    """The credit with each turn's reward parts beside it."""
    return tuple(
        tuple(
            turn.model_copy(update={"rewards": dict(rewards)})
            for turn, rewards in zip(turns, by_turn(episode, group.seat, options.rewards), strict=True)
        )
        for episode, turns in zip(group.members, credit, strict=True)
    )


def shuffled(credits: Sequence[GroupCredit], rng: random.Random) -> list[GroupCredit]:
    """The same numbers in the same shapes, dealt out anew over all turns of the batch."""
    numbers = [turn.advantage for group in credits for member in group for turn in member]
    rng.shuffle(numbers)
    deck = iter(numbers)

    def dealt(turn: TurnCredit) -> TurnCredit:
        return turn.model_copy(
            update={"advantage": next(deck), "tokens": (), "parts": {**turn.parts, "unshuffled": turn.advantage}}
        )

    return [tuple(tuple(dealt(turn) for turn in member) for member in group) for group in credits]
