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
    held: bool = False
    """In use by a running conversation: it keeps its place."""


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
    def full(self) -> bool:
        """Whether every slot is held."""
        return sum(slot.held for slot in self._slots.values()) >= self._count

    def reserve(self, tokens: int) -> bool:
        """Make room for conversations of this many tokens. False: not while so many others are held."""
        if tokens <= self.capacity:
            return True
        longer = self._rounded(max(tokens, 2 * self.capacity))
        count = self._fitting(longer)
        held = {name: slot for name, slot in self._slots.items() if slot.held}
        if held and len(held) >= count:
            return False
        others = [pair for pair in self._slots.items() if not pair[1].held]
        kept = [*others[max(0, len(others) - (count - len(held))) :], *held.items()]
        old = (self.keys, self.values)
        self._allocate(longer)
        self._slots = OrderedDict(kept)
        for slot in self._slots.values():
            place = self._free.pop()
            for target, source in zip((self.keys, self.values), old, strict=True):
                target[:, place, :, : len(slot.ids)] = source[:, slot.index, :, : len(slot.ids)]
            slot.index = place
        return True

    def take(self, key: str) -> Slot:
        """Hold a slot for this conversation, the one it had if that is still there; equal keys get one each."""
        number = next(n for n in itertools.count() if (key, n) not in self._slots or not self._slots[key, n].held)
        slot = self._slots.pop((key, number), None)
        if slot is None:
            if not self._free:
                self._free.append(self._slots.pop(self._oldest()).index)
            slot = Slot(self._free.pop())
        self._slots[key, number] = slot
        slot.held = True
        return slot

    def inherit(self, slot: Slot, ids: Sequence[int]) -> None:
        """Copy the keys of the start that these ids share with a conversation used lately, if that is worth it."""
        lately = itertools.islice((other for other in reversed(self._slots.values()) if other.ids), _DONORS)
        donor = max(lately, key=lambda other: shared(other.ids, ids), default=slot)
        self.copy(donor, slot, ids, min(shared(donor.ids, ids), len(ids) - 1))  # the last is read, for its logits

    def copy(self, donor: Slot, slot: Slot, ids: Sequence[int], count: int) -> None:
        """Make the first `count` of these ids, which the donor has read, those of another slot.

        Equal ids at equal positions have equal keys, to the bit, so this is only a saving.
        """
        known = len(slot.ids)
        if count - known < WORTH_SHARING:
            return
        for stored in (self.keys, self.values):
            stored[:, slot.index, :, known:count] = stored[:, donor.index, :, known:count]
        slot.ids = list(ids[:count])

    def clear(self) -> None:
        """Forget every conversation, as after new weights."""
        self._slots.clear()
        self._free = list(range(self._count))[::-1]

    def _oldest(self) -> tuple[str, int]:
        return next(name for name, slot in self._slots.items() if not slot.held)

    def _allocate(self, tokens: int) -> None:
        layers, heads, depth = self._shape
        self.capacity = self._rounded(tokens)
        self._count = self._fitting(self.capacity)
        shape = (layers, self._count, heads, self.capacity, depth)
        self.keys, self.values = (_zeros(shape, self._dtype, self._device) for _ in range(2))
        self._free = list(range(self._count))[::-1]

    def _rounded(self, tokens: int) -> int:
        return -(-tokens // KEY_BLOCK) * KEY_BLOCK

    def _fitting(self, capacity: int) -> int:
        """How many slots of this many tokens the budget pays for."""
        layers, heads, depth = self._shape
        return max(1, self._budget // (2 * layers * heads * depth * capacity * self._dtype.itemsize))


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two lists have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # the first `low` agree; some of the first `high + 1` do not
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros. In main memory, a page of them costs nothing until it is written, which torch.zeros does at once."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(mmap.mmap(-1, math.prod(shape) * dtype.itemsize), dtype=dtype).view(shape)
