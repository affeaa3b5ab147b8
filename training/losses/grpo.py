"""The GRPO loss as DAPO has it: clipped surrogate with a higher upper bound, mean over tokens.

ℓ = −min(ρ A, clip(ρ, 1−ε_low, 1+ε_high) A), with ρ = exp(log π − log π_old): PPO (arXiv 1707.06347, eq. 7),
clip-higher and token mean from DAPO (arXiv 2503.14476, eq. 8). The loss of DeepSeekMath (GRPO,
arXiv 2402.03300) is this one with `clip_high = 0.2`, `aggregation = "seq-mean-token-mean"` and `kl_beta = 0.04`.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.inputs import PolicyTokens
from simarena.training.losses.surrogate import SurrogateOptions, finish

if TYPE_CHECKING:
    from torch import Tensor


class ClipOptions(SurrogateOptions):
    """Settings of the losses that clip the ratio."""

    clip_low: float = Field(default=0.2, ge=0, lt=1)
    clip_high: float = Field(default=0.28, ge=0)


class GRPOOptions(ClipOptions):
    """Settings of the GRPO loss."""

    kind: Literal["grpo"] = "grpo"


def grpo(tokens: PolicyTokens, options: GRPOOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """Clipped surrogate of each token, one ratio per token."""
    ratio = (tokens.logprobs - tokens.old).clamp(-20, 20).exp()
    policy, metrics = clipped(ratio, tokens.advantages, options)
    return finish(tokens, options, policy, metrics)


def clipped(ratio: "Tensor", advantages: "Tensor", options: ClipOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """ℓ and what was clipped, shape [N] each."""
    bounded = ratio.clamp(1 - options.clip_low, 1 + options.clip_high)
    policy = -(ratio * advantages).minimum(bounded * advantages)
    return policy, {
        "ratio": ratio,
        "clip/low": ((ratio < 1 - options.clip_low) & (advantages < 0)).float(),
        "clip/high": ((ratio > 1 + options.clip_high) & (advantages > 0)).float(),
    }
