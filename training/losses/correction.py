"""Correction for tokens that another policy sampled: an older version, or an engine that computes otherwise.

w = exp(old − rollout), without gradient, is the importance weight from the sampler to the policy at the start of
the update; the loss's own ratio covers the rest. Truncated (TIS), w = min(w, high); masked (IcePop), tokens
outside [low, high] are left out. Per token, or by the mean over a turn or sequence.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from simarena.arena.messages import Frozen
from simarena.training.losses.inputs import PolicyTokens, segment_mean

if TYPE_CHECKING:
    from torch import Tensor


class Correction(Frozen):
    """Off by default: when rollouts are never older than the policy there is nothing to correct."""

    how: Literal["none", "truncate", "mask"] = "none"
    level: Literal["token", "turn", "sequence"] = "token"
    """Over what the log weight is averaged."""
    high: float = Field(default=2.0, gt=0)
    """Largest weight; 2 is usual for tokens, 2 to 10 for sequences, 5 for a mask."""
    low: float = Field(default=0.0, ge=0)
    """Smallest weight that `mask` keeps; 0.5 is usual."""

    @model_validator(mode="after")
    def _agree(self) -> "Correction":
        plain = Correction.model_fields
        if self.how == "none" and any(getattr(self, n) != plain[n].default for n in ("level", "high", "low")):
            raise ValueError('loss.correction.how = "none" uses no other key: set how to "truncate" or "mask"')
        if self.how == "truncate" and self.low:
            raise ValueError('loss.correction.low is used by how = "mask" only')
        if self.low >= self.high:
            raise ValueError(f"loss.correction.low = {self.low:g} must be below high = {self.high:g}")
        return self


def weights(tokens: PolicyTokens, options: Correction) -> "Tensor":
    """The weight of each token, shape [N], without gradient."""
    gap = (tokens.old - tokens.rollout).clamp(-20, 20)
    if options.level != "token":
        gap = segment_mean(gap, tokens.turns if options.level == "turn" else tokens.sequences)
    weight = gap.exp()
    if options.how == "truncate":
        return weight.clamp(max=options.high)
    return weight * ((weight >= options.low) & (weight <= options.high))
