"""Whether new weights are a model's: checked by name and shape before anything is changed. Knows no engine."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from simarena.arena.errors import UsageError


def fitted(model: PreTrainedModel, policy: str, version: int, weights: Mapping[str, Any]) -> dict[str, Tensor]:
    """These arrays as tensors. Of tied weights, one is enough.

    The model may be without data, on torch's `meta` device. Raises UsageError if a name or shape is not its own.
    """
    own = model.state_dict(keep_vars=True)
    unknown = sorted(weights.keys() - own.keys())
    given = {id(own[name]) for name in weights.keys() & own.keys()}
    missing = sorted(name for name, tensor in own.items() if id(tensor) not in given)
    if unknown or missing:
        raise UsageError(f"version {version} of {policy!r} does not fit: unknown {unknown}, missing {missing}")
    made: dict[int, Tensor] = {}  # tied ones may be one array under two names: one copy does
    for array in weights.values():
        if id(array) not in made:
            made[id(array)] = array if isinstance(array, Tensor) else torch.tensor(array)
    new = {name: made[id(array)] for name, array in weights.items()}
    for name, tensor in new.items():
        if tensor.shape != own[name].shape:
            raise UsageError(f"weight {name!r} has shape {tuple(tensor.shape)}, not {tuple(own[name].shape)}")
    return new
