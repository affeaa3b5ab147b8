"""GiGPO: the episode's advantage plus one for the step, among turns taken in the same state.

A = A_episode + w · A_step (GiGPO, arXiv 2505.10978, eq. 8): A_step is the discounted return-to-go of a turn
centred over all turns of the group with the same state key, here the scenario's `state_key`. Dialogue
never repeats word for word, so the key must be an abstraction; a key seen once has A_step = 0.
"""

from collections import defaultdict
from typing import Literal

from pydantic import Field

from simarena.arena.errors import UsageError
from simarena.training.credit.evidence import NOTHING, Evidence
from simarena.training.credit.statistics import GroupCreditOptions, compared, to_go
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class GiGPOOptions(GroupCreditOptions):
    rule: Literal["gigpo"] = "gigpo"
    gamma: float = Field(default=0.95, ge=0, le=1)
    """Discount per turn of the learning seat, for the step advantage."""
    state_weight: float = Field(default=1.0, ge=0)
    """w: weight of the step advantage."""


def gigpo(group: Group, options: GiGPOOptions, _: Evidence = NOTHING) -> GroupCredit:
    """Episode plus step advantage of each turn.

    Raises UsageError if the scenario names no states.
    """
    seat = group.seat
    states: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for member, episode in enumerate(group.members):
        for position, turn in enumerate(episode.turns_of(seat)):
            states[turn.state_key].append((member, position))
    if states.pop("", []) and not states:
        raise UsageError(
            f"scenario {group.key.scenario!r} gives no state keys for seat {seat!r}: "
            "credit.rule 'gigpo' needs them, use 'returns'"
        )
    futures = [to_go(episode.turn_rewards(seat), options.gamma) for episode in group.members]
    whole = compared([e.returns(seat) for e in group.members], options.normalise, group.key.text)
    credits = [[credit] * len(future) for credit, future in zip(whole, futures, strict=True)]
    for state, places in states.items():
        key = f"{group.key.text} × state {state}"
        steps = compared([futures[m][position] for m, position in places], options.normalise, key)
        for (member, position), step in zip(places, steps, strict=True):
            credits[member][position] = _sum(credits[member][position], step, options.state_weight)
    return tuple(tuple(turns) for turns in credits)


def _sum(episode: TurnCredit, step: TurnCredit, weight: float) -> TurnCredit:
    """Both comparisons in one; the baseline told is the step's, the narrower one."""
    parts = {**episode.parts, "episode": episode.advantage, "to_go": step.parts["return"], "step": step.advantage}
    return step.model_copy(update={"advantage": episode.advantage + weight * step.advantage, "parts": parts})
