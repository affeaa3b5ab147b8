"""The GSPO loss: one ratio for a whole sequence, the geometric mean of its tokens' ratios.

s = exp(mean over the sequence of (log π − log π_old)), clipped like a token's ratio (GSPO, arXiv 2507.18071,
eq. 5–7; the token form of eq. 14 with straight-through gradient). A sequence here is a sample: what the model
saw in one go. Bounds are far narrower than a token's, since the mean moves little.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.grpo import ClipOptions, clipped
from simarena.training.losses.inputs import PolicyTokens, segment_mean
from simarena.training.losses.surrogate import Aggregation, finish

if TYPE_CHECKING:
    from torch import Tensor


class GSPOOptions(ClipOptions):
    """Settings of the GSPO loss."""

    kind: Literal["gspo"] = "gspo"
    clip_low: float = Field(default=3e-4, ge=0, lt=1)
    clip_high: float = Field(default=4e-4, ge=0)
    aggregation: Aggregation = "seq-mean-token-mean"


def gspo(tokens: PolicyTokens, options: GSPOOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """Clipped surrogate with one ratio per sequence."""
    policy, metrics = clipped(segment_ratio(tokens, tokens.sequences), tokens.advantages, options)
    return finish(tokens, options, policy, metrics)


def segment_ratio(tokens: PolicyTokens, segments: "Tensor") -> "Tensor":
    """The segment's ratio at each of its tokens; its gradient goes to each token alike, shape [N] → [N]."""
    mean = segment_mean((tokens.logprobs - tokens.old).detach(), segments)
    return (mean + tokens.logprobs - tokens.logprobs.detach()).clamp(max=10).exp()
