"""The value loss: squared error, with a step that goes too far counted from where it should have stopped.

½ max((V − R)², (clip(V, V_old ± c) − R)²), as PPO implementations have it beside the surrogate (arXiv 1707.06347,
arXiv 2006.05990 §3). Not a policy loss: it trains the critic of the credit rules that have one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def value_loss(values: "Tensor", old: "Tensor", targets: "Tensor", clip: float) -> "Tensor":
    """The mean over entries; all of shape [N]."""
    near = old + (values - old).clamp(-clip, clip)
    return ((values - targets) ** 2).maximum((near - targets) ** 2).mean() / 2
