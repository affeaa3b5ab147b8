"""Evidence: what a credit rule may know beside the group it judges.

The run loop owns it, saves it with every checkpoint and hands it in; most rules need none.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Evidence:
    """Running baselines, and what a critic thinks of each token."""

    baselines: dict[str, float] = field(default_factory=dict)
    """By `policy/scenario/seat`; the only thing that a rule may change."""


NOTHING = Evidence()
"""For rules that need none."""
