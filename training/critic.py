"""The critic: a small net that reads the policy's hidden states and says what return it expects.

It never changes the policy: hidden states come without gradient. It may read more than the policy does (a hint
before the conversation), since it is needed in training only. Knows no credit rule: it is given targets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from simarena.training.branches import grow
from simarena.training.credit.evidence import CriticOptions
from simarena.training.losses.value import value_loss
from simarena.training.samples import Sample
from simarena.training.scorer import states

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Critic:
    """One hidden layer; begins with a value of 0 everywhere."""

    def __init__(self, width: int, options: CriticOptions, seed: int) -> None:
        self.options = options
        first, last = nn.Linear(width, width), nn.Linear(width, 1)
        chance = torch.Generator().manual_seed(seed % 2**63)
        with torch.no_grad():
            first.weight.copy_(torch.randn(width, width, generator=chance) / width**0.5)
            for zero in (first.bias, last.weight, last.bias):
                zero.zero_()
        self.net = nn.Sequential(nn.LayerNorm(width), first, nn.Tanh(), last)
        self.adamw = torch.optim.AdamW(self.net.parameters(), lr=options.lr, weight_decay=0.0)
        self._seen: dict[str, Tensor] = {}
        """Hidden states of the newest `values`, by sample: shape [sampled tokens, width]."""

    def values(
        self, model: "PreTrainedModel", batch: Sequence[Sample], hints: Mapping[str, Sequence[int]], budget: int
    ) -> dict[str, list[float]]:
        """By sample, the value before each of its sampled tokens. `hints` are ids to read first, by rollout."""
        self.net.to(model.device)
        hinted = [_after(sample, hints.get(sample.rollout, ())) for sample in batch if any(sample.mask)]
        self._seen = {}
        with torch.no_grad():
            for part, hidden in states(model, grow([replace(sample, pair="") for sample in hinted], budget)):
                for row, key in enumerate(part.keys):
                    self._seen[key] = hidden[part.rows == row].float()
            return {key: self.net(seen)[:, 0].tolist() for key, seen in self._seen.items()}

    def learn(self, batch: Sequence[Sample]) -> dict[str, float]:
        """Moves values towards the targets of samples that `values` has seen. Returns metrics."""
        pairs = [pair for sample in sorted(batch, key=lambda s: s.key) for pair in self._targets(sample)]
        if not pairs:
            return {}
        seen, targets = torch.stack([state for state, _ in pairs]), torch.tensor([goal for _, goal in pairs])
        targets = targets.to(seen.device)
        with torch.no_grad():
            old = self.net(seen)[:, 0]
        for _ in range(self.options.epochs):
            loss = value_loss(self.net(seen)[:, 0], old, targets, self.options.clip)
            self.adamw.zero_grad()
            torch.autograd.backward(loss)
            self.adamw.step()
        left = float((targets - old).var(correction=0) / targets.var(correction=0).clamp(min=1e-8))
        return {
            "critic/loss": float(loss.detach()),
            "critic/explained": 1 - left,
            "critic/value": float(old.mean()),
        }

    def _targets(self, sample: Sample) -> list[tuple[Tensor, float]]:
        goals = [sample.targets[i] for i, mine in enumerate(sample.mask) if mine] if sample.targets else []
        return [(self._seen[sample.key][n], goal) for n, goal in enumerate(goals) if goal is not None]

    def state(self) -> dict[str, Tensor]:
        """Weights and optimiser moments, for a checkpoint."""
        found = {f"net/{name}": value.detach().contiguous() for name, value in self.net.state_dict().items()}
        for name, weight in self.net.named_parameters():
            found |= {f"adamw/{name}/{slot}": value for slot, value in self.adamw.state.get(weight, {}).items()}
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """What `state` gave; training then goes on bit for bit."""
        self.net.load_state_dict({key[4:]: value for key, value in state.items() if key.startswith("net/")})
        for name, weight in self.net.named_parameters():
            slots: dict[str, Any] = {
                key.rpartition("/")[2]: value for key, value in state.items() if key.startswith(f"adamw/{name}/")
            }
            if slots:
                self.adamw.state[weight] = slots


def _after(sample: Sample, hint: Sequence[int]) -> Sample:
    """The sample as if the hint had been read before it."""
    if not hint:
        return sample
    before, zeros = len(hint), (0.0,) * len(hint)
    return replace(
        sample,
        ids=(*hint, *sample.ids),
        mask=(*[False] * before, *sample.mask),
        advantages=(*zeros, *sample.advantages),
        logprobs=(*zeros, *sample.logprobs),
        versions=(*[-1] * before, *sample.versions),
        turns=(*[-1] * before, *sample.turns),
    )
