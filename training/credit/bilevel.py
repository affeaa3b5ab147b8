"""Bi-level advantage from a critic: first between turns, then between the tokens of each.

A GAE over turns, with values at their last tokens, gives each turn's advantage; with that last value it becomes
the reward at the turn's end of a second GAE over the turn's own tokens, which sees nothing beyond it (VAGEN,
arXiv 2510.16907, as used by RAGEN, arXiv 2504.20073). Where a turn ends is known from its record: finding ends
by rewards that are not 0 would merge turns that earned nothing with the next.
"""

from typing import Literal

from pydantic import Field

from simarena.training.credit.evidence import Evidence
from simarena.training.credit.turnppo import CriticCreditOptions, gae
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class BilevelOptions(CriticCreditOptions):
    rule: Literal["bilevel"] = "bilevel"
    gamma: float = Field(default=0.95, ge=0, le=1)
    """Discount per turn."""
    trace: float = Field(default=1.0, ge=0, le=1)
    """λ between turns."""
    token_gamma: float = Field(default=1.0, ge=0, le=1)
    """Discount per token, within a turn."""
    token_trace: float = Field(default=1.0, ge=0, le=1)
    """λ between the tokens of a turn."""


def bilevel(group: Group, options: BilevelOptions, evidence: Evidence) -> GroupCredit:
    """GAE over turns, then over the tokens of each.

    A turn's own advantage is that of its last token.
    """
    credits = []
    for episode in group.members:
        values = evidence.values[episode.id, group.seat]
        ends = [turn[-1] for turn in values]
        gains = gae(episode.turn_rewards(group.seat), ends, options.gamma, options.trace)
        turns = []
        for gain, within in zip(gains, values, strict=True):
            paid = [0.0] * (len(within) - 1) + [gain + within[-1]]
            tokens = gae(paid, within, options.token_gamma, options.token_trace)
            turns.append(
                TurnCredit(
                    advantage=gain,
                    baseline=within[-1],
                    key=f"{group.key.text} × critic",
                    parts={"value": within[-1]},
                    tokens=tuple(tokens),
                    targets=tuple(a + v for a, v in zip(tokens, within, strict=True)),
                )
            )
        credits.append(tuple(turns))
    return tuple(credits)
