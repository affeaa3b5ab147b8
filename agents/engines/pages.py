"""The tokens of one forward pass, laid over the stored keys: what plugs the store into exact attention.

Tokens of many conversations lie packed one after another; here they are spread to the rows of their slots and
joined again. Knows no model and no sampling.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from simarena.agents.engines.attention import KEY_BLOCK, attend, looking_ahead, min_queries
from simarena.agents.engines.kv import KeyStore


class Pages:
    """Which slot and place each token of a pass has.

    Rows that add one token and rows that add more are spread apart, so that the former carry no padding.

    Args:
        slots: slot index of each row.
        starts: position of each row's first new token.
        counts: new tokens of each row; the tokens of all rows follow one another in the packed batch.
    """

    def __init__(
        self, store: KeyStore, slots: Sequence[int], starts: Sequence[int], counts: Sequence[int]
    ) -> None:
        self._store = store
        device = store.keys.device
        heads, capacity = store.keys.shape[2:4]
        slot, start, count = torch.tensor(slots), torch.tensor(starts), torch.tensor(counts)
        row = torch.repeat_interleave(torch.arange(len(counts)), count)
        place = torch.arange(int(count.sum())) - (count.cumsum(0) - count)[row]
        positions = place + start[row]
        self.positions = positions.to(device)
        """[tokens]: position of each token in its conversation."""
        where = (slot[row, None] * heads + torch.arange(heads)) * capacity + positions[:, None]
        self._where = where.flatten().to(device)
        self._spreads = [
            _Spread(slot[rows], start[rows], count[rows], (row[:, None] == rows).any(1).nonzero()[:, 0], device)
            for rows in ((count == 1).nonzero()[:, 0], (count > 1).nonzero()[:, 0])
            if len(rows)
        ]

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        """[heads, tokens, depth] each → [tokens, heads, depth]; tokens past those of the rows give zeros."""
        heads, padded, depth = query.shape
        tokens = len(self.positions)
        keys, values = self._store.keys[layer], self._store.values[layer]
        for stored, new in ((keys, key), (values, value)):
            stored.view(-1, depth).index_copy_(0, self._where, new[:, :tokens].transpose(0, 1).reshape(-1, depth))
        joined = query.new_zeros(padded, heads, depth)
        for spread in self._spreads:
            spread.attend(query.transpose(0, 1), keys, values, joined, scale, window)
        return joined


class _Spread:
    """Some rows of a pass, each padded to the longest of them.

    `tokens` are the places of their tokens in the packed batch, row after row.
    """

    def __init__(
        self, slots: Tensor, starts: Tensor, counts: Tensor, tokens: Tensor, device: torch.device
    ) -> None:
        row = torch.repeat_interleave(torch.arange(len(counts)), counts)
        place = torch.arange(len(tokens)) - (counts.cumsum(0) - counts)[row]
        self._select, local = _window(slots, device)
        self._positions = (place + starts[row]).to(device)
        self._row, self._place, self._tokens = local[row].to(device), place.to(device), tokens.to(device)
        self._queries = int(counts.max())
        self._keys = -(-int((starts + counts).max()) // KEY_BLOCK) * KEY_BLOCK
        self._blocked: dict[tuple[int, int | None], Tensor] = {}

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, joined: Tensor, scale: float, window: int | None
    ) -> None:
        """Write into `joined` what these rows' queries find; both are [tokens, heads, depth] of the whole pass."""
        _, heads, depth = query.shape
        keys, values = self._stored(keys), self._stored(values)
        key_heads = keys.shape[1]
        group = heads // key_heads
        queries = max(self._queries, min_queries(group))
        spread = query.new_zeros(len(keys), queries, heads, depth)
        spread[self._row, self._place] = query[self._tokens]
        grouped = spread.view(len(keys), queries, key_heads, group, depth).permute(0, 2, 3, 1, 4)
        out = attend(grouped, keys, values, self._mask(len(keys), queries, window), scale)
        found = out.permute(0, 3, 1, 2, 4)[self._row, self._place]
        joined[self._tokens] = found.reshape(len(self._tokens), heads, depth)

    def _stored(self, stored: Tensor) -> Tensor:
        """[slots, heads, capacity, depth] → the rows of this pass, [rows, heads, keys, depth]."""
        if isinstance(self._select, slice):
            return stored[self._select, :, : self._keys]
        return stored[:, :, : self._keys].index_select(0, self._select)

    def _mask(self, rows: int, queries: int, window: int | None) -> Tensor:
        if (queries, window) not in self._blocked:
            at = torch.zeros(rows, queries, dtype=torch.long, device=self._positions.device)
            at[self._row, self._place] = self._positions
            self._blocked[queries, window] = looking_ahead(at, self._keys, window)
        return self._blocked[queries, window]


def _window(slots: Tensor, device: torch.device) -> tuple[slice | Tensor, Tensor]:
    """How to reach these slots, and where each then lies: in place if they are dense, else by a copy."""
    low, high = int(slots.min()), int(slots.max()) + 1
    if high - low <= 2 * len(slots):
        return slice(low, high), slots - low
    return slots.to(device), torch.arange(len(slots))
