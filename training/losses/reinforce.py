"""The REINFORCE loss: the advantage times the log-prob, no ratio (Williams 1992).

ℓ = −A log π. For fresh tokens it has the gradient of every other loss here; stale ones need
`loss.correction`. With advantages of 1 for successes and 0 otherwise it is imitation of one's own successes.
"""

from typing import TYPE_CHECKING, Literal

from simarena.training.losses.inputs import PolicyTokens
from simarena.training.losses.surrogate import SurrogateOptions, finish

if TYPE_CHECKING:
    from torch import Tensor


class REINFORCEOptions(SurrogateOptions):
    """Settings of the REINFORCE loss."""

    kind: Literal["reinforce"] = "reinforce"


def reinforce(tokens: PolicyTokens, options: REINFORCEOptions) -> "tuple[Tensor, dict[str, Tensor]]":
    """−A · log π of each token."""
    ratio = (tokens.logprobs - tokens.old).clamp(-20, 20).exp().detach()
    return finish(tokens, options, -tokens.advantages * tokens.logprobs, {"ratio": ratio})
