"""The GRPO loss as DAPO has it: clipped surrogate with a higher upper bound, mean over tokens.

L = −(1/T) Σ min(ρ A, clip(ρ, 1−ε_low, 1+ε_high) A) + β k3 − c H, with ρ = exp(log π − log π_old): PPO
(arXiv 1707.06347, eq. 7), clip-higher and token mean from DAPO (arXiv 2503.14476, eq. 8), the k3 estimate
of KL(π‖π_ref) from Schulman (2020) as in GRPO (arXiv 2402.03300, eq. 4). T counts the sampled tokens of the
whole optimiser step, so splitting the step into micro-batches changes no gradient.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.inputs import LossOptions, PolicyTokens

if TYPE_CHECKING:
    from torch import Tensor


class GRPOOptions(LossOptions):
    """Settings of the GRPO loss."""

    kind: Literal["grpo"] = "grpo"
    clip_low: float = Field(default=0.2, ge=0, lt=1)
    clip_high: float = Field(default=0.28, ge=0)
    entropy: float = Field(default=0.0, ge=0)
    """c: bonus for entropy, per nat."""
    aggregation: Literal["token-mean"] = "token-mean"


def grpo(tokens: PolicyTokens, options: GRPOOptions, total: int) -> "tuple[Tensor, dict[str, Tensor]]":
    """The share of the step's loss that falls to these tokens, and per-token metrics.

    `tokens` holds tensors of shape [N]; `total` is T ≥ N. The loss is a scalar that sums over micro-batches
    to the step's loss; each metric has shape [N] and no gradient, for the learner to average over the step.
    """
    log_ratio = (tokens.logprobs - tokens.old).clamp(-20, 20)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - options.clip_low, 1 + options.clip_high)
    loss = -(ratio * tokens.advantages).minimum(clipped * tokens.advantages)
    metrics = {
        "ratio": ratio,
        "clip/low": ((ratio < 1 - options.clip_low) & (tokens.advantages < 0)).float(),
        "clip/high": ((ratio > 1 + options.clip_high) & (tokens.advantages > 0)).float(),
        "kl/old": ratio - 1 - log_ratio,
        "loss/policy": loss,
        "loss/entropy": tokens.entropy,
        "loss/nll": -tokens.logprobs,
    }
    if tokens.reference is not None:
        gap = (tokens.reference - tokens.logprobs).clamp(-10, 10)
        metrics["kl/reference"] = gap.exp() - gap - 1
        loss = loss + options.kl_beta * metrics["kl/reference"]
    if options.entropy:
        loss = loss - options.entropy * tokens.entropy
    return loss.sum() / total, {name: value.detach() for name, value in metrics.items()}
