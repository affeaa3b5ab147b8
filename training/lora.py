"""LoRA: low-rank adapters inside a model (arXiv 2106.09685), through peft.

Owns attaching, switching off and merging. The base weights are frozen and never written to.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor

from simarena.arena.errors import UsageError
from simarena.training.config import Lora
from simarena.training.ranks import Ranks, storage

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ADAPTER = "default"


def attach(model: "PreTrainedModel", options: Lora, seed: int) -> None:
    """Put fresh adapters into the model, which leave its output as it was, and freeze everything else."""
    settings = LoraConfig(
        r=options.rank, lora_alpha=options.alpha, target_modules=list(options.targets), lora_dropout=0.0
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            inject_adapter_in_model(settings, model, _ADAPTER)
        except ValueError as error:
            raise UsageError(f"policy.lora.targets {options.targets} do not fit this model: {error}") from None


@contextmanager
def disabled(model: "PreTrainedModel") -> Iterator[None]:
    """The model as it was before adapters, for the length of the block; without gradient."""
    layers = [layer for layer in model.modules() if isinstance(layer, BaseTunerLayer)]
    for layer in layers:
        layer.enable_adapters(False)
    try:
        with torch.no_grad():
            yield
    finally:
        for layer in layers:
            layer.enable_adapters(True)


def merged(model: "PreTrainedModel", ranks: Ranks) -> dict[str, Tensor]:
    """The state dict of a plain model that computes the same: adapters added to the weights they adapt.

    Without adapters, the model's own state dict. Tied weights are one tensor. Whole on every rank.
    """
    with ranks.whole(model), torch.no_grad():
        deltas = {
            f"{name}.weight": layer.get_delta_weight(_ADAPTER)
            for name, layer in model.named_modules()
            if isinstance(layer, BaseTunerLayer)
        }
    gathered: dict[int, Tensor] = {}
    plain: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if ".lora_" not in name:
            own = name.replace(".base_layer.", ".")
            place = storage(tensor)
            gathered[place] = whole = gathered[place] if place in gathered else ranks.full(tensor)
            plain[own] = whole + deltas[own] if own in deltas else whole
    return plain
