"""Turn return-to-go: each turn is judged by what came after it, against its group at the same turn.

A_t = G_t − mean of G_t over the members that reached their t-th turn, where G_t = r_t + γ G_{t+1}
(turn-level returns as in MARSHAL, arXiv 2510.15414; the group key deal × seat × turn of AT-GRPO,
arXiv 2510.11062).

Why by position and not pooled: a member's action at t cannot change whether it reached t, so the mean over
those who did is a baseline that leaves the gradient unbiased, and it takes out what the whole group had
already earned by then. A pooled mean would set late turns against early ones and count long episodes
more than short ones. Where one member alone reached a turn there is nothing to compare: it gets 0.
"""

from itertools import zip_longest
from typing import Literal

from pydantic import Field

from simarena.training.credit.statistics import Advantages, CreditOptions, centred, to_go
from simarena.training.groups import Group


class ReturnsOptions(CreditOptions):
    rule: Literal["returns"] = "returns"
    gamma: float = Field(default=1.0, ge=0, le=1)
    """Discount per turn of the learning seat."""


def returns(group: Group, options: ReturnsOptions) -> Advantages:
    """The centred return-to-go of each turn."""
    futures = [to_go(episode.turn_rewards(group.seat), options.gamma) for episode in group.members]
    advantages: list[list[float]] = [[] for _ in futures]
    for column in zip_longest(*futures):
        reached = [member for member, value in enumerate(column) if value is not None]
        compared = centred([column[member] for member in reached], options.normalise)
        for member, advantage in zip(reached, compared, strict=True):
            advantages[member].append(advantage)
    return tuple(tuple(turns) for turns in advantages)
