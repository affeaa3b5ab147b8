"""Counterfactual seat credit: what a seat's turns were worth against a baseline agent taking its place.

V_t is the mean return-to-go when `agent` takes the seat over before turn t and plays to the end, the others as
they are; A_t = r_t + V_{t+1} − V_t. Over an episode this adds up to R − V_1: what the team got because this
seat was played as it was (difference rewards, Wolpert & Tumer 2002; the counterfactual of COMA,
arXiv 1705.08926, played instead of learned). For seats that share one reward.
"""

from typing import Literal

from simarena.training.credit.evidence import Evidence
from simarena.training.credit.turns import GroupCredit
from simarena.training.credit.vine import ForkCreditOptions, stretches
from simarena.training.groups import Group


class CounterfactualOptions(ForkCreditOptions):
    rule: Literal["counterfactual"] = "counterfactual"
    agent: str
    """Who takes the seat over: an agent by name or `package.module:Factory`."""

    @property
    def stand_in(self) -> str:
        return self.agent


def counterfactual(group: Group, options: CounterfactualOptions, evidence: Evidence) -> GroupCredit:
    """What each turn was worth against a baseline agent."""
    credits = []
    for episode in group.members:
        rewards, played = (
            episode.turn_rewards(group.seat),
            evidence.continuations.get((episode.id, group.seat), {}),
        )
        known = played if played.get(0) else {0: [sum(rewards)]}
        credits.append(stretches(rewards, known, f"{group.key.text} × {options.agent}"))
    return tuple(credits)
