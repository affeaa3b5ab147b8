"""Whole-trajectory credit: every turn of an episode gets the episode's advantage.

A = R − mean of R over the group: GRPO (DeepSeekMath, arXiv 2402.03300) with `normalise = "std"`, Dr.GRPO
(arXiv 2503.20783) with `centre`, RLOO (arXiv 2402.14740) with `loo`. One vote per episode, however many turns
it took. Groups hold one seat, so `std` has each agent's own statistics (Dr.MAS, arXiv 2602.08847).
"""

from typing import Literal

from simarena.training.credit.evidence import NOTHING, Evidence
from simarena.training.credit.statistics import GroupCreditOptions, compared
from simarena.training.credit.turns import GroupCredit
from simarena.training.groups import Group


class TrajectoryOptions(GroupCreditOptions):
    rule: Literal["trajectory"] = "trajectory"


def trajectory(group: Group, options: TrajectoryOptions, _: Evidence = NOTHING) -> GroupCredit:
    """The seat's centred return, the same for all its turns."""
    seat = group.seat
    credits = compared([e.returns(seat) for e in group.members], options.normalise, group.key.text)
    return tuple(
        (credit,) * len(episode.turns_of(seat)) for credit, episode in zip(credits, group.members, strict=True)
    )
