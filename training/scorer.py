"""The scorer: log-probs and entropy of sampled tokens under a model, and of no other token.

Runs the backbone once, gathers the hidden states that predict sampled ids, and runs the LM head on those
rows only, a chunk at a time and recomputed in the backward pass: the [tokens, vocabulary] matrix of a whole
batch never exists. A prefix that all rows share, such as their instructions, is run once; its gradient is
the sum over rows. Right padding needs no attention mask under causal attention. Fits models whose logits
are the output embedding of the backbone's last hidden state, as in Llama.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache

from simarena.arena.errors import UsageError
from simarena.training.batches import MicroBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_CHUNK = 512
"""Rows of the LM head at once: 100 MB of fp32 logits at a vocabulary of 49,152."""
_LOGIT_CHANGES = ("final_logit_softcapping", "logit_scale", "logits_scaling")


@dataclass(frozen=True, slots=True)
class Scores:
    """Float32 tensors of shape [N], in the order of the micro-batch's policy tokens."""

    logprobs: Tensor
    entropy: Tensor


def check(model: "PreTrainedModel") -> None:
    """Raises UsageError for a model that changes its logits after the output embedding: it would be mis-scored."""
    if changes := [name for name in _LOGIT_CHANGES if getattr(model.config, name, None) not in (None, 1.0)]:
        raise UsageError(f"model type {model.config.model_type!r} cannot be trained: it applies {changes[0]}")


def score(model: "PreTrainedModel", batch: MicroBatch, chunk: int = _CHUNK) -> Scores:
    """Log-prob and entropy (nats) of each policy token, at the temperature it was sampled with.

    Gradient flows if it is enabled. The result does not depend on padding, batch mates or `chunk`, up to
    float rounding.
    """
    hidden = states(model, batch)
    head = model.get_output_embeddings()
    targets = batch.ids[batch.rows, batch.columns]

    def rows(states: Tensor, targets: Tensor, temperatures: Tensor) -> tuple[Tensor, Tensor]:
        logits = head(states).float() / temperatures[:, None]
        total = logits.logsumexp(-1)
        logprobs = logits.gather(1, targets[:, None])[:, 0] - total
        return logprobs, total - ((logits - total[:, None]).exp() * logits).sum(-1)

    parts = [
        checkpoint(rows, *part, use_reentrant=False, preserve_rng_state=False)
        for part in zip(
            *(torch.split(column, chunk) for column in (hidden, targets, batch.temperatures)), strict=True
        )
    ]
    logprobs, entropy = (torch.cat(column) for column in zip(*parts, strict=True))
    return Scores(logprobs, entropy)


def states(model: "PreTrainedModel", batch: MicroBatch) -> Tensor:
    """The last hidden state before each policy token, from which it was predicted; shape [N, hidden]."""
    return _hidden(model, batch)[batch.rows, batch.columns - 1 - batch.shared]


def _hidden(model: "PreTrainedModel", batch: MicroBatch) -> Tensor:
    """Last hidden states of the columns after the shared prefix, shape [B, T - shared, hidden]."""
    past = None
    if batch.shared:
        past = DynamicCache(config=model.config)
        first = slice(0, 1), slice(0, batch.shared)
        model.base_model(
            input_ids=batch.ids[first], position_ids=batch.positions[first], past_key_values=past, use_cache=True
        )
        past.batch_repeat_interleave(len(batch.ids))
    rest = slice(None), slice(batch.shared, None)
    output = model.base_model(
        input_ids=batch.ids[rest],
        position_ids=batch.positions[rest],
        past_key_values=past,
        use_cache=past is not None,
    )
    hidden: Tensor = output.last_hidden_state
    return hidden
