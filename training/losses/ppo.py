"""The PPO loss: clipped surrogate with equal bounds, and a second bound where the advantage is negative.

ℓ = −min(ρ A, clip(ρ, 1−ε, 1+ε) A) (arXiv 1707.06347, eq. 7); for A < 0 at most −c A (dual clip, arXiv
1912.09729, eq. 5), so that one bad token that has become likely cannot rule the step.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.grpo import ClipOptions, clipped
from simarena.training.losses.inputs import PolicyTokens
from simarena.training.losses.surrogate import finish

if TYPE_CHECKING:
    from torch import Tensor


class PPOOptions(ClipOptions):
    """Settings of the PPO loss."""

    kind: Literal["ppo"] = "ppo"
    clip_high: float = Field(default=0.2, ge=0)
    dual_clip: float = Field(default=3.0, gt=1)
    """c: largest ratio that counts against a token."""


def ppo(tokens: PolicyTokens, options: PPOOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """Clipped surrogate of each token with the dual clip."""
    ratio = (tokens.logprobs - tokens.old).clamp(-20, 20).exp()
    policy, metrics = clipped(ratio, tokens.advantages, options)
    worst = -options.dual_clip * tokens.advantages
    against = tokens.advantages < 0
    metrics["clip/dual"] = (against & (policy > worst)).float()
    return finish(tokens, options, policy.minimum(worst).where(against, policy), metrics)
