"""Batches: from samples to the padded tensors of micro-batches.

Right padding with lengths kept beside: nothing here, or after, tells padding by its id. The order is that
of lengths and keys, never that of arrival. Knows no model.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from simarena.arena.errors import RecordError
from simarena.training.losses.inputs import StepCounts
from simarena.training.samples import Sample

_PAD = 0
"""Any id would do: padding stands to the right of every real token and is never read."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """B right-padded samples of up to T tokens, with N policy tokens between them.

    Policy tokens are flat: entry n is the id at (`rows[n]`, `columns[n]`), predicted from the column before.
    """

    ids: Tensor
    """[B, T], int64."""
    positions: Tensor
    """[B, T], int64: 0, 1, 2 ... in every row."""
    lengths: Tensor
    """[B], int64."""
    rows: Tensor
    columns: Tensor
    advantages: Tensor
    logprobs: Tensor
    """[N], float32: sampling log-probs."""
    versions: Tensor
    """[N], int64."""
    shares: Tensor
    """[N], float32: 1 / sampled tokens of the token's rollout, in all its samples."""
    turns: Tensor
    """[N], int64: index of the token's turn, told apart over all rows."""
    pairs: Tensor
    """[N], int64: index of the row's pair, -1 for none."""
    temperatures: Tensor
    """[N], float32."""
    shared: int = 0
    """Columns that are the same in all rows, predict nothing that was sampled, and are computed elsewhere."""
    keys: tuple[str, ...] = ()
    """The sample of each row."""

    @property
    def count(self) -> int:
        """N."""
        return len(self.rows)

    @property
    def computed(self) -> int:
        """Tokens that a pass computes, padding among them."""
        return self.ids.numel() - self.shared * len(self.ids)

    def to(self, device: torch.device) -> "MicroBatch":
        """The same on a device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {name: v.to(device) for name, v in values.items() if isinstance(v, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True, slots=True)
class Unit:
    """What a micro-batch may not cut: one sample, or all samples of a pair, by length."""

    samples: tuple[Sample, ...]
    stem: tuple[int, ...]
    """Ids that all of them begin with, up to where the first sampled id is predicted from."""


def units(batch: Sequence[Sample]) -> list[Unit]:
    """The units of these samples, sorted by length and key."""
    ordered = sorted(batch, key=lambda s: (len(s.ids), s.key))
    found: dict[str, list[Sample]] = defaultdict(list)
    for sample in ordered:
        found[sample.pair or sample.key].append(sample)
    return sorted((Unit(tuple(found[name]), _stem(found[name])) for name in found), key=_size)


def micro_batches(ordered: Sequence[Unit], budget: int, shared: int, sizes: Mapping[str, int]) -> list[MicroBatch]:
    """Units cut into micro-batches of at most `budget` tokens with padding (or one longer unit), by length.

    The first `shared` columns are computed elsewhere and count for nothing; `sizes` are the sampled tokens of each
    rollout in the whole step.
    """
    parts: list[list[Sample]] = []
    for unit in sorted(ordered, key=_size):
        width = len(unit.samples[-1].ids) - shared
        if not parts or (len(parts[-1]) + len(unit.samples)) * width > budget:
            parts.append([])
        parts[-1] += unit.samples
    return [_tensors(part, sizes, shared) for part in parts]


def step_counts(batch: Sequence[Sample]) -> StepCounts:
    """What the whole optimiser step holds."""
    sizes = sampled_counts(batch)
    pairs = {sample.pair for sample in batch if sample.pair}
    return StepCounts(tokens=sum(sizes.values()), rollouts=len(+sizes), pairs=len(pairs))


def sampled_counts(batch: Sequence[Sample]) -> Counter[str]:
    """Sampled tokens of each rollout."""
    sizes: Counter[str] = Counter()
    for sample in batch:
        sizes[sample.rollout] += sum(sample.mask)
    return sizes


def _size(unit: Unit) -> tuple[int, str]:
    return len(unit.samples[-1].ids), unit.samples[-1].key


def _stem(group: Sequence[Sample]) -> tuple[int, ...]:
    most = min(sample.mask.index(True) for sample in group) - 1
    columns = zip(*(sample.ids[: max(0, most)] for sample in group), strict=False)
    alike = next((n for n, column in enumerate(columns) if len(set(column)) > 1), max(0, most))
    return group[0].ids[:alike]


def _tensors(part: Sequence[Sample], sizes: Mapping[str, int], shared: int) -> MicroBatch:
    width = max(len(sample.ids) for sample in part)
    places = [(row, column) for row, s in enumerate(part) for column, sampled in enumerate(s.mask) if sampled]
    if any(column == 0 for _, column in places):
        raise RecordError("a trajectory begins with a sampled id: there is nothing to predict it from")
    turns = {turn: n for n, turn in enumerate(dict.fromkeys((r, part[r].turns[c]) for r, c in places))}
    pairs = {pair: n for n, pair in enumerate(dict.fromkeys(s.pair for s in part if s.pair))}
    return MicroBatch(
        ids=torch.tensor([(*s.ids, *[_PAD] * (width - len(s.ids))) for s in part]),
        positions=torch.arange(width).repeat(len(part), 1),
        lengths=torch.tensor([len(s.ids) for s in part]),
        rows=torch.tensor([row for row, _ in places]),
        columns=torch.tensor([column for _, column in places]),
        advantages=torch.tensor([part[r].advantages[c] for r, c in places], dtype=torch.float32),
        logprobs=torch.tensor([part[r].logprobs[c] for r, c in places], dtype=torch.float32),
        versions=torch.tensor([part[r].versions[c] for r, c in places]),
        shares=torch.tensor([1 / sizes[part[r].rollout] for r, _ in places], dtype=torch.float32),
        turns=torch.tensor([turns[r, part[r].turns[c]] for r, c in places]),
        pairs=torch.tensor([pairs.get(part[r].pair, -1) for r, _ in places]),
        temperatures=torch.tensor([part[r].temperature for r, _ in places], dtype=torch.float32),
        shared=shared,
        keys=tuple(sample.key for sample in part),
    )
