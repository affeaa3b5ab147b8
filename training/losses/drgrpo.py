"""The Dr.GRPO loss: a rollout's tokens are summed and divided by a constant, so length has no say.

GRPO's mean over a rollout's own tokens makes long failures cheap and short successes dear; Dr.GRPO
(arXiv 2503.20783) divides by the same number for all. Its advantages are `credit.normalise = "centre"`.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.grpo import ClipOptions, clipped
from simarena.training.losses.inputs import PolicyTokens
from simarena.training.losses.surrogate import finish

if TYPE_CHECKING:
    from torch import Tensor


class DrGRPOOptions(ClipOptions):
    """Settings of the Dr.GRPO loss."""

    kind: Literal["drgrpo"] = "drgrpo"
    clip_high: float = Field(default=0.2, ge=0)
    aggregation: Literal["seq-mean-token-sum-norm"] = "seq-mean-token-sum-norm"
    horizon: int = Field(default=256, gt=0)
    """The constant: the most tokens a rollout may sample."""


def drgrpo(tokens: PolicyTokens, options: DrGRPOOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """Clipped surrogate of each token over a constant length."""
    ratio = (tokens.logprobs - tokens.old).clamp(-20, 20).exp()
    policy, metrics = clipped(ratio, tokens.advantages, options)
    return finish(tokens, options, policy, metrics)
