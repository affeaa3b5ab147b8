"""Filters: which groups are worth a gradient, and where each of their episodes goes in the ledger.

Whether a group has a signal at all is told from the raw outcome, never from shaped rewards: a length penalty
must not give a group of failures one (trainer pains 12 and 13). Knows no credit rule.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Literal

from pydantic import Field, model_validator

from simarena.arena.errors import RecordError
from simarena.arena.ledger import Fate
from simarena.arena.messages import Frozen
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class FilterOptions(Frozen):
    """Settings of the filters."""

    zero_variance: float = Field(default=1e-6, ge=0)
    """Groups whose raw outcomes differ by no more than this are dropped."""
    min_group: float = Field(default=0.75, ge=0, le=1)
    """Share of a group's episodes that must have finished."""
    refill: int = Field(default=1, ge=0)
    """Extra rounds of deals one step may play to replace dropped groups."""
    truncated: Literal["mask", "fail"] = "mask"
    """An episode cut off by a cap: left out, or an outcome of 0 with the rewards so far."""
    repair: bool = False
    """Keep a group if more than half of it finished, and weigh it as if it were whole (as GLM-5, arXiv
    2602.15763, does by repeating members); `min_group` is not used then."""
    snr: float = Field(default=1.0, gt=0, le=1)
    """Share of the step's in-group reward variance that is kept, groups of most variance first (SNR-aware filter
    of RAGEN-2, arXiv 2604.06268, which uses 0.9); 1 keeps all."""
    uncertain: float = Field(default=1.0, gt=0, le=1)
    """Share of the groups that is kept, those with most spread in return first (StarPO-S of RAGEN, arXiv
    2504.20073, which uses 0.25 to 0.75); 1 keeps all."""

    @model_validator(mode="after")
    def _agree(self) -> "FilterOptions":
        if self.repair and self.min_group != FilterOptions.model_fields["min_group"].default:
            raise ValueError("filters.min_group is not used when filters.repair is true: remove one of them")
        if self.snr < 1 and self.uncertain < 1:
            raise ValueError("filters.snr and filters.uncertain both rank groups: set one of them")
        return self


def rejection(group: Group, options: FilterOptions, compares: bool = True) -> str:
    """Why the group is not trained on: `min_group`, `zero_variance`, or empty for a group to keep.

    `compares` says whether the credit rule sets members against each other; if not, equal outcomes are kept.
    """
    enough = 2 * len(group.members) > group.size if options.repair else group.viable(options.min_group)
    if not group.members or not enough:
        return "min_group"
    if not compares:
        return ""
    outcomes = [_outcome(group, position) for position in range(len(group.members))]
    return "zero_variance" if max(outcomes) - min(outcomes) <= options.zero_variance else ""


def ranked(groups: Sequence[Group], options: FilterOptions) -> list[str]:
    """Of groups to keep, why some are dropped after all when set against the others: `snr`, `uncertain` or empty.

    Each seat's groups are ranked among themselves.
    """
    dropped = [""] * len(groups)
    if options.snr == 1 and options.uncertain == 1:
        return dropped
    for seat in {(group.key.policy, group.seat) for group in groups}:
        spreads = {n: _spread(g) for n, g in enumerate(groups) if (g.key.policy, g.seat) == seat}
        order = sorted(spreads, key=lambda n: (-spreads[n], groups[n].key))
        if options.uncertain < 1:
            late = order[math.ceil(options.uncertain * len(order)) :]
            reason = "uncertain"
        else:
            wanted, running = options.snr * math.fsum(spreads.values()), accumulate(spreads[n] for n in order)
            late = [n for n, held in zip(order, running, strict=True) if held - spreads[n] >= wanted * (1 - 1e-9)]
            reason = "snr"
        for n in late:
            dropped[n] = reason
    return dropped


def _spread(group: Group) -> float:
    """Variance of the members' returns."""
    values = [episode.returns(group.seat) for episode in group.members]
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)


def repaired(group: Group, credit: GroupCredit) -> GroupCredit:
    """The credit of a group some of whose episodes are missing, weighed up to its full size."""
    weight = group.size / max(1, len(group.members))

    def heavier(turn: TurnCredit) -> TurnCredit:
        tokens = tuple(weight * a for a in turn.tokens)
        parts = {**turn.parts, "repair": weight}
        return turn.model_copy(update={"advantage": weight * turn.advantage, "tokens": tokens, "parts": parts})

    return credit if weight == 1 else tuple(tuple(heavier(turn) for turn in turns) for turns in credit)


def fates(group: Group, rejected: str) -> Mapping[str, tuple[Fate, str]]:
    """Episode id → fate and reason for `Ledger.settle`, for every episode of the group."""
    kept: tuple[Fate, str] = ("filtered", rejected) if rejected else ("trained", "")
    return {
        **{episode.id: kept for episode in group.members},
        **{episode.id: ("truncated", episode.ending) for episode in group.truncated},
        **{episode.id: ("discarded", episode.ending) for episode in group.faulty},
    }


def _outcome(group: Group, position: int) -> float:
    episode = group.members[position]
    if group.seat not in episode.outcome:
        raise RecordError(f"episode {episode.id!r} finished without an outcome for learning seat {group.seat!r}")
    return episode.outcome[group.seat]
