"""Why: how one seat's turns in one conversation were credited, spelled out. All texts are safe to show.

A value that `simarena why` prints and a screen draws. Knows neither where it was recorded nor how to draw it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sibling:
    """One conversation of the group."""

    key: str
    id: str
    member: int
    ending: str
    success: bool | None
    reward: float
    """Return of the seat."""
    outcome: float | None
    advantages: tuple[float, ...] = ()
    """By turn of the seat; empty if it was not credited."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a turn, as the policy saw it."""

    id: int
    text: str
    """Empty where the run kept no tokenizer."""
    sampled: bool
    """The mask: True exactly where the policy sampled it, and so where the loss touches it."""
    logprob: float | None = None
    """Of a sampled token, when it was sampled."""
    advantage: float | None = None
    ratio: float | None = None
    """Probability in training over that in sampling, at the first look: 1 where the trained version itself sampled
    the token, since it is then its own reference; None where another did, or nothing was learned."""


@dataclass(frozen=True, slots=True)
class Other:
    """The turn of the same position in one conversation of the group."""

    member: int
    value: float | None
    advantage: float


@dataclass(frozen=True, slots=True)
class WhyTurn:
    """One turn of the seat."""

    position: int
    """0 for the seat's first turn."""
    turn: int
    """Turn number in the conversation."""
    said: str
    reward: float
    """What the scenario paid for it."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """That by name, where the scenario names its parts."""
    sources: Mapping[str, float] = field(default_factory=dict)
    """The reward that credit worked with, by source, after the recipe's weights: `own`, `team`, `outcome`, ..."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What went into the rule, by name: `return`, `episode`, `step`, ..."""
    value: float | None = None
    """The number that was compared; None where the rule names none."""
    baseline: float | None = None
    """What it was set against; None if the turn was not credited."""
    compared: int = 0
    """How many values the baseline is made of; with 1 there was nothing to compare."""
    among: str = ""
    """What those values share: `deal 7 × assistant × turn 2`."""
    advantage: float | None = None
    version: int | None = None
    tokens: tuple[Token, ...] = ()
    others: tuple[Other, ...] = ()
    """The same turn in the group's credited conversations, this one's among them."""
    sum: str = ""
    """The computation in one line."""


@dataclass(frozen=True, slots=True)
class Why:
    """One seat of one conversation."""

    key: str
    id: str
    seat: str
    policy: str
    """Empty for a seat that no policy plays."""
    scenario: str
    deal: int
    member: int
    rule: str
    """The credit rule, as the recipe names it; empty if nothing was learned from this conversation."""
    settings: str
    """Its options, in one line."""
    fate: str
    """What became of it: `trained`, `filtered(zero_variance)`, or why there is no credit, in words."""
    step: int | None = None
    """The optimiser step that it was for."""
    siblings: tuple[Sibling, ...] = ()
    """The group by reward, best first; this conversation is among them."""
    turns: tuple[WhyTurn, ...] = ()
