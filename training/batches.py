"""Batches: from a group's episodes to samples, and from samples to padded tensors of one micro-batch.

One sample is one trajectory, with the ids the policy saw. Right padding with lengths kept beside: nothing
here, or after, tells padding by its id. The order is that of lengths and keys, never that of arrival.
Knows no model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from simarena.arena.episodes import Episode
from simarena.arena.errors import RecordError
from simarena.training.credit.statistics import Advantages
from simarena.training.groups import Group

_PAD = 0
"""Any id would do: padding stands to the right of every real token and is never read."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One trajectory with its advantages; all tuples have one entry per token."""

    key: str
    """Unique: episode, seat and position of the trajectory."""
    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """True exactly where the policy sampled the id."""
    advantages: tuple[float, ...]
    """The turn's advantage on each of its sampled tokens, 0 elsewhere."""
    logprobs: tuple[float, ...]
    """Sampling log-probs, 0 where not sampled."""
    versions: tuple[int, ...]
    """Policy version that sampled the id, -1 where not sampled."""
    temperature: float = 1.0


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


def samples(group: Group, advantages: Advantages) -> tuple[Sample, ...]:
    """The samples of a group's members; `advantages` are the group's, from a credit rule."""
    return tuple(
        sample
        for episode, turns in zip(group.members, advantages, strict=True)
        for sample in _of_episode(episode, group.seat, turns)
    )


def _of_episode(episode: Episode, seat: str, advantages: Sequence[float]) -> Iterator[Sample]:
    temperatures = {record.temperature for record in episode.records_of(seat)}
    if len(temperatures) > 1 or 0.0 in temperatures:
        raise RecordError(f"episode {episode.id!r}: seat {seat!r} sampled at temperatures {sorted(temperatures)}")
    for part, trajectory in enumerate(episode.trajectories_of(seat)):
        yield Sample(
            key=f"{episode.id}/{seat}/{part:04}",
            ids=trajectory.ids,
            mask=trajectory.mask,
            advantages=tuple(0.0 if t < 0 else advantages[trajectory.turns[t]] for t in trajectory.turn_of),
            logprobs=trajectory.logprobs,
            versions=tuple(-1 if t < 0 else trajectory.versions[t] for t in trajectory.turn_of),
            temperature=temperatures.copy().pop(),
        )


def micro_batches(batch: Sequence[Sample], budget: int) -> list[MicroBatch]:
    """The samples cut into micro-batches of at most `budget` tokens with padding (or one longer sample).

    Sorted by length, so little is padding; samples without a policy token are left out. Raises RecordError if
    a key is there twice.
    """
    ordered = sorted((s for s in batch if any(s.mask)), key=lambda s: (len(s.ids), s.key))
    if len({sample.key for sample in ordered}) < len(ordered):
        raise RecordError("a sample is twice in one batch: it would count twice")
    parts: list[list[Sample]] = []
    for sample in ordered:
        if not parts or (len(parts[-1]) + 1) * len(sample.ids) > budget:
            parts.append([])
        parts[-1].append(sample)
    return [_tensors(part) for part in parts]


def _tensors(part: Sequence[Sample]) -> MicroBatch:
    width = max(len(sample.ids) for sample in part)
    places = [(row, column) for row, s in enumerate(part) for column, sampled in enumerate(s.mask) if sampled]
    if any(column == 0 for _, column in places):
        raise RecordError("a trajectory begins with a sampled id: there is nothing to predict it from")
    return MicroBatch(
        ids=torch.tensor([(*s.ids, *[_PAD] * (width - len(s.ids))) for s in part]),
        positions=torch.arange(width).repeat(len(part), 1),
        lengths=torch.tensor([len(s.ids) for s in part]),
        rows=torch.tensor([row for row, _ in places]),
        columns=torch.tensor([column for _, column in places]),
        advantages=torch.tensor([part[r].advantages[c] for r, c in places], dtype=torch.float32),
        logprobs=torch.tensor([part[r].logprobs[c] for r, c in places], dtype=torch.float32),
        versions=torch.tensor([part[r].versions[c] for r, c in places]),
        temperatures=torch.tensor([part[r].temperature for r, _ in places], dtype=torch.float32),
        shared=_shared(part, min(column for _, column in places) - 1),
    )


def _shared(part: Sequence[Sample], most: int) -> int:
    """Length of the prefix that all samples have in common, at most `most`; 0 for one sample."""
    if len(part) == 1:
        return 0
    columns = zip(*(sample.ids[:most] for sample in part), strict=False)
    return next((n for n, column in enumerate(columns) if len(set(column)) > 1), min(most, len(part[0].ids)))
