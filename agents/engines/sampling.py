"""Sampling: one uniform per token, from the request's own counter, through the inverse of the distribution.

Number i of a seed is fixed, whatever else is sampled beside it. Knows no model.
"""

import threading

import numpy as np
import torch
from torch import Tensor


class _Philox(threading.local):
    """A generator for each thread that is set to a seed: making one asks the system for entropy first, which takes
    longer than a few numbers do."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._fresh = self._bits.state

    def raw(self, seed: int, count: int) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        key = np.array([seed & (1 << 64) - 1, 0], dtype=np.uint64)
        self._bits.state = {**self._fresh, "state": {**self._fresh["state"], "key": key}}
        return self._bits.random_raw(count)


_PHILOX = _Philox()


def uniforms(seed: int, count: int) -> list[float]:
    """The first `count` numbers in [0, 1) of this seed: Philox 4x64-10 (Salmon et al. 2011), 32 bits each."""
    numbers: list[float] = ((_PHILOX.raw(seed, count) >> np.uint64(32)) / 2.0**32).tolist()
    return numbers


def sample(logits: Tensor, temperature: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """One id per row, and its log-probability.

    Args:
        logits: [rows, words]
        temperature: [rows]; 0 takes the likeliest id and gives its log-probability at temperature 1.
        uniform: [rows] float64 in [0, 1)

    Returns ids [rows] int64 and log-probs [rows] float32.
    """
    greedy = temperature == 0
    scaled = logits.float() / torch.where(greedy, 1.0, temperature)[:, None]
    cumulative = torch.softmax(scaled, dim=-1).cumsum(dim=-1, dtype=torch.float64)
    # The first id whose cumulative mass exceeds u has positive mass itself, so no impossible id is drawn.
    drawn = torch.searchsorted(cumulative, uniform[:, None] * cumulative[:, -1:], right=True).squeeze(1)
    ids = torch.where(greedy, scaled.argmax(dim=-1), drawn)
    return ids, torch.log_softmax(scaled, dim=-1).gather(1, ids[:, None]).squeeze(1)
