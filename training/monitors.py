"""Monitors: what a step's groups say about training, as metrics. Pure functions of groups and credit.

The learner reports on tokens and gradients, the run loop on time; names are producer/quantity.
"""

import math
from collections.abc import Mapping, Sequence

from simarena.training.credit.turns import GroupCredit
from simarena.training.groups import Group


def of_groups(groups: Sequence[Group], rejections: Sequence[str]) -> dict[str, float]:
    """Rewards, outcomes, lengths and endings of all groups played, kept or not.

    `rejections[i]` says why group i is not trained on; empty if it is.
    """
    members = [(group.seat, episode) for group in groups for episode in group.members]
    rewards = [episode.returns(seat) for seat, episode in members]
    size = sum(group.size for group in groups)
    within = [_deviation([e.returns(group.seat) for e in group.members]) for group in groups]
    return {
        "reward/mean": _mean(rewards),
        "reward/std": _deviation(rewards),
        "reward/group_std": _mean(within),
        "outcome/mean": _mean([episode.outcome[seat] for seat, episode in members]),
        "outcome/success": _mean([float(episode.success) for _, episode in members]),
        "episodes/turns": _mean([float(len(episode.turns_of(seat))) for seat, episode in members]),
        "episodes/truncated": _share(sum(len(group.truncated) for group in groups), size),
        "episodes/faulty": _share(sum(len(group.faulty) for group in groups), size),
        "groups/zero_variance": _share(list(rejections).count("zero_variance"), len(groups)),
        "groups/min_group": _share(list(rejections).count("min_group"), len(groups)),
        "tokens/prefix_breaks": float(sum(_breaks(group) for group in groups)),
    }


def of_credit(credits: Sequence[GroupCredit]) -> dict[str, float]:
    """Spread of the advantages, and the share of turns that had nothing to be compared with."""
    turns = [turn.advantage for group in credits for member in group for turn in member]
    return {
        "credit/std": _deviation(turns),
        "credit/max": max((abs(turn) for turn in turns), default=0.0),
        "credit/zero": _share(sum(turn == 0 for turn in turns), len(turns)),
    }


def by_label(groups: Sequence[Group], label: str) -> Mapping[str, float]:
    """Success share of the finished episodes by one of their labels, such as `persona`."""
    table: dict[str, list[float]] = {}
    for group in groups:
        for episode in group.members:
            if label in episode.labels:
                table.setdefault(episode.labels[label], []).append(float(episode.success))
    return {name: _mean(values) for name, values in sorted(table.items())}


def _breaks(group: Group) -> int:
    """Samples beyond the first of each seat's episode: places where history was rewritten."""
    return sum(sum(record.start for record in episode.records_of(group.seat)[1:]) for episode in group.members)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _deviation(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.sqrt(_mean([(value - mean) ** 2 for value in values]))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
