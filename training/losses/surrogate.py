"""What the policy-gradient losses share: correction, pull to the reference, entropy, and how tokens are averaged.

L = (1/D) Σ s_i (w_i ℓ_i + β KL_i − c H_i). Knows no loss: ℓ is its affair.

Aggregation, with T tokens, S rollouts and n_i tokens in the token's rollout, all over the optimiser step:
token-mean s=1, D=T (DAPO, arXiv 2503.14476) · seq-mean-token-mean s=1/n, D=S (GRPO, arXiv 2402.03300) ·
seq-mean-token-sum s=1, D=S · seq-mean-token-sum-norm s=1, D=S·horizon (Dr.GRPO, arXiv 2503.20783).

KL(π‖π_ref) per token (Schulman 2020), d = log π_ref − log π: k1 = −d, k2 = d²/2, k3 = e^d − d − 1. As a term of
the loss, k1 has no pull on fresh tokens (the mean of its gradient is 0), k2 has the gradient of the KL, k3 an
approximation of it with less variance in the value.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from simarena.training.losses import correction
from simarena.training.losses.correction import Correction
from simarena.training.losses.inputs import LossOptions, PolicyTokens

if TYPE_CHECKING:
    from torch import Tensor

Aggregation = Literal["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]


class SurrogateOptions(LossOptions):
    """Settings of every policy-gradient loss."""

    kl_beta: float = Field(default=0.0, ge=0)
    """β: pull towards the policy that training started from; 0 keeps no reference in memory."""
    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    entropy: float = Field(default=0.0, ge=0)
    """c: bonus for entropy, per nat."""
    aggregation: Aggregation = "token-mean"
    horizon: int = Field(default=0, ge=0)
    """Tokens that seq-mean-token-sum-norm divides a rollout's sum by: the most it may sample."""
    correction: Correction = Correction()

    @property
    def anchored(self) -> bool:
        return self.kl_beta > 0

    @property
    def credit_alone(self) -> bool:
        return not self.kl_beta and not self.entropy

    @property
    def corrected(self) -> bool:
        return self.correction.how != "none"

    @model_validator(mode="after")
    def _agree(self) -> "SurrogateOptions":
        if (self.aggregation == "seq-mean-token-sum-norm") != (self.horizon > 0):
            raise ValueError(
                "loss.horizon is needed by loss.aggregation 'seq-mean-token-sum-norm', and only by it"
            )
        if self.kl_estimator != "k3" and not self.kl_beta:
            raise ValueError("loss.kl_estimator is not used when loss.kl_beta is 0")
        return self


def finish(
    tokens: PolicyTokens, options: SurrogateOptions, policy: "Tensor", metrics: "dict[str, Tensor]"
) -> "tuple[Tensor, dict[str, Tensor]]":
    """The share of the step's loss that falls to these tokens, and per-token metrics.

    `policy` is ℓ, shape [N]. The loss is a scalar that sums over micro-batches to the step's loss; each metric has
    shape [N] and no gradient, for the learner to average over the step. `metrics` must hold `ratio`.
    """
    if options.corrected:
        metrics["correction/weight"] = correction.weights(tokens, options.correction)
        policy = policy * metrics["correction/weight"]
    log_ratio = (tokens.logprobs - tokens.old).clamp(-20, 20)
    metrics |= {
        "kl/old": log_ratio.exp() - 1 - log_ratio,
        "loss/policy": policy,
        "loss/entropy": tokens.entropy,
        "loss/nll": -tokens.logprobs,
    }
    loss = policy
    if tokens.reference is not None:
        metrics["kl/reference"] = _kl(tokens.reference - tokens.logprobs, options.kl_estimator)
        loss = loss + options.kl_beta * metrics["kl/reference"]
    if options.entropy:
        loss = loss - options.entropy * tokens.entropy
    return aggregate(loss, tokens, options), {name: value.detach() for name, value in metrics.items()}


def aggregate(values: "Tensor", tokens: PolicyTokens, options: SurrogateOptions) -> "Tensor":
    """Σ s_i values_i / D, shape [N] → []."""
    if options.aggregation == "token-mean":
        return values.sum() / tokens.step.tokens
    if options.aggregation == "seq-mean-token-mean":
        return (values * tokens.shares).sum() / tokens.step.rollouts
    return values.sum() / (tokens.step.rollouts * max(1, options.horizon))


def _kl(gap: "Tensor", estimator: str) -> "Tensor":
    gap = gap.clamp(-10, 10)
    if estimator == "k1":
        return -gap
    return gap**2 / 2 if estimator == "k2" else gap.exp() - gap - 1
