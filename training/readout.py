"""The readout: from logits to what a loss wants of them, log-prob of the sampled id and entropy.

Keeps one copy of the logits for the backward pass and nothing else of their size; plain autograd keeps four.
"""

from typing import Any

import torch
from torch import Tensor


class Readout(torch.autograd.Function):
    """[N, vocabulary] logits, [N] ids → [N] log-probs and [N] entropies in nats, float32.

    With p = softmax(z): ∂ log p_i / ∂z = 1_i − p and ∂H/∂z = −p (log p + H).
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        total = logits.logsumexp(-1)
        probabilities = (logits - total[:, None]).exp_()
        entropy = total - torch.linalg.vecdot(probabilities, logits)
        ctx.save_for_backward(logits, ids, total, entropy)
        ctx.set_materialize_grads(False)
        return logits.gather(1, ids[:, None])[:, 0] - total, entropy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor, None]:
        logits, ids, total, entropy = ctx.saved_tensors
        of_logprob, of_entropy = gradients
        grad: Tensor = logits - total[:, None]
        if of_entropy is None:
            grad.exp_()
        else:
            probabilities = grad.exp()
            grad.add_(entropy[:, None]).mul_(of_entropy[:, None])
            grad = (grad if of_logprob is None else grad.add_(of_logprob[:, None])).mul_(probabilities)
        if of_logprob is None:
            return grad.neg_(), None
        if of_entropy is None:
            grad.mul_(of_logprob[:, None])
        return grad.neg_().scatter_add_(1, ids[:, None], of_logprob[:, None]), None


def readout(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Log-prob of each id and entropy of its distribution; shapes and formulas as in `Readout`."""
    read: tuple[Tensor, Tensor] = Readout.apply(logits, ids)  # type: ignore[no-untyped-call]
    return read
