"""The learner: one policy's weights, its optimiser, and the step that turns credited samples into new weights.

Its version counts calls of `update`, the run's only step axis. Dropout is off, as it is in the sampler, so
training uses no random numbers and needs no generator state. Knows no episode, credit rule or loss by name.
"""

import copy
import hashlib
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from simarena.arena.seeds import derive
from simarena.training import lora
from simarena.training.batches import MicroBatch, micro_batches, step_counts
from simarena.training.config import Lora, OptimiserOptions
from simarena.training.losses import LOSSES
from simarena.training.losses.inputs import LossOptions, PolicyTokens, StepCounts
from simarena.training.samples import Sample
from simarena.training.scorer import check, score

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PerToken = dict[str, Tensor]


class Learner:
    """Trains a model in place: all weights, or LoRA adapters if `adapter` is given.

    `anchored` keeps the starting point for a loss of a later step that needs it; `loss` may be changed between
    updates.

    The model is put into float32 and evaluation mode (no dropout). Raises UsageError for a model or adapter
    that cannot be trained.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        loss: LossOptions,
        optimiser: OptimiserOptions,
        adapter: Lora | None = None,
        seed: int = 0,
        anchored: bool = False,
        reference_every: int = 0,
    ) -> None:
        check(model)
        self.model = model.float().eval()
        self.options = optimiser
        self.loss = loss
        self.adapter = adapter
        self.version = 0
        """Updates so far, skipped ones among them."""
        self.skipped = {"empty": 0, "nonfinite": 0}
        """Updates that changed nothing, by reason."""
        if adapter:
            lora.attach(model, adapter, derive("lora", seed))
        self._reference = (
            copy.deepcopy(model).requires_grad_(False) if (anchored or loss.anchored) and not adapter else None
        )
        self._reference_every = reference_every
        self.trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        """The parameters that learn, by name."""
        self.adamw = torch.optim.AdamW(
            self.trained.values(),
            lr=optimiser.lr,
            betas=optimiser.betas,
            weight_decay=optimiser.weight_decay,
            fused=True,
        )

    def update(self, batch: Sequence[Sample]) -> dict[str, float]:
        """One step over all samples, `epochs` passes; returns its metrics by `producer/quantity`.

        A batch without policy tokens, and a pass whose gradient is not finite, changes nothing and is counted in
        `train/skipped_steps`; the version rises all the same, so the step axis never stalls.
        """
        parts, counts = micro_batches(batch, self.options.micro_tokens), step_counts(batch)
        rate = self._rate()
        self.adamw.param_groups[0]["lr"] = rate
        anchors: list[Tensor | None] = [None] * len(parts)
        tokens: list[PerToken] = []
        norm = 0.0
        for _ in range(self.options.epochs):
            norm = self._pass(parts, counts, anchors, tokens)
        self.version += 1
        if self.moving and self.version % self._reference_every == 0:
            self.move_reference({name: weight.detach() for name, weight in self.trained.items()})
        return {
            **_summary(tokens),
            "tokens/trained": float(counts.tokens),
            "tokens/padding": _padding(parts),
            "train/grad_norm": norm,
            "train/learning_rate": rate,
            "train/skipped_steps": float(sum(self.skipped.values())),
            "train/nonfinite_steps": float(self.skipped["nonfinite"]),
        }

    def _pass(
        self, parts: Sequence[MicroBatch], counts: StepCounts, anchors: list[Tensor | None], tokens: list[PerToken]
    ) -> float:
        """One AdamW step; returns the norm of its gradient.

        Puts per-token metrics into `tokens`, and into `anchors` the log-probs that ratios are taken against, if
        they are not there from an earlier pass.
        """
        self.adamw.zero_grad(set_to_none=True)
        for number, part in enumerate(parts):
            metrics, anchors[number] = self._backward(part.to(self.model.device), counts, anchors[number])
            tokens.append(metrics)
        norm = self._clip()
        if not parts:
            self.skipped["empty"] += 1
        elif not math.isfinite(norm):
            self.skipped["nonfinite"] += 1
        else:
            self.adamw.step()
        self.adamw.zero_grad(set_to_none=True)
        return norm

    def _rate(self) -> float:
        """The learning rate of this step."""
        step, options = self.version + 1, self.options
        left = max(0.05, 1 - step / options.decay) if options.decay else 1.0
        return options.lr * left * min(1.0, step / max(1, options.warmup))

    def weights(self) -> dict[str, np.ndarray]:
        """The weights by state-dict name, adapters merged in, copied for engines. Tied weights are one array."""
        arrays: dict[int, np.ndarray] = {}
        named: dict[str, np.ndarray] = {}
        with torch.no_grad():
            plain = lora.merged(self.model)
        for name, tensor in plain.items():
            if tensor.data_ptr() not in arrays:
                arrays[tensor.data_ptr()] = tensor.detach().cpu().numpy().copy()
            named[name] = arrays[tensor.data_ptr()]
        return named

    @property
    def moving(self) -> Mapping[str, Tensor]:
        """The weights of the KL reference if it moves with training, by name; empty if it stays."""
        reference = self._reference if self._reference_every else None
        return {} if reference is None else dict(reference.named_parameters())

    def move_reference(self, weights: Mapping[str, Tensor]) -> None:
        """Make these weights the KL reference."""
        with torch.no_grad():
            for name, weight in self.moving.items():
                weight.copy_(weights[name])

    @cached_property
    def origin(self) -> str:
        """sha256 of the frozen weights this learner leans on (LoRA base or KL reference that stays)."""
        source = self.model if self.adapter else self._reference
        if source is None or self.moving:
            return ""
        digest = hashlib.sha256()
        for name, weight in source.named_parameters():
            if not weight.requires_grad:
                digest.update(name.encode())
                digest.update(weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def _clip(self) -> float:
        """Scale the gradient down to the largest norm allowed; returns its norm before."""
        return float(torch.nn.utils.clip_grad_norm_(self.trained.values(), self.options.grad_clip))

    def _backward(self, part: MicroBatch, counts: StepCounts, old: Tensor | None) -> tuple[PerToken, Tensor]:
        """Adds one micro-batch's gradient; returns per-token metrics and what ratios were taken against."""
        reference = self._reference_logprobs(part) if self.loss.anchored else None
        scores = score(self.model, part)
        current = scores.logprobs.detach()
        fresh = part.versions == self.version
        if old is None:
            # A token of the current version is its own anchor: ratio 1 exactly, whatever float noise lies between
            # sampler and scorer. An older one is compared with what it was sampled with, unless the loss has a
            # weight of its own for that.
            old = current if self.loss.corrected else torch.where(fresh, current, part.logprobs)
        tokens = PolicyTokens(
            step=counts,
            logprobs=scores.logprobs,
            entropy=scores.entropy,
            old=old,
            rollout=part.logprobs,
            advantages=part.advantages,
            shares=part.shares,
            sequences=part.rows,
            turns=part.turns,
            pairs=part.pairs,
            reference=reference,
        )
        _, function = LOSSES[self.loss.kind]
        loss, metrics = function(tokens, self.loss)
        torch.autograd.backward(loss)
        mismatch = torch.where(fresh, (old - part.logprobs).abs(), torch.zeros_like(current))
        return {**metrics, "mismatch": mismatch, "tokens/stale": (~fresh).float()}, old

    def _reference_logprobs(self, part: MicroBatch) -> Tensor:
        model = self._reference if self._reference is not None else self.model
        without: AbstractContextManager[None] = lora.disabled(model) if self.adapter else nullcontext()
        with torch.no_grad(), without:
            return score(model, part).logprobs


def _summary(tokens: Sequence[PerToken]) -> Mapping[str, float]:
    """Means over the step's tokens, and for ratio and mismatch what a mean would hide."""
    joined = {name: torch.cat([part[name] for part in tokens]) for name in (tokens[0] if tokens else ())}
    means = {name: float(values.mean()) for name, values in joined.items() if name not in ("ratio", "mismatch")}
    if not tokens:
        return means
    ratio = joined["ratio"]
    return {
        **means,
        "ratio/mean": float(ratio.mean()),
        "ratio/max": float(ratio.max()),
        "ratio/ess": float(ratio.sum() ** 2 / (len(ratio) * (ratio**2).sum())),
        "mismatch/max": float(joined["mismatch"].max()),
    }


def _padding(parts: Sequence[MicroBatch]) -> float:
    """Share of scored tokens that are padding."""
    padded = sum(part.ids.numel() for part in parts)
    return 1 - sum(int(part.lengths.sum()) for part in parts) / padded if padded else 0.0
