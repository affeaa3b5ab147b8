"""Preference pairs of one deal: the better episode is chosen, the worse rejected, the rest is left out.

The best member is paired with the worst, the second best with the second worst, and so on, while their returns
differ by more than `margin`. For `loss.kind = "dpo"` (arXiv 2305.18290; whole conversations as sides, as in
multi-turn DPO, SWEET-RL arXiv 2503.15478).
"""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simarena.training.credit.evidence import NOTHING, Evidence
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class PairsOptions(CreditOptions):
    paired: ClassVar[bool] = True
    rule: Literal["pairs"] = "pairs"
    most: int = Field(default=1, gt=0)
    """Pairs a group may give."""
    margin: float = Field(default=1e-6, ge=0)
    """Least difference in return."""

    @model_validator(mode="after")
    def _agree(self) -> "PairsOptions":
        if self.scale != "none":
            raise ValueError("credit.scale is not used by credit.rule 'pairs': a preference has no size")
        return self


def pairs(group: Group, options: PairsOptions, _: Evidence = NOTHING) -> GroupCredit:
    """+1 for chosen members, −1 for rejected ones."""
    values = [episode.returns(group.seat) for episode in group.members]
    order = sorted(range(len(values)), key=lambda m: (-values[m], group.members[m].id))
    sides: dict[int, tuple[float, int]] = {}
    for rank in range(min(options.most, len(order) // 2)):
        best, worst = order[rank], order[-1 - rank]
        if values[best] - values[worst] > options.margin:
            sides[best], sides[worst] = (1.0, worst), (-1.0, best)
    credits = []
    for member, episode in enumerate(group.members):
        sign, other = sides.get(member, (0.0, member))
        key = f"{group.key.text} × members {min(member, other)} and {max(member, other)}" if sign else ""
        credit = TurnCredit(
            advantage=sign,
            baseline=values[other],
            compared=2 if sign else 1,
            key=key or group.key.text,
            parts={"return": values[member]},
            used=bool(sign),
            pair=key,
        )
        credits.append((credit,) * len(episode.turns_of(group.seat)))
    return tuple(credits)
