"""Fork credit: what a turn changed in the outcome to be expected, by playing on from before and after it.

A = Σ r + V_after − V_before over the turns between two states whose value is known. V of a state is the mean
return-to-go of K conversations that were played on from there (VinePPO, arXiv 2410.01679, with turns as steps);
the opening is worth what the group's members got from it, the end 0. Turns between two known states share
their credit, so with no forks at all this is whole-trajectory credit, and with one at every turn each stands
for itself. No critic has to be learned: the world itself is asked.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from simarena.training.credit.evidence import Evidence
from simarena.training.credit.forks import ForkOptions
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class ForkCreditOptions(CreditOptions):
    """Settings of the rules that play on from forks."""

    compares: ClassVar[bool] = False
    forks: ForkOptions = ForkOptions()

    @property
    def stand_in(self) -> str:
        """Who takes the seat over in continuations; empty: who sits there."""
        return ""


class VineOptions(ForkCreditOptions):
    compares: ClassVar[bool] = True
    rule: Literal["vine"] = "vine"


def vine(group: Group, options: VineOptions, evidence: Evidence) -> GroupCredit:
    """The rise in played-out value over each turn."""
    returns = [episode.returns(group.seat) for episode in group.members]
    credits = []
    for episode in group.members:
        played = {0: returns, **evidence.continuations.get((episode.id, group.seat), {})}
        if len(returns) < 2:
            played = {0: [returns[0]]}
        credits.append(stretches(episode.turn_rewards(group.seat), played, group.key.text))
    return tuple(credits)


def stretches(
    rewards: Sequence[float], played: Mapping[int, Sequence[float]], where: str
) -> tuple[TurnCredit, ...]:
    """One credit per turn. `played[t]` are returns-to-go from before turn t; turn 0 must be among them."""
    known = {turn: sum(values) / len(values) for turn, values in played.items() if values}
    bounds = [*sorted(known), len(rewards)]
    credits: list[TurnCredit] = []
    for first, last in itertools.pairwise(bounds):
        earned, after = sum(rewards[first:last]), known.get(last, 0.0)
        credit = TurnCredit(
            advantage=earned + after - known[first],
            baseline=known[first],
            compared=len(played[first]),
            key=f"{where} × forks before turn {first + 1}",
            parts={"return": earned, "value_before": known[first], "value_after": after},
        )
        credits += [credit] * (last - first)
    return tuple(credits)
