"""Batches: from samples to the padded tensors of micro-batches.

Right padding with lengths kept beside: nothing here, or after, tells padding by its id. The order is that
of lengths and keys, never that of arrival. Knows no model.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields

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
    """Columns that are the same in all rows and predict nothing that was sampled; 0 for a single row."""

    @property
    def count(self) -> int:
        """N."""
        return len(self.rows)

    def to(self, device: torch.device) -> "MicroBatch":
        """The same on a device."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "shared"}
        return MicroBatch(**{name: tensor.to(device) for name, tensor in tensors.items()}, shared=self.shared)


def micro_batches(batch: Sequence[Sample], budget: int) -> list[MicroBatch]:
    """The samples cut into micro-batches of at most `budget` tokens with padding (or one longer unit).

    A unit is one sample, or all samples of a pair. Sorted by length, so little is padding; samples without a
    policy token are left out. Raises RecordError if a key is there twice.
    """
    ordered = sorted((s for s in batch if any(s.mask)), key=lambda s: (len(s.ids), s.key))
    if len({sample.key for sample in ordered}) < len(ordered):
        raise RecordError("a sample is twice in one batch: it would count twice")
    units: dict[str, list[Sample]] = defaultdict(list)
    for sample in ordered:
        units[sample.pair or sample.key].append(sample)
    parts: list[list[Sample]] = []
    for unit in sorted(units.values(), key=lambda unit: (len(unit[-1].ids), unit[-1].key)):
        if not parts or (len(parts[-1]) + len(unit)) * len(unit[-1].ids) > budget:
            parts.append([])
        parts[-1] += unit
    sizes = _sizes(ordered)
    return [_tensors(part, sizes) for part in parts]


def step_counts(batch: Sequence[Sample]) -> StepCounts:
    """What the whole optimiser step holds."""
    sizes = _sizes(batch)
    pairs = {sample.pair for sample in batch if sample.pair}
    return StepCounts(tokens=sum(sizes.values()), rollouts=len(+sizes), pairs=len(pairs))


def _sizes(batch: Sequence[Sample]) -> Counter[str]:
    """Sampled tokens of each rollout."""
    sizes: Counter[str] = Counter()
    for sample in batch:
        sizes[sample.rollout] += sum(sample.mask)
    return sizes


def _tensors(part: Sequence[Sample], sizes: Counter[str]) -> MicroBatch:
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
        shared=_shared(part, min(column for _, column in places) - 1),
    )


def _shared(part: Sequence[Sample], most: int) -> int:
    """Length of the prefix that all samples have in common, at most `most`; 0 for one sample."""
    if len(part) == 1:
        return 0
    columns = zip(*(sample.ids[:most] for sample in part), strict=False)
    return next((n for n, column in enumerate(columns) if len(set(column)) > 1), min(most, len(part[0].ids)))
