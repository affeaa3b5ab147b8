"""Scales: advantages of a batch brought to one size, by agent or by task. Changes no order within a scale.

Rules compare within a group; this compares groups. Knows no rule.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from simarena.arena.episodes import Turn
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group

_EPSILON = 1e-6
Numbered = list[tuple[int, float]]
"""(weight, advantage) of turns."""


def by_turn(groups: Sequence[Group], credits: Sequence[GroupCredit]) -> list[GroupCredit]:
    """(A − μ) / σ over all turns of the batch, however long they are (Agent-R1, arXiv 2511.14460)."""
    return _scaled(groups, credits, lambda *_: "", lambda _: 1, centre=True)


def by_agent(groups: Sequence[Group], credits: Sequence[GroupCredit]) -> list[GroupCredit]:
    """Over the root mean square of the agent's token advantages in the batch (after Dr.MAS, arXiv 2602.08847).

    Groups have centred them already; this keeps an agent with large rewards from drowning the others.
    """
    return _scaled(groups, credits, lambda group, _: f"{group.key.policy}/{group.seat}", _length, centre=False)


def by_task(groups: Sequence[Group], credits: Sequence[GroupCredit]) -> list[GroupCredit]:
    """(A − μ) / σ over all token advantages of the task in the batch (AgentRL, arXiv 2510.04206, eq. 1)."""
    return _scaled(groups, credits, _task, _length, centre=True)


def _task(group: Group, member: int) -> str:
    return group.members[member].labels.get("task", group.key.scenario)


def _scaled(
    groups: Sequence[Group],
    credits: Sequence[GroupCredit],
    key: Callable[[Group, int], str],
    weight: Callable[[Turn], int],
    centre: bool,
) -> list[GroupCredit]:
    pools: dict[str, Numbered] = defaultdict(list)
    for group, credit in zip(groups, credits, strict=True):
        for member, turns in enumerate(credit):
            played = group.members[member].turns_of(group.seat)
            pool = pools[key(group, member)]
            pool += [(weight(turn), told.advantage) for turn, told in zip(played, turns, strict=True) if told.used]
    moments = {name: _moments(pool, centre) for name, pool in pools.items()}

    def moved(turn: TurnCredit, name: str) -> TurnCredit:
        mean, deviation = moments[name]
        tokens = tuple((a - mean) / (deviation + _EPSILON) for a in turn.tokens)
        parts = {**turn.parts, "unscaled": turn.advantage, "batch_mean": mean, "batch_deviation": deviation}
        scaled = (turn.advantage - mean) / (deviation + _EPSILON)
        return turn.model_copy(update={"advantage": scaled, "tokens": tokens, "parts": parts})

    return [
        tuple(tuple(moved(turn, key(group, member)) for turn in turns) for member, turns in enumerate(credit))
        for group, credit in zip(groups, credits, strict=True)
    ]


def _length(turn: Turn) -> int:
    return len(turn.record.sampled) if turn.record else 1


def _moments(pool: Numbered, centre: bool) -> tuple[float, float]:
    total = sum(weight for weight, _ in pool)
    mean = math.fsum(weight * a for weight, a in pool) / total if centre and total else 0.0
    square = math.fsum(weight * (a - mean) ** 2 for weight, a in pool) / total if total else 0.0
    return mean, math.sqrt(square)
