"""Reward-ranked fine-tuning: imitate the best members of each group, and leave the rest out.

Advantage 1 on the turns of the `top` members by return, if they are above the group's mean (RAFT,
arXiv 2304.06767; with a verifiable outcome as only reward it is STaR's filter, arXiv 2203.14465). With
`loss.kind = "reinforce"` this is supervised learning on one's own successes: a phase before or between others.
"""

from typing import Literal

from pydantic import Field

from simarena.training.credit.evidence import NOTHING, Evidence
from simarena.training.credit.statistics import CreditOptions, compared
from simarena.training.credit.turns import GroupCredit
from simarena.training.groups import Group


class RAFTOptions(CreditOptions):
    rule: Literal["raft"] = "raft"
    top: int = Field(default=1, gt=0)
    """Members imitated; more where returns are equal."""


def raft(group: Group, options: RAFTOptions, _: Evidence = NOTHING) -> GroupCredit:
    """1 for the best members; the rest is left out."""
    seat = group.seat
    credits = compared([episode.returns(seat) for episode in group.members], "centre", group.key.text)
    ranked = sorted((credit.parts["return"] for credit in credits), reverse=True)
    bar = ranked[min(options.top, len(ranked)) - 1] if ranked else 0.0
    chosen = [credit.advantage > 0 and credit.parts["return"] >= bar for credit in credits]
    return tuple(
        (credit.model_copy(update={"advantage": float(best), "used": best}),) * len(episode.turns_of(seat))
        for credit, best, episode in zip(credits, chosen, group.members, strict=True)
    )
