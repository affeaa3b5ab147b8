"""Role-conditioned advantage: a running mean of each role's returns instead of a group.

A = R − b, then b ← d b + (1 − d) R, one b per policy, scenario and seat (RAE of SPIRAL, arXiv 2506.24119): for
self-play, where the two sides of a deal are not alike and their mean carries no information. The baseline is
read before it is updated: an episode must not be measured against itself. Episodes come in the order of
their deals and members, never that of arrival. `pooled` keeps one b for all seats: the ablation, in which an
edge of the first mover becomes credit.
"""

from typing import ClassVar, Literal

from pydantic import Field

from simarena.training.credit.evidence import Evidence
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class RAEOptions(CreditOptions):
    compares: ClassVar[bool] = False
    rule: Literal["rae"] = "rae"
    decay: float = Field(default=0.95, ge=0, lt=1)
    """d: share of the old baseline that stays at each episode."""
    pooled: bool = False
    """One baseline for all seats, for comparison."""


def rae(group: Group, options: RAEOptions, evidence: Evidence) -> GroupCredit:
    """Each return minus the running mean of its role."""
    key = f"{group.key.policy}/{group.key.scenario}/{'*' if options.pooled else group.seat}"
    credits = []
    for episode in group.members:
        baseline, value = evidence.baselines.get(key, 0.0), episode.returns(group.seat)
        evidence.baselines[key] = options.decay * baseline + (1 - options.decay) * value
        credit = TurnCredit(advantage=value - baseline, baseline=baseline, key=key, parts={"return": value})
        credits.append((credit,) * len(episode.turns_of(group.seat)))
    return tuple(credits)
