"""Filters: which groups are worth a gradient, and where each of their episodes goes in the ledger.

Looks at the raw outcome only, never at shaped rewards: a length penalty must not give a group of failures
a signal (trainer pains 12 and 13). Knows no credit rule.
"""

from collections.abc import Mapping

from pydantic import Field

from simarena.arena.errors import RecordError
from simarena.arena.ledger import Fate
from simarena.arena.messages import Frozen
from simarena.training.groups import Group


class FilterOptions(Frozen):
    """Settings of the filters."""

    zero_variance: float = Field(default=1e-6, ge=0)
    """Groups whose raw outcomes differ by no more than this are dropped."""
    min_group: float = Field(default=0.75, ge=0, le=1)
    """Share of a group's episodes that must have finished."""
    refill: int = Field(default=1, ge=0)
    """Extra rounds of deals one step may play to replace dropped groups."""


def rejection(group: Group, options: FilterOptions, compares: bool = True) -> str:
    """Why the group is not trained on: `min_group`, `zero_variance`, or empty for a group to keep.

    `compares` says whether the credit rule sets members against each other; if not, equal outcomes are kept.
    """
    if not group.members or not group.viable(options.min_group):
        return "min_group"
    if not compares:
        return ""
    outcomes = [_outcome(group, position) for position in range(len(group.members))]
    return "zero_variance" if max(outcomes) - min(outcomes) <= options.zero_variance else ""


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
