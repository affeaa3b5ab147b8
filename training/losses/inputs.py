"""What every loss is given: one entry per sampled token, and the settings all losses share.

Prompts, other speakers and padding have no entry, so no loss, metric or gradient can touch them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from simarena.arena.messages import Frozen

if TYPE_CHECKING:
    from torch import Tensor


class LossOptions(Frozen):
    """Settings of every loss."""

    kind: str
    kl_beta: float = Field(default=0.0, ge=0)
    """β: pull towards the policy that training started from; 0 keeps no reference in memory."""


@dataclass(frozen=True, slots=True)
class PolicyTokens:
    """Sampled tokens of one micro-batch; every tensor is float32 of shape [N]."""

    logprobs: "Tensor"
    """Under the current policy, with gradient."""
    entropy: "Tensor"
    """Of the distribution each token was drawn from, in nats, with gradient."""
    old: "Tensor"
    """Log-probs the ratio is taken against, without gradient."""
    advantages: "Tensor"
    reference: "Tensor | None" = None
    """Log-probs under the reference policy; None if β is 0."""
