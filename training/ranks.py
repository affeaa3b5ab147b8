"""Ranks: the processes that one learner is spread over, and what they do together (FSDP2 of torch).

Between updates each rank holds its share of the weights, and always its share of the optimiser's moments. For an
update the weights are gathered; each rank learns from its own part of the step's samples, which ends with one pass
that sums the gradients and leaves every rank its share of them. So ranks may do different numbers of passes.
Whatever is not spread (evaluation of a critic, monitors) every rank computes alike. Knows no loss and no samples.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed

from simarena.training.batches import units
from simarena.training.samples import Sample

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PATIENCE = timedelta(hours=2)
"""How long a rank waits for the others before it gives up: longer than any update."""


class Ranks:
    """A learner that is alone: nothing is spread, nothing waits."""

    number = 0
    """Of this process."""
    size = 1

    def part(self, batch: Sequence[Sample]) -> Sequence[Sample]:
        """The samples that this rank learns from."""
        return batch

    def spread(self, model: "PreTrainedModel") -> None:
        """Give each rank its share of the weights."""

    @contextmanager
    def whole(self, model: "PreTrainedModel") -> Iterator[None]:
        """The weights gathered, for the length of the block. Without gradient, unless `settle` ends it."""
        yield

    def settle(self, model: "PreTrainedModel") -> None:
        """End the passes of an update: sum the gradients over ranks and share them out."""

    def full(self, tensor: Tensor) -> Tensor:
        """All of a tensor of which each rank holds a share."""
        return tensor

    def like(self, tensor: Tensor, weight: Tensor) -> Tensor:
        """This rank's share of a whole tensor, as it has one of the weight."""
        return tensor

    def joined(self, parts: Sequence[Any]) -> list[Any]:
        """The parts of all ranks, in the order of ranks."""
        return list(parts)


class Spread(Ranks):
    """One rank of several. All of them call the same methods in the same order."""

    def __init__(self, number: int, size: int, meeting: Path, device: str = "cpu") -> None:
        """`meeting` is a file that does not exist yet, on a disk that all ranks see. On `cuda` each rank has the
        device of its number."""
        from torch.distributed.device_mesh import init_device_mesh

        self.number, self.size = number, size
        if device == "cuda":
            torch.cuda.set_device(number)
        distributed.init_process_group(
            "nccl" if device == "cuda" else "gloo",
            init_method=f"file://{meeting}",
            rank=number,
            world_size=size,
            timeout=PATIENCE,
        )
        self._mesh = init_device_mesh(device, (size,))

    def part(self, batch: Sequence[Sample]) -> Sequence[Sample]:
        """As many tokens as the others' parts. Neighbours in what they begin with stay together, to share it."""
        ordered = sorted(units(batch), key=lambda unit: (unit.stem, unit.samples[-1].key))
        weights = [sum(len(sample.ids) for sample in unit.samples) for unit in ordered]
        total, before = sum(weights), 0
        mine: list[Sample] = []
        for unit, weight in zip(ordered, weights, strict=True):
            if (2 * before + weight) * self.size // (2 * total) == self.number:
                mine += unit.samples
            before += weight
        return mine

    def spread(self, model: "PreTrainedModel") -> None:
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=self._mesh)
        model.set_gradient_divide_factor(1.0)  # a sum: the loss counts over all ranks' tokens already
        model.set_force_sum_reduction_for_comms(True)  # the only kind that gloo has

    @contextmanager
    def whole(self, model: "PreTrainedModel") -> Iterator[None]:
        model.unshard()
        try:
            yield
        finally:
            model.reshard()

    def settle(self, model: "PreTrainedModel") -> None:
        """A pass over one token that counts for nothing: its backward carries the gradients so far with it."""
        nothing = torch.zeros(1, 1, dtype=torch.long, device=model.device)
        torch.autograd.backward(model(input_ids=nothing, use_cache=False).logits.sum() * 0)

    def full(self, tensor: Tensor) -> Tensor:
        from torch.distributed.tensor import DTensor

        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def like(self, tensor: Tensor, weight: Tensor) -> Tensor:
        from torch.distributed.tensor import DTensor, distribute_tensor

        if not isinstance(weight, DTensor) or tensor.shape != weight.shape:
            return tensor
        return distribute_tensor(tensor.to(weight.device), weight.device_mesh, weight.placements)

    def joined(self, parts: Sequence[Any]) -> list[Any]:
        found: list[list[Any]] = [[] for _ in range(self.size)]
        distributed.all_gather_object(found, list(parts))
        return [part for rank in found for part in rank]


def storage(tensor: Tensor) -> int:
    """Where a tensor, or this rank's share of it, lies: equal for tied weights."""
    from torch.distributed.tensor import DTensor

    return (tensor.to_local() if isinstance(tensor, DTensor) else tensor).data_ptr()
