"""The scorer: log-probs and entropy of sampled tokens under a model, and of no other token.

Walks a step's tree. What samples share is run once; its keys and values are lent to the micro-batches below, which
add up their gradients, and one backward pass through the shared ids follows: the speed of one large batch in the
memory of a small one. The LM head runs on rows that predict sampled ids only, a chunk at a time. Right padding
needs no attention mask under causal attention. Fits models whose logits are the output embedding of the backbone's
last hidden state, as in Llama.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from simarena.arena.errors import UsageError
from simarena.training.batches import MicroBatch
from simarena.training.branches import Branch
from simarena.training.readout import readout

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_CHUNK = 128
"""Rows of the LM head at once: 25 MB of fp32 logits at a vocabulary of 49,152, which an allocator keeps."""
_LOGIT_CHANGES = ("final_logit_softcapping", "logit_scale", "logits_scaling")
Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, [1, key heads, tokens, depth] each."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Float32 tensors of shape [N], in the order of the micro-batch's policy tokens."""

    logprobs: Tensor
    entropy: Tensor


def check(model: "PreTrainedModel") -> None:
    """Raises UsageError for a model that would be mis-scored.

    That is one that changes its logits after the output embedding, or that reads pictures.
    """
    if hasattr(model.config, "vision_config"):
        raise UsageError(f"model type {model.config.model_type!r} reads pictures: it can play, but not learn yet")
    if changes := [name for name in _LOGIT_CHANGES if getattr(model.config, name, None) not in (None, 1.0)]:
        raise UsageError(f"model type {model.config.model_type!r} cannot be trained: it applies {changes[0]}")


def score(model: "PreTrainedModel", tree: Branch, chunk: int = _CHUNK) -> Iterator[tuple[MicroBatch, Scores]]:
    """Log-prob and entropy (nats) of each policy token, at the temperature it was sampled with.

    If gradient is enabled, run backward on what depends on one micro-batch's scores before asking for the next.
    The result does not depend on padding, batch mates, the tree or `chunk`, up to float rounding.
    """
    head = model.get_output_embeddings()

    for part, hidden in states(model, tree):
        ids = part.ids[part.rows, part.columns]
        read = [
            readout(head(rows).float().div_(temperatures[:, None]), sampled)
            for rows, sampled, temperatures in zip(
                *(torch.split(column, chunk) for column in (hidden, ids, part.temperatures)), strict=True
            )
        ]
        logprobs, entropy = (torch.cat(column) for column in zip(*read, strict=True))
        yield part, Scores(logprobs, entropy)


def states(model: "PreTrainedModel", tree: Branch) -> Iterator[tuple[MicroBatch, Tensor]]:
    """The last hidden state before each policy token, from which it was predicted: [N, hidden] a micro-batch.

    Micro-batches come on the model's device. With gradient, on the terms of `score`.
    """
    yield from _walk(model, tree, [])


def _walk(
    model: "PreTrainedModel", branch: Branch, above: Sequence[Layers]
) -> Iterator[tuple[MicroBatch, Tensor]]:
    computed: Layers = []
    lent: Layers = []
    if len(branch.ids):
        cache = _cache(above, 1)
        places = torch.arange(branch.start, branch.end, device=model.device)
        ids = branch.ids.to(model.device)
        model.base_model(input_ids=ids[None], position_ids=places[None], past_key_values=cache, use_cache=True)
        own = slice(branch.start, None)
        computed = [(layer.keys[..., own, :], layer.values[..., own, :]) for layer in cache.layers]
        lent = [(_lend(keys), _lend(values)) for keys, values in computed]
    path = [*above, lent] if lent else above
    for part in branch.parts:
        placed = part.to(model.device)
        yield placed, _hidden(model, placed, path)
    for child in branch.branches:
        yield from _walk(model, child, path)
    _give_back(computed, lent)


def _lend(own: Tensor) -> Tensor:
    return own.detach().requires_grad_(own.requires_grad)


def _give_back(computed: Layers, lent: Layers) -> None:
    """Backward through shared ids, with the gradient that everything below has left at their keys and values."""
    owned = [
        (own, loan.grad)
        for layer, loans in zip(computed, lent, strict=True)
        for own, loan in zip(layer, loans, strict=True)
        if loan.grad is not None
    ]
    if owned:
        torch.autograd.backward([own for own, _ in owned], [grad for _, grad in owned])


def _hidden(model: "PreTrainedModel", part: MicroBatch, path: Sequence[Layers]) -> Tensor:
    rest = slice(None), slice(part.shared, None)
    output = model.base_model(
        input_ids=part.ids[rest],
        position_ids=part.positions[rest],
        past_key_values=_cache(path, len(part.ids)) if path else None,
        use_cache=bool(path),
    )
    hidden: Tensor = output.last_hidden_state
    return hidden[part.rows, part.columns - 1 - part.shared]


def _cache(path: Sequence[Layers], rows: int) -> DynamicCache:
    """A cache that holds these stretches of keys and values, one after the other, for each of so many rows."""
    cache = DynamicCache()
    for stretches in zip(*path, strict=True):
        layer = DynamicLayer()
        keys, values = (
            torch.cat(parts, dim=-2).expand(rows, -1, -1, -1) for parts in zip(*stretches, strict=True)
        )
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        cache.layers.append(layer)
    return cache
