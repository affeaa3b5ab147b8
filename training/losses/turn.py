"""The turn-level loss: one ratio per turn, the geometric mean of its tokens' ratios.

Between a token's ratio (PPO) and a whole sequence's (GSPO): a turn is what the other side answers to, so it
is clipped as one action (turn-PPO, arXiv 2512.17008).
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.grpo import ClipOptions, clipped
from simarena.training.losses.gspo import segment_ratio
from simarena.training.losses.inputs import PolicyTokens
from simarena.training.losses.surrogate import finish

if TYPE_CHECKING:
    from torch import Tensor


class TurnOptions(ClipOptions):
    """Settings of the turn-level loss."""

    kind: Literal["turn"] = "turn"
    clip_high: float = Field(default=0.2, ge=0)


def turn(tokens: PolicyTokens, options: TurnOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """Clipped surrogate with one ratio per turn."""
    policy, metrics = clipped(segment_ratio(tokens, tokens.turns), tokens.advantages, options)
    return finish(tokens, options, policy, metrics)
