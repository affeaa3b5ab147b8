"""The CISPO loss: REINFORCE weighted by a ratio that is capped, not clipped away.

ℓ = −sg(min(ρ, cap)) A log π (CISPO of MiniMax-M1, arXiv 2506.13585, eq. 4–5). A clipped surrogate gives tokens
beyond its bounds no gradient; here they keep one. `cap` is the ratio itself, not an offset from 1.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simarena.training.losses.inputs import PolicyTokens
from simarena.training.losses.surrogate import SurrogateOptions, finish

if TYPE_CHECKING:
    from torch import Tensor


class CISPOOptions(SurrogateOptions):
    """Settings of the CISPO loss."""

    kind: Literal["cispo"] = "cispo"
    cap: float = Field(default=5.0, gt=0)
    """Largest ratio that counts."""


def cispo(tokens: PolicyTokens, options: CISPOOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """−(capped ratio, without gradient) · A · log π of each token."""
    ratio = (tokens.logprobs - tokens.old).clamp(-20, 20).exp().detach()
    policy = -ratio.clamp(max=options.cap) * tokens.advantages * tokens.logprobs
    return finish(tokens, options, policy, {"ratio": ratio, "clip/high": (ratio > options.cap).float()})
