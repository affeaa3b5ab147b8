"""Why: how one seat's turns in one conversation were credited, spelled out. All texts are safe to show.

A value that `simarena why` prints and a screen draws. Knows neither where it was recorded nor how to draw it.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sibling:
    """One conversation of the group."""

    key: str
    id: str
    member: int
    ending: str
    reward: float
    """Return of the seat."""
    outcome: float | None
    advantages: tuple[float, ...] = ()
    """By turn of the seat; empty if it was not credited."""
    counted: bool = True
    """In the group's statistics: finished, and the group was kept."""


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
    """Of the probability when training to that when sampling; None if it was not recorded."""


@dataclass(frozen=True, slots=True)
class WhyTurn:
    """One turn of the seat."""

    position: int
    """0 for the seat's first turn."""
    turn: int
    """Turn number in the conversation."""
    reward: float
    parts: dict[str, float]
    future: float
    """The number that the rule compares: the return, or the return-to-go."""
    baseline: float | None
    """What was subtracted from it; None where there was nothing to compare with."""
    advantage: float | None
    version: int | None
    said: str
    tokens: tuple[Token, ...] = ()
    compared: tuple[tuple[int, float], ...] = ()
    """(member, number) of everyone in the comparison."""


@dataclass(frozen=True, slots=True)
class Why:
    """One seat of one conversation."""

    key: str
    id: str
    seat: str
    policy: str
    scenario: str
    deal: int
    member: int
    rule: str
    """The credit rule, as the recipe names it."""
    settings: str
    """Its options, in one line."""
    fate: str
    """What became of the group: `trained`, or why not."""
    siblings: tuple[Sibling, ...] = ()
    """By reward, best first; this conversation is among them."""
    turns: tuple[WhyTurn, ...] = ()
    sums: tuple[str, ...] = field(default=())
    """The computation in plain lines, with the numbers."""
    step: int | None = None
    """The optimiser step that learned from it."""
