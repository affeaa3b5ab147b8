"""UserRL turn weights: the trajectory's advantage, spread over its turns by how well each of them did.

A_t = A · w_t / (token mean of w) (UserRL, arXiv 2509.19736), where A is the group-normalised score of the
trajectory: Σ r_t, or with `gamma` < 1 its reward-to-go Σ γ^t r_t. The weight w_t is 1 (`equalised`), the turn's
own reward-to-go (`reward_to_go`), or ½ + ½ (1 − e^{−k r}) / (1 − e^{−k}) of its reward (`exponential`). The token
mean of A_t equals A, so a rule moves credit between turns and adds none. A weight says how much, not which
way: below 0 it counts as 0; where all are 0 the turns share equally.
"""

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from simarena.training.credit.evidence import NOTHING, Evidence
from simarena.training.credit.statistics import GroupCreditOptions, compared, to_go
from simarena.training.credit.turns import GroupCredit
from simarena.training.groups import Group

STEEPNESS = 2.0
"""k of the exponential map, as in the paper."""


class UserRLOptions(GroupCreditOptions):
    rule: Literal["userrl"] = "userrl"
    turns: Literal["equalised", "reward_to_go", "exponential"] = "equalised"
    """How turns share the trajectory's advantage."""
    gamma: float = Field(default=0.8, ge=0, le=1)
    """Discount per turn of the learning seat, in the score and in `reward_to_go`."""


def userrl(group: Group, options: UserRLOptions, _: Evidence = NOTHING) -> GroupCredit:
    """The trajectory's advantage times each turn's weight."""
    earned = [episode.turn_rewards(group.seat) for episode in group.members]
    scores = [to_go(rewards, options.gamma)[0] if rewards else 0.0 for rewards in earned]
    whole = compared(scores, options.normalise, group.key.text)
    lengths = [[len(t.record.sampled) if t.record else 1 for t in e.turns_of(group.seat)] for e in group.members]
    return tuple(
        tuple(
            credit.model_copy(
                update={"advantage": credit.advantage * weight, "parts": {**credit.parts, "weight": weight}}
            )
            for weight in _weights(rewards, tokens, options)
        )
        for credit, rewards, tokens in zip(whole, earned, lengths, strict=True)
    )


def _weights(rewards: Sequence[float], tokens: Sequence[int], options: UserRLOptions) -> list[float]:
    """One weight per turn, with token mean 1."""
    raw = {
        "equalised": lambda: [1.0] * len(rewards),
        "reward_to_go": lambda: to_go(rewards, options.gamma),
        "exponential": lambda: [0.5 + 0.5 * math.expm1(-STEEPNESS * r) / math.expm1(-STEEPNESS) for r in rewards],
    }[options.turns]()
    kept = [max(0.0, weight) for weight in raw]
    total = math.fsum(weight * n for weight, n in zip(kept, tokens, strict=True))
    return [weight * sum(tokens) / total for weight in kept] if total > 0 else [1.0] * len(rewards)
