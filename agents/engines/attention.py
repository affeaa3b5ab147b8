"""Exact attention: the result for one query depends on its own keys alone, to the last bit.

Neither the number of queries beside it, nor padding, nor how a prompt was cut into pieces changes it, so that
one conversation gives the same bits alone, in any batch, from a cache or without one, and in the scorer.
What makes it so, measured with torch's CPU kernels in float32 (see `agents.exactness`): a matrix product treats
a row alike for every number of rows from 4 up; masked scores are exactly -inf, so their weights are exactly 0;
the weighted sum over keys runs in blocks of one fixed size, since one product over all keys splits its sum by
their number.
Registered with transformers as `simarena_exact`. Knows no engine and no scheduling.
"""

import math
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface

from simarena.arena.errors import UsageError

NAME = "simarena_exact"
KEY_BLOCK = 64
"""Keys summed in one product; key counts are padded to a multiple of it."""
_MIN_ROWS = 4
_UNSUPPORTED = ("softcap", "s_aux", "head_mask")


class PagedKeys(Protocol):
    """Keys and values of conversations at rest, as the engine keeps them."""

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        """Store key and value, attend over all that is stored; shapes as in `attend_packed`."""
        ...


def attend(query: Tensor, key: Tensor, value: Tensor, blocked: Tensor, scale: float) -> Tensor:
    """Softmax attention with grouped heads; differentiable.

    Args:
        query: [rows, key_heads, group, queries, depth]; group × queries is at least 4.
        key, value: [rows, key_heads, keys, depth]; keys is a multiple of `KEY_BLOCK`.
        blocked: [rows, queries, keys], True where a query must not look.

    Returns [rows, key_heads, group, queries, depth].
    """
    rows, heads, group, queries, depth = query.shape
    keys = key.shape[2]
    flat_key, flat_value = key.reshape(rows * heads, keys, depth), value.reshape(rows * heads, keys, depth)
    scores = torch.bmm((query * scale).reshape(rows * heads, group * queries, depth), flat_key.transpose(1, 2))
    scores.view(rows, heads, group, queries, keys).masked_fill_(blocked[:, None, None], -math.inf)
    weights = torch.softmax(scores.float(), dim=-1).to(value.dtype)
    out = torch.bmm(weights[:, :, :KEY_BLOCK], flat_value[:, :KEY_BLOCK])
    for start in range(KEY_BLOCK, keys, KEY_BLOCK):
        block = slice(start, start + KEY_BLOCK)
        out = torch.baddbmm(out, weights[:, :, block], flat_value[:, block])
    return out.view(rows, heads, group, queries, depth)


def min_queries(group: int) -> int:
    """How many queries a row must be padded to so that every product has enough rows."""
    return -(-_MIN_ROWS // group)


def looking_ahead(positions: Tensor, keys: int, window: int | None) -> Tensor:
    """[..., queries] positions → [..., queries, keys]: True at keys after a query, or before its window."""
    places = torch.arange(keys, device=positions.device)
    blocked = places > positions[..., None]
    return blocked if window is None else blocked | (places <= positions[..., None] - window)


def _forward(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    paged: PagedKeys | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' attention interface: [batch, heads, tokens, depth] → [batch, tokens, heads, depth].

    With `paged`, the batch is 1 and its tokens belong to many conversations. Without, rows are right-padded
    sequences and attention is causal.
    """
    refused = [name for name in _UNSUPPORTED if kwargs.get(name) is not None]
    if refused:
        raise UsageError(
            f"the transformers engine cannot serve this model: its attention asks for {refused[0]!r}, which exact "
            "attention does not have; use another model"
        )
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    if paged is not None:
        return paged.attend(cast("int", module.layer_idx), query[0], key[0], value[0], scale, sliding_window)[
            None
        ], None
    return _dense(query, key, value, scale, sliding_window), None


def _dense(query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None) -> Tensor:
    batch, heads, tokens, depth = query.shape
    key_heads = key.shape[1]
    keys = -(-tokens // KEY_BLOCK) * KEY_BLOCK
    queries = max(tokens, min_queries(heads // key_heads))
    grouped = functional.pad(query, (0, 0, 0, queries - tokens)).view(batch, key_heads, -1, queries, depth)
    blocked = looking_ahead(torch.arange(queries, device=query.device)[None], keys, window)
    padding = (0, 0, 0, keys - tokens)
    out = attend(grouped, functional.pad(key, padding), functional.pad(value, padding), blocked, scale)
    return out.view(batch, heads, queries, depth)[:, :, :tokens].transpose(1, 2).contiguous()


AttentionInterface.register(NAME, _forward)
