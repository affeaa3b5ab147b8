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
from simarena.training.batches import MicroBatch, sampled_counts, step_counts
from simarena.training.branches import Branch, grow
from simarena.training.config import Lora, OptimiserOptions
from simarena.training.losses import LOSSES
from simarena.training.losses.inputs import LossOptions, PolicyTokens, StepCounts
from simarena.training.ranks import Ranks
from simarena.training.samples import Sample
from simarena.training.scorer import Scores, check, score

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PerToken = dict[str, Tensor]


class Learner:
    """Trains a model in place: all weights, or LoRA adapters if `adapter` is given; spread over `ranks`, all of
    which then call the same methods.

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
        ranks: Ranks | None = None,
    ) -> None:
        check(model)
        self.ranks = ranks or Ranks()
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
        self.ranks.spread(model)
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
        telling, counts = self._telling(batch), step_counts(batch)
        tree = grow(self.ranks.part(telling), self.options.micro_tokens, sizes=sampled_counts(batch))
        rate = self._rate()
        self.adamw.param_groups[0]["lr"] = rate
        references = self._reference_logprobs(tree) if self.loss.anchored else []
        anchors: list[Tensor] = []
        tokens: list[PerToken] = []
        norm = 0.0
        for _ in range(self.options.epochs if telling else 0):
            norm = self._pass(tree, counts, references, anchors, tokens)
        self.skipped["empty"] += not telling
        self.version += 1
        if self.moving and self.version % self._reference_every == 0:
            self.move_reference({name: self.ranks.full(weight.detach()) for name, weight in self.trained.items()})
        trees = self.ranks.joined([(tree.computed, _padding(tree))])
        return {
            **_summary(self.ranks.joined(tokens)),
            "tokens/trained": float(counts.tokens),
            "tokens/computed": float(sum(computed for computed, _ in trees)),
            "tokens/padding": sum(padding for _, padding in trees)
            / max(1, sum(computed for computed, _ in trees)),
            "train/grad_norm": norm,
            "train/learning_rate": rate,
            "train/skipped_steps": float(sum(self.skipped.values())),
            "train/nonfinite_steps": float(self.skipped["nonfinite"]),
        }

    def _telling(self, batch: Sequence[Sample]) -> list[Sample]:
        """Those that have a gradient: if only credit gives one, a sample without any is never read."""
        if not self.loss.credit_alone:
            return [sample for sample in batch if any(sample.mask)]
        return [
            sample for sample in batch if any(a and m for a, m in zip(sample.advantages, sample.mask, strict=True))
        ]

    def _pass(
        self,
        tree: Branch,
        counts: StepCounts,
        references: Sequence[Tensor],
        anchors: list[Tensor],
        tokens: list[PerToken],
    ) -> float:
        """One AdamW step; returns the norm of its gradient.

        Puts per-token metrics into `tokens`, and into `anchors` the log-probs that ratios are taken against, if
        they are not there from an earlier pass.
        """
        self.adamw.zero_grad(set_to_none=True)
        first = not anchors
        with self.ranks.whole(self.model):
            for number, (part, scores) in enumerate(score(self.model, tree)):
                if first:
                    anchors.append(self._anchor(part, scores))
                reference = references[number] if references else None
                tokens.append(self._backward(part, scores, counts, anchors[number], reference))
            self.ranks.settle(self.model)
        norm = self._clip()
        if not math.isfinite(norm):
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

    def whole(self) -> AbstractContextManager[None]:
        """The model with all its weights, for the length of the block, for reading."""
        return self.ranks.whole(self.model)

    def weights(self) -> dict[str, np.ndarray]:
        """The weights by state-dict name, adapters merged in, copied for engines. Tied weights are one array."""
        arrays: dict[int, np.ndarray] = {}
        named: dict[str, np.ndarray] = {}
        for name, tensor in lora.merged(self.model, self.ranks).items():
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
                digest.update(self.ranks.full(weight.detach()).cpu().numpy().tobytes())
        return digest.hexdigest()

    def _clip(self) -> float:
        """Scale the gradient down to the largest norm allowed; returns its norm before."""
        norm = torch.nn.utils.clip_grad_norm_(self.trained.values(), self.options.grad_clip)
        return float(self.ranks.full(norm))

    def _anchor(self, part: MicroBatch, scores: Scores) -> Tensor:
        """What a micro-batch's ratios are taken against in this update.

        A token of the current version is its own anchor: ratio 1 exactly, whatever float noise lies between
        sampler and scorer. An older one is compared with what it was sampled with, unless the loss has a weight of
        its own for that.
        """
        current = scores.logprobs.detach()
        fresh = part.versions == self.version
        return current if self.loss.corrected else torch.where(fresh, current, part.logprobs)

    def _backward(
        self, part: MicroBatch, scores: Scores, counts: StepCounts, old: Tensor, reference: Tensor | None
    ) -> PerToken:
        """Adds one micro-batch's gradient; returns per-token metrics."""
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
        fresh = part.versions == self.version
        mismatch = torch.where(fresh, (old - part.logprobs).abs(), torch.zeros_like(old))
        return {**metrics, "mismatch": mismatch, "tokens/stale": (~fresh).float()}

    def _reference_logprobs(self, tree: Branch) -> list[Tensor]:
        """Under the reference, by micro-batch: once for all passes of an update."""
        model = self._reference if self._reference is not None else self.model
        without: AbstractContextManager[None] = lora.disabled(model) if self.adapter else nullcontext()
        gathered = self.ranks.whole(model) if self.adapter else nullcontext()
        with torch.no_grad(), without, gathered:
            return [scores.logprobs for _, scores in score(model, tree)]


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


def _padding(tree: Branch) -> int:
    """Computed tokens that are padding."""
    return sum(part.ids.numel() - int(part.lengths.sum()) for part in tree.all_parts())
