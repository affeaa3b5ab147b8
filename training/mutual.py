"""Mutual information between what a policy reads and what it says: near 0 for one that recites a template.

For N pairs of input x_i and reply z_i, ℓ_ij = log p(z_i | x_j) per token. MI = mean of ℓ_ii − log mean_j e^{ℓ_ij},
at most log N; retrieval is the share of replies whose own input makes them likeliest, 1/N by chance (RAGEN-2,
arXiv 2604.06268). Entropy does not see this: varied replies may ignore what they answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simarena.training.samples import Sample

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def mutual_information(scores: Any) -> dict[str, float]:
    """Metrics of a matrix [N, N] of ℓ_ij: reply i under input j."""
    scores = np.asarray(scores, dtype=float)
    own = np.diagonal(scores)
    marginal = np.logaddexp.reduce(scores, axis=1) - np.log(len(scores))
    information = float((own - marginal).mean())
    return {
        "mutual/information": information,
        "mutual/z": information / (float(marginal.std()) + 1e-3),
        "mutual/retrieval": float((own >= scores.max(axis=1)).mean()),
        "mutual/chance": 1 / len(scores),
    }


def last_turns(batch: Sequence[Sample], count: int) -> list[Sample]:
    """One sample of each of up to `count` episodes, spread over the batch, cut to end with its last turn."""
    rollouts = {sample.rollout: sample for sample in sorted(batch, key=lambda s: s.key) if any(sample.mask)}
    ends = [_cut(sample) for sample in rollouts.values()]
    return ends[:: max(1, len(ends) // count)][:count]


def _cut(sample: Sample) -> Sample:
    turn = max(sample.turns)
    end = max(i for i, t in enumerate(sample.turns) if t == turn) + 1
    return replace(sample, ids=sample.ids[:end], mask=tuple(t == turn for t in sample.turns[:end]))


def cross_scores(model: "PreTrainedModel", ends: Sequence[Sample], budget: int) -> Any:
    """ℓ_ij of every reply under every input, shape [N, N]. Costs N² forward passes of one sample."""
    import torch

    from simarena.training.branches import grow
    from simarena.training.scorer import score

    crossed = [
        _under(reply, reader, f"{i:04}/{j:04}") for i, reply in enumerate(ends) for j, reader in enumerate(ends)
    ]
    found: dict[str, float] = {}
    with torch.no_grad():
        for part, scores in score(model, grow(crossed, budget)):
            for row, key in enumerate(part.keys):
                found[key] = float(scores.logprobs[part.rows == row].mean())
    return [[found[f"{i:04}/{j:04}"] for j in range(len(ends))] for i in range(len(ends))]


def _under(reply: Sample, reader: Sample, key: str) -> Sample:
    """The reply's last turn after what the other had read."""
    said = tuple(i for i, mine in zip(reply.ids, reply.mask, strict=True) if mine)
    read = reader.ids[: reader.mask.index(True)]
    blank, zeros = (False,) * len(read), (0.0,) * (len(read) + len(said))
    return Sample(
        key=key,
        ids=(*read, *said),
        mask=(*blank, *[True] * len(said)),
        advantages=zeros,
        logprobs=zeros,
        versions=(0,) * len(zeros),
        turns=(0,) * len(zeros),
        temperature=reply.temperature,
    )
