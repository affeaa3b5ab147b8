"""Keys and values of conversations, kept between turns in preallocated buffers.

A slot holds one conversation: the key of its position p lies at place p. Slots are a cache and nothing else:
the least recently used is given away, and a conversation that lost its slot reads its ids again. Knows no
attention, no sampling and no chat.
"""

import itertools
import math
import mmap
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from simarena.agents.engines.attention import KEY_BLOCK

WORTH_SHARING = 16
"""Ids in common from which on copying their keys, or reading them apart first, pays."""
_DONORS = 4
"""Conversations looked at for a shared start, such as the system turn that all of a policy's have."""


@dataclass(slots=True)
class Slot:
    """One conversation's place. `ids` are those whose keys are stored."""

    index: int
    ids: list[int] = field(default_factory=list)


class KeyStore:
    """Buffers for `slots` conversations of up to `capacity` tokens, within a budget of bytes.

    When a conversation outgrows the capacity, the buffers are made longer and fewer; those used last move along.
    """

    def __init__(
        self, layers: int, heads: int, depth: int, *, budget: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._shape = (layers, heads, depth)
        self._budget, self._dtype, self._device = budget, dtype, device
        self._slots: OrderedDict[tuple[str, int], Slot] = OrderedDict()
        self._allocate(4 * KEY_BLOCK)

    @property
    def rows(self) -> int:
        """Conversations that fit at once."""
        return self._count

    def reserve(self, tokens: int) -> None:
        """Make room for conversations of this many tokens."""
        if tokens <= self.capacity:
            return
        kept, old = list(self._slots.items()), (self.keys, self.values)
        self._allocate(max(tokens, 2 * self.capacity))
        self._slots.clear()
        self._free = list(range(self._count))[::-1]
        for name, slot in kept[-self._count :]:
            moved = Slot(self._free.pop(), slot.ids)
            for target, source in zip((self.keys, self.values), old, strict=True):
                target[:, moved.index, :, : len(slot.ids)] = source[:, slot.index, :, : len(slot.ids)]
            self._slots[name] = moved

    def take(self, keys: Sequence[str]) -> list[Slot]:
        """One slot for each of these conversations, at most `rows`; equal keys get slots of their own."""
        seen: dict[str, int] = {}
        names = []
        for key in keys:
            seen[key] = seen.get(key, -1) + 1
            names.append((key, seen[key]))
        for name in names:
            if name in self._slots:
                self._slots.move_to_end(name)
        wanted = frozenset(names)
        return [self._slot(name, wanted) for name in names]

    def inherit(self, slot: Slot, ids: Sequence[int]) -> None:
        """Copy into an empty slot the keys of the start that these ids share with a conversation used lately.

        Equal ids at equal positions have equal keys, to the bit, so this is only a saving.
        """
        lately = itertools.islice((other for other in reversed(self._slots.values()) if other.ids), _DONORS)
        donor = max(lately, key=lambda other: shared(other.ids, ids), default=slot)
        count = min(shared(donor.ids, ids), len(ids) - 1)  # the last id is read, for its logits
        if count < WORTH_SHARING:
            return
        for stored in (self.keys, self.values):
            stored[:, slot.index, :, :count] = stored[:, donor.index, :, :count]
        slot.ids = list(ids[:count])

    def clear(self) -> None:
        """Forget every conversation, as after new weights."""
        self._slots.clear()
        self._free = list(range(self._count))[::-1]

    def _slot(self, name: tuple[str, int], wanted: frozenset[tuple[str, int]]) -> Slot:
        if name not in self._slots:
            if not self._free:
                oldest = next(other for other in self._slots if other not in wanted)
                self._free.append(self._slots.pop(oldest).index)
            self._slots[name] = Slot(self._free.pop())
        return self._slots[name]

    def _allocate(self, tokens: int) -> None:
        layers, heads, depth = self._shape
        self.capacity = -(-tokens // KEY_BLOCK) * KEY_BLOCK
        row_bytes = 2 * layers * heads * depth * self.capacity * self._dtype.itemsize
        self._count = max(1, self._budget // row_bytes)
        shape = (layers, self._count, heads, self.capacity, depth)
        self.keys, self.values = (_zeros(shape, self._dtype, self._device) for _ in range(2))
        self._free = list(range(self._count))[::-1]


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two lists have in common at their start."""
    count = min(len(one), len(other))
    if one[:count] == other[:count]:
        return count
    return next(place for place in range(count) if one[place] != other[place])


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros. In main memory, a page of them costs nothing until it is written, which torch.zeros does at once."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(mmap.mmap(-1, math.prod(shape) * dtype.itemsize), dtype=dtype).view(shape)
