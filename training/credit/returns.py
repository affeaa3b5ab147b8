"""Turn return-to-go: each turn is judged by what came after it, against its group at the same turn.

A_t = G_t − mean of G_t over the members that reached their t-th turn, where G_t = r_t + γ G_{t+1}
(turn-level returns as in MARSHAL, arXiv 2510.15414; the group key deal × seat × turn of AT-GRPO,
arXiv 2510.11062, whose own credit is that of γ = 0: what the turn itself earned).

Why by position and not pooled: a member's action at t cannot change whether it reached t, so the mean over
those who did is a baseline that leaves the gradient unbiased, and it takes out what the whole group had
already earned by then. A pooled mean would set late turns against early ones and count long episodes
more than short ones. Where one member alone reached a turn there is nothing to compare: it gets 0.
"""

from itertools import zip_longest
from typing import Literal

from pydantic import Field

from simarena.training.credit.evidence import NOTHING, Evidence
from simarena.training.credit.statistics import GroupCreditOptions, compared, to_go
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class ReturnsOptions(GroupCreditOptions):
    rule: Literal["returns"] = "returns"
    gamma: float = Field(default=1.0, ge=0, le=1)
    """Discount per turn of the learning seat."""


def returns(group: Group, options: ReturnsOptions, _: Evidence = NOTHING) -> GroupCredit:
    """The centred return-to-go of each turn."""
    futures = [to_go(episode.turn_rewards(group.seat), options.gamma) for episode in group.members]
    credits: list[list[TurnCredit]] = [[] for _ in futures]
    for position, column in enumerate(zip_longest(*futures)):
        reached = [member for member, value in enumerate(column) if value is not None]
        key = f"{group.key.text} × turn {position + 1}"
        turns = compared([column[member] for member in reached], options.normalise, key)
        for member, turn in zip(reached, turns, strict=True):
            credits[member].append(turn)
    return tuple(tuple(turns) for turns in credits)
