"""Turn credit: what a rule says about one turn, and how it came to say it.

Producer: credit rules. Consumers: samples (the numbers), monitors, `simarena why` (the reasons). Plain data.
"""

from pydantic import Field

from simarena.arena.messages import Frozen


class TurnCredit(Frozen):
    """The advantage of one turn of one seat, with its reasons."""

    advantage: float
    baseline: float = 0.0
    """What the turn's value was set against."""
    compared: int = 1
    """How many values the baseline is made of, the turn's own among them; with 1 there was nothing to compare."""
    key: str = ""
    """What those values share, such as `deal 7 × assistant × turn 2`."""
    parts: dict[str, float] = Field(default_factory=dict)
    """The numbers that went in, by name, such as `return`, `episode`, `step`."""
    rewards: dict[str, float] = Field(default_factory=dict)
    """The turn's reward by source after weighting: `own`, `team`, `outcome`, `overlong`; none is left out as 0."""
    tokens: tuple[float, ...] = ()
    """One advantage per sampled token, for rules that tell them apart; else all have `advantage`."""
    targets: tuple[float, ...] = ()
    """What the critic should have expected before the turn's first tokens; empty for rules without one."""
    used: bool = True
    """Whether the turn is trained on at all."""
    pair: str = ""
    """Names the pair whose one side the turn belongs to."""


GroupCredit = tuple[tuple[TurnCredit, ...], ...]
"""One tuple per member of a group, with one credit per learning turn of that member."""
