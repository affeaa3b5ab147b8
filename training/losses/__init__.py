"""Losses: what the gradient is taken of. A loss is a pure function of tensors to (loss, metrics).

A further loss is one file with an options class and a function, and one entry in `LOSSES`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simarena.training.losses.grpo import GRPOOptions, grpo
from simarena.training.losses.inputs import LossOptions, PolicyTokens

if TYPE_CHECKING:
    from torch import Tensor

Loss = Callable[[PolicyTokens, Any, int], "tuple[Tensor, dict[str, Tensor]]"]

LOSSES: dict[str, tuple[type[LossOptions], Loss]] = {"grpo": (GRPOOptions, grpo)}
