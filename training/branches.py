"""Branches: a step's samples as a tree of what they begin with, so that what they share is computed once.

The instructions that all conversations of a step have, and the opening that a group has, are stretches of ids
above the samples; only what comes after them is cut into micro-batches. What is shared is found in the ids
themselves and ends before anything sampled is predicted, so no loss looks into it. Knows no model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from simarena.arena.errors import RecordError
from simarena.training.batches import MicroBatch, Unit, micro_batches, sampled_counts, units
from simarena.training.samples import Sample

WORTH = 128
"""Tokens that a shared stretch must save to be run by itself; below, the extra pass costs as much."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Ids that everything below begins with, after those of the branches above."""

    start: int = 0
    """Columns above this branch."""
    ids: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.long))
    """[L], int64; may be empty at the root only."""
    parts: tuple[MicroBatch, ...] = ()
    """Micro-batches of the samples that share nothing more."""
    branches: "tuple[Branch, ...]" = ()

    @property
    def end(self) -> int:
        """Columns above the micro-batches and branches of this one."""
        return self.start + len(self.ids)

    def all_parts(self) -> Iterator[MicroBatch]:
        """Every micro-batch of the tree, in the order it is walked."""
        yield from self.parts
        for branch in self.branches:
            yield from branch.all_parts()

    @property
    def computed(self) -> int:
        """Tokens that one pass over the tree puts through the model, padding among them."""
        own = len(self.ids) + sum(part.computed for part in self.parts)
        return own + sum(branch.computed for branch in self.branches)


def grow(
    batch: Sequence[Sample], budget: int, worth: int = WORTH, sizes: Mapping[str, int] | None = None
) -> Branch:
    """The tree of these samples; micro-batches are of at most `budget` computed tokens (or one longer unit).

    A stretch that saves `worth` tokens is run by itself. Samples without a policy token are left out. The tree is
    that of lengths, ids and keys, never that of arrival. `sizes` are the sampled tokens of each rollout, where
    these samples are not all of the step's.
    Raises RecordError if a key is there twice.
    """
    used = [sample for sample in batch if any(sample.mask)]
    if len({sample.key for sample in used}) < len(used):
        raise RecordError("a sample is twice in one batch: it would count twice")
    counts = sampled_counts(batch) if sizes is None else sizes

    def split(alike: Sequence[Unit], start: int, end: int) -> tuple[list[Branch], list[Unit]]:
        """Branches worth making among units that agree up to `end`, where those above stop at `start`; and
        the units left over."""
        branches: list[Branch] = []
        rest: list[Unit] = []
        groups: dict[tuple[int, ...], list[Unit]] = {}
        for unit in alike:
            groups.setdefault(unit.stem[end : end + 1], []).append(unit)
        for following, group in sorted(groups.items()):
            if not following or sum(len(unit.samples) for unit in group) == 1:
                rest += group
                continue
            common = _agreement(group)
            if (sum(len(unit.samples) for unit in group) - 1) * (common - start) < worth:
                inner, loose = split(group, start, common)
                branches, rest = branches + inner, rest + loose
                continue
            inner, loose = split(group, common, common)
            parts = micro_batches(loose, budget, common, counts)
            ids = torch.tensor(group[0].stem[start:common])
            branches.append(Branch(start, ids, tuple(parts), tuple(inner)))
        return branches, rest

    branches, rest = split(units(used), 0, 0)
    return Branch(parts=tuple(micro_batches(rest, budget, 0, counts)), branches=tuple(branches))


def _agreement(group: Sequence[Unit]) -> int:
    """How many ids the stems of these units have in common."""
    first, last = min(unit.stem for unit in group), max(unit.stem for unit in group)
    return next(
        (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
