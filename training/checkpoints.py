"""Checkpoints: a folder in Hugging Face format plus what exact resume needs. Safetensors and JSON only.

`config.json`, `model.safetensors` and the tokenizer load with the Auto classes of transformers (adapters are
merged in); `trainer/` holds optimiser moments, adapters, a KL reference that moves, and counters. Whoever calls
makes the folder appear atomically. Knows no run loop.
"""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from simarena.arena.errors import RunFolderError
from simarena.training import lora
from simarena.training.critic import Critic
from simarena.training.learner import Learner

_MODEL = "model.safetensors"
_STATE = "trainer/state.json"
_OPTIMISER = "trainer/optimiser.safetensors"
_ADAPTER = "trainer/adapter.safetensors"
_CRITIC = "trainer/critic.safetensors"
_REFERENCE = "trainer/reference.safetensors"


def save(folder: Path, learner: Learner, tokenizer: Any) -> None:
    """Write the learner and its tokenizer into a folder, made if it is not there.

    Raises RunFolderError or OSError if it cannot be written, such as on a full disk.
    """
    try:
        _write(folder, learner, tokenizer)
    except SafetensorError as error:
        raise RunFolderError(f"cannot write checkpoint {str(folder)!r}: {error}") from None


def save_critic(folder: Path, critic: Critic) -> None:
    """Write a critic beside its learner."""
    (folder / "trainer").mkdir(parents=True, exist_ok=True)
    save_file(critic.state(), folder / _CRITIC)


def load_critic(folder: Path, critic: Critic) -> None:
    """Put a checkpoint's critic into this one. Raises RunFolderError if there is none."""
    try:
        critic.restore(load_file(folder / _CRITIC))
    except (OSError, ValueError, SafetensorError) as error:
        raise RunFolderError(f"checkpoint {str(folder)!r} has no critic to resume: {error}") from None


def _write(folder: Path, learner: Learner, tokenizer: Any) -> None:
    ranks = learner.ranks
    weights, moments, origin = _untied(lora.merged(learner.model, ranks)), _moments(learner), learner.origin
    adapter = _adapters(learner) if learner.adapter else {}
    if ranks.number:  # the others have lent their shares, and the first one writes
        return
    (folder / "trainer").mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / _MODEL, metadata={"format": "pt"})
    config = copy.deepcopy(learner.model.config)
    config.architectures, config.dtype = [type(learner.model).__name__], "float32"
    config.save_pretrained(folder)
    if learner.model.can_generate():
        learner.model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    save_file(moments, folder / _OPTIMISER)
    if adapter:
        save_file(adapter, folder / _ADAPTER)
    if learner.moving:
        save_file(dict(learner.moving), folder / _REFERENCE)
    state = {
        "version": learner.version,
        "skipped": learner.skipped,
        "adapter": learner.adapter and learner.adapter.model_dump(mode="json"),
        "origin": origin,
    }
    (folder / _STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")


def save_snapshot(file: Path, learner: Learner) -> None:
    """Write what `snapshot` needs to speak as the learner does now: its adapters if it has any, a few MB, else all
    weights. The file appears whole or not at all. Raises as `save` does."""
    aside = file.with_name(f".{file.name}")
    kept = _adapters(learner) if learner.adapter else _untied(lora.merged(learner.model, learner.ranks))
    if learner.ranks.number:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file(kept, aside, metadata={"format": "pt"})
        aside.replace(file)
    except SafetensorError as error:
        raise RunFolderError(f"cannot write {str(file)!r}: {error}") from None


def snapshot(file: Path, learner: Learner) -> dict[str, np.ndarray]:
    """The weights of a snapshot of this learner, as `Learner.weights` gave them then; the learner stays as it is.

    Raises RunFolderError if the file cannot be read or is another model's.
    """
    try:
        kept = load_file(file)
    except (OSError, SafetensorError) as error:
        raise RunFolderError(f"snapshot {str(file)!r} cannot be read: {error}") from None
    if not learner.adapter:
        return {name: weight.numpy() for name, weight in kept.items()}
    now = {name: weight.detach().clone() for name, weight in learner.trained.items()}
    _put(file, learner, kept)
    try:
        return learner.weights()
    finally:
        with torch.no_grad():
            for name, weight in learner.trained.items():
                weight.copy_(now[name])


def load(folder: Path, learner: Learner) -> None:
    """Put a checkpoint into a learner built as the saved one was.

    Training then goes on bit for bit as if it had never stopped. Raises RunFolderError if files are missing or
    the learner was built from another model or with another adapter.
    """
    try:
        state = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        weights = load_file(folder / (_ADAPTER if learner.adapter else _MODEL))
        moments = load_file(folder / _OPTIMISER)
        reference = load_file(folder / _REFERENCE) if learner.moving else {}
    except (OSError, ValueError, SafetensorError) as error:
        raise RunFolderError(f"checkpoint {str(folder)!r} cannot be resumed: {error}") from None
    if state["adapter"] != (learner.adapter and learner.adapter.model_dump(mode="json")):
        raise RunFolderError(f"checkpoint {str(folder)!r} was trained with policy.lora = {state['adapter']}")
    if state["origin"] != learner.origin:
        raise RunFolderError(f"checkpoint {str(folder)!r} was trained from another model (frozen weights differ)")
    _restore(folder, learner, weights, moments)
    learner.move_reference(reference)
    learner.version, learner.skipped = state["version"], state["skipped"]


def _put(place: Path, learner: Learner, weights: dict[str, Tensor]) -> None:
    if missing := learner.trained.keys() - weights.keys():
        raise RunFolderError(f"{str(place)!r} has no weight {sorted(missing)[0]!r}: another model")
    with torch.no_grad():
        for name, weight in learner.trained.items():
            weight.copy_(learner.ranks.like(weights[name], weight))


def _restore(folder: Path, learner: Learner, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
    _put(folder, learner, weights)
    for key, value in moments.items():
        name, _, slot = key.rpartition("/")
        weight = learner.trained[name]
        learner.adamw.state[weight][slot] = learner.ranks.like(value.to(weight.device), weight)


def _adapters(learner: Learner) -> dict[str, Tensor]:
    return {name: learner.ranks.full(weight.detach()).contiguous() for name, weight in learner.trained.items()}


def _moments(learner: Learner) -> dict[str, Tensor]:
    return {
        f"{name}/{slot}": learner.ranks.full(value)
        for name, weight in learner.trained.items()
        for slot, value in learner.adamw.state.get(weight, {}).items()
    }


def _untied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor once, under its first name; transformers ties the others again when it loads."""
    seen: set[int] = set()
    unique: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.data_ptr() not in seen:
            unique[name] = tensor.detach().contiguous()
        seen.add(tensor.data_ptr())
    return unique
