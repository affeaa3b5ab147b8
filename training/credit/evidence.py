"""Evidence: what a credit rule may know beside the group it judges.

The run loop owns it, saves it with every checkpoint and hands it in; most rules need none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from simarena.arena.messages import Frozen


class CriticOptions(Frozen):
    """The critic: a small net on the policy's own hidden states, which it does not change."""

    lr: float = Field(default=1e-3, gt=0)
    epochs: int = Field(default=4, gt=0)
    """Passes over a step's values."""
    clip: float = Field(default=0.2, gt=0)
    """How far a value may move from what it was before the step until it counts as wrong."""
    privileged: bool = False
    """Let it read the labels of the deal and what others keep to themselves."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Running baselines, and what a critic thinks of each token."""

    baselines: dict[str, float] = field(default_factory=dict)
    """By `policy/scenario/seat`; the only thing that a rule may change."""
    values: Mapping[tuple[str, str], Sequence[Sequence[float]]] = field(default_factory=dict)
    """By episode and seat: for each of the seat's turns, the value before each of its sampled tokens."""
    continuations: Mapping[tuple[str, str], Mapping[int, Sequence[float]]] = field(default_factory=dict)
    """By episode and seat: for some of the seat's turns, returns-to-go of conversations played on before it."""


NOTHING = Evidence()
"""For rules that need none."""
