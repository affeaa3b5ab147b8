"""The DPO loss: of two episodes of one deal, make the better one likelier than the worse.

ℓ = −log σ(β [(log π − log π_ref)(chosen) − (log π − log π_ref)(rejected)]) per pair (DPO, arXiv 2305.18290,
eq. 7), over all tokens of all turns of the learning seat. Pairs come from `credit.rule = "pairs"`, which gives
the chosen +1 and the rejected −1. `nll` adds −log π of the chosen's tokens, which keeps its own likelihood from
falling along with the other's (as SWEET-RL does with 0.01).
"""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from simarena.training.losses.inputs import LossOptions, PolicyTokens

if TYPE_CHECKING:
    from torch import Tensor


class DPOOptions(LossOptions):
    """Settings of the DPO loss."""

    paired: ClassVar[bool] = True
    kind: Literal["dpo"] = "dpo"
    beta: float = Field(default=0.1, gt=0)
    """β: how far from the reference preferences may pull."""
    nll: float = Field(default=0.0, ge=0)
    """Weight of the chosen episode's negative log-likelihood, per token."""

    @property
    def anchored(self) -> bool:
        return True


def dpo(tokens: PolicyTokens, options: DPOOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """Log loss of preferring the chosen side of each pair.

    The mean over the step's pairs, which micro-batches never cut.
    """
    from torch.nn.functional import logsigmoid

    assert tokens.reference is not None
    paired = tokens.pairs >= 0
    sign = tokens.advantages.sign() * paired
    pairs = tokens.pairs.clamp(min=0)
    count = int(pairs.max()) + 1 if len(pairs) else 0
    gain = sign * (tokens.logprobs - tokens.reference)
    margin = gain.new_zeros(count).index_add(0, pairs, gain)
    there = gain.new_zeros(count).index_add(0, pairs, paired.float()) > 0
    losses = -logsigmoid(options.beta * margin) * there
    loss = losses.sum() / max(1, tokens.step.pairs)
    chosen = sign > 0
    loss = loss - options.nll * (tokens.logprobs * chosen).sum() / max(1, tokens.step.tokens)
    metrics = {
        "ratio": (tokens.logprobs - tokens.old).clamp(-20, 20).exp(),
        "loss/policy": losses[pairs],
        "loss/entropy": tokens.entropy,
        "loss/nll": -tokens.logprobs,
        "pairs/margin": margin[pairs],
        "pairs/accuracy": (margin[pairs] > 0).float(),
    }
    return loss, {name: value.detach() for name, value in metrics.items()}
