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
        lengths = torch.tensor(counts)
        row = torch.repeat_interleave(torch.arange(len(counts)), lengths)
        place = torch.arange(int(lengths.sum())) - (lengths.cumsum(0) - lengths)[row]
        self.positions = (place + torch.tensor(starts)[row]).to(device)
        """[tokens]: position of each token in its conversation."""
        slot = torch.tensor(slots)
        self._select, local = _window(slot, device)
        where = (slot[row, None] * heads + torch.arange(heads)) * capacity + self.positions.cpu()[:, None]
        self._where = where.flatten().to(device)
        self._row, self._place = local[row].to(device), place.to(device)
        self._queries = max(counts)
        self._keys = -(-max(s + c for s, c in zip(starts, counts, strict=True)) // KEY_BLOCK) * KEY_BLOCK
        self._blocked: dict[tuple[int, int | None], Tensor] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        """[heads, tokens, depth] each → [tokens, heads, depth]; tokens past those of the rows give zeros."""
        heads, padded, depth = query.shape
        key_heads, tokens = key.shape[0], len(self.positions)
        group = heads // key_heads
        queries = max(self._queries, min_queries(group))
        keys, values = self._store.keys[layer], self._store.values[layer]
        for stored, new in ((keys, key), (values, value)):
            stored.view(-1, depth).index_copy_(0, self._where, new[:, :tokens].transpose(0, 1).reshape(-1, depth))
        keys, values = self._rows(keys), self._rows(values)
        spread = query.new_zeros(len(keys), queries, heads, depth)
        spread[self._row, self._place] = query[:, :tokens].transpose(0, 1)
        grouped = spread.view(len(keys), queries, key_heads, group, depth).permute(0, 2, 3, 1, 4)
        out = attend(grouped, keys, values, self._mask(len(keys), queries, window), scale)
        joined = query.new_zeros(padded, heads, depth)
        joined[:tokens] = out.permute(0, 3, 1, 2, 4)[self._row, self._place].reshape(tokens, heads, depth)
        return joined

    def _rows(self, stored: Tensor) -> Tensor:
        """[slots, heads, capacity, depth] → the rows of this pass, [rows, heads, keys, depth]."""
        if isinstance(self._select, slice):
            return stored[self._select, :, : self._keys]
        return stored[:, :, : self._keys].index_select(0, self._select)

    def _mask(self, rows: int, queries: int, window: int | None) -> Tensor:
        if (queries, window) not in self._blocked:
            at = torch.zeros(rows, queries, dtype=torch.long, device=self.positions.device)
            at[self._row, self._place] = self.positions
            self._blocked[queries, window] = looking_ahead(at, self._keys, window)
        return self._blocked[queries, window]


def _window(slots: Tensor, device: torch.device) -> tuple[slice | Tensor, Tensor]:
    """How to reach these slots, and where each then lies: in place if they are dense, else by a copy."""
    low, high = int(slots.min()), int(slots.max()) + 1
    if high - low <= 2 * len(slots):
        return slice(low, high), slots - low
    return slots.to(device), torch.arange(len(slots))
