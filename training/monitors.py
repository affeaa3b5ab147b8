"""Monitors: what a step's groups say about training, as metrics. Pure functions of groups and credit.

The learner reports on tokens and gradients, the run loop on time; names are producer/quantity.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

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
        "reward/discordance": _discordance(groups),
        **_said(groups),
        **_checks(groups),
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


def _checks(groups: Sequence[Group]) -> dict[str, float]:
    """Share of the finished episodes that pass each named check."""
    passed: dict[str, list[float]] = {}
    for group in groups:
        for episode in group.members:
            for name, good in episode.checks.items():
                passed.setdefault(name, []).append(float(good))
    return {f"checks/{name}": _mean(values) for name, values in sorted(passed.items())}


def _discordance(groups: Sequence[Group]) -> float:
    """Of the pairs in a group that differ in raw outcome, the share in which reward prefers the worse."""
    pairs = [
        (one.outcome[group.seat] - other.outcome[group.seat], one.returns(group.seat) - other.returns(group.seat))
        for group in groups
        for one, other in combinations(group.members, 2)
    ]
    differ = [(outcome, reward) for outcome, reward in pairs if outcome]
    return _share(sum(outcome * reward < 0 for outcome, reward in differ), len(differ))


def _said(groups: Sequence[Group]) -> dict[str, float]:
    """Length of turns, and the share of their three-token phrases that were there before in the same turn."""
    turns = [
        record.sampled
        for group in groups
        for episode in group.members
        for record in episode.records_of(group.seat)
    ]
    phrases = [list(zip(ids, ids[1:], ids[2:], strict=False)) for ids in turns if len(ids) > 2]
    return {
        "tokens/per_turn": _mean([float(len(ids)) for ids in turns]),
        "tokens/repetition": _mean([1 - len(set(found)) / len(found) for found in phrases]),
    }


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
