"""Losses: what the gradient is taken of. A loss is a pure function of tensors to (loss, metrics).

A further loss is one file with an options class and a function, and one entry in `LOSSES`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simarena.training.losses.cispo import CISPOOptions, cispo
from simarena.training.losses.dpo import DPOOptions, dpo
from simarena.training.losses.drgrpo import DrGRPOOptions, drgrpo
from simarena.training.losses.grpo import GRPOOptions, grpo
from simarena.training.losses.gspo import GSPOOptions, gspo
from simarena.training.losses.inputs import LossOptions, PolicyTokens
from simarena.training.losses.ppo import PPOOptions, ppo
from simarena.training.losses.reinforce import REINFORCEOptions, reinforce
from simarena.training.losses.turn import TurnOptions, turn

if TYPE_CHECKING:
    from torch import Tensor

Loss = Callable[[PolicyTokens, Any], "tuple[Tensor, dict[str, Tensor]]"]

LOSSES: dict[str, tuple[type[LossOptions], Loss]] = {
    "grpo": (GRPOOptions, grpo),
    "ppo": (PPOOptions, ppo),
    "drgrpo": (DrGRPOOptions, drgrpo),
    "gspo": (GSPOOptions, gspo),
    "turn": (TurnOptions, turn),
    "cispo": (CISPOOptions, cispo),
    "reinforce": (REINFORCEOptions, reinforce),
    "dpo": (DPOOptions, dpo),
}
