"""Whole-trajectory credit: every turn of an episode gets the episode's advantage.

A = R − mean of R over the group: GRPO (DeepSeekMath, arXiv 2402.03300) with the centring of Dr.GRPO
(arXiv 2503.20783). One vote per episode, however many turns it took.
"""

from typing import Literal

from simarena.training.credit.statistics import Advantages, CreditOptions, centred
from simarena.training.groups import Group


class TrajectoryOptions(CreditOptions):
    rule: Literal["trajectory"] = "trajectory"


def trajectory(group: Group, options: TrajectoryOptions) -> Advantages:
    """The centred return of the seat, repeated for each of its turns."""
    seat = group.seat
    advantages = centred([episode.returns(seat) for episode in group.members], options.normalise)
    return tuple(
        (advantage,) * len(episode.turns_of(seat))
        for advantage, episode in zip(advantages, group.members, strict=True)
    )
