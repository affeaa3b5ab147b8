"""What every loss is given: one entry per sampled token, counts over the step, and the settings losses share.

Prompts, other speakers and padding have no entry, so no loss, metric or gradient can touch them. Three policies
are kept apart: the one that sampled (`rollout`), the one at the start of the update (`old`), and the current.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simarena.arena.messages import Frozen

if TYPE_CHECKING:
    from torch import Tensor


class LossOptions(Frozen):
    """Settings of every loss."""

    paired: ClassVar[bool] = False
    """Whether the loss compares the two sides of pairs, which only some credit rules give."""

    kind: str

    @property
    def anchored(self) -> bool:
        """Whether the loss needs log-probs under the policy that training started from."""
        return False

    @property
    def credit_alone(self) -> bool:
        """Whether a trajectory without any credit has no gradient, so that it need not be read."""
        return False

    @property
    def corrected(self) -> bool:
        """Whether a weight of its own covers the gap between sampler and start of the update.

        If so `old` is the policy at the start of the update; if not it is the sampler for stale tokens, and the
        ratio covers both gaps.
        """
        return False


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Over the whole optimiser step, so that cutting it into micro-batches changes no gradient."""

    tokens: int
    """T: sampled tokens."""
    rollouts: int
    """S: trajectories, one seat's part of one episode each, however many samples it was cut into."""
    pairs: int = 0
    """Pairs of episodes to prefer between."""


@dataclass(frozen=True, slots=True)
class PolicyTokens:
    """Sampled tokens of one micro-batch; every tensor has shape [N], float32 or, for indices, int64."""

    step: StepCounts
    logprobs: "Tensor"
    """Under the current policy, with gradient."""
    entropy: "Tensor"
    """Of the distribution each token was drawn from, in nats, with gradient."""
    old: "Tensor"
    """Log-probs the ratio is taken against, without gradient."""
    rollout: "Tensor"
    """Log-probs under the policy that sampled, as the sampler gave them."""
    advantages: "Tensor"
    shares: "Tensor"
    """1 / sampled tokens of the rollout that the token belongs to."""
    sequences: "Tensor"
    """Index of the sample the token belongs to; samples are never cut."""
    turns: "Tensor"
    """Index of the turn the token belongs to, told apart over the micro-batch."""
    pairs: "Tensor"
    """Index of the pair, -1 for none."""
    reference: "Tensor | None" = None
    """Log-probs under the reference policy; None if the loss is not anchored."""


def segment_mean(values: "Tensor", segments: "Tensor") -> "Tensor":
    """The mean of `values` over the entries with the same segment, at each entry; shape [N] → [N]."""
    import torch

    count = int(segments.max()) + 1 if len(segments) else 0
    sums = values.new_zeros(count).index_add(0, segments, values)
    sizes = values.new_zeros(count).index_add(0, segments, torch.ones_like(values))
    return (sums / sizes.clamp(min=1))[segments]
