"""Precision: the number format a model computes in, and which of them this machine multiplies faster in.

Found by multiplying: instruction flags do not tell, for a processor with bfloat16 instructions may well be slower
in them than in float32. Knows no model and no engine.
"""

import time
from functools import cache
from typing import Literal

import torch

from simarena.arena.errors import UsageError

Dtype = Literal["float32", "bfloat16"]
WORTH = 1.2
"""Times as fast as float32 that bfloat16 must be to be chosen: it costs exactness."""
_ROWS, _WIDTH, _TRIES = 64, 1024, 5


def chosen(dtype: Dtype | Literal["auto"], device: str) -> Dtype:
    """The format asked for, or with `auto` the one that this device is faster in.

    Raises UsageError for a format that the device only emulates, several times slower.
    """
    native = torch.cuda.is_bf16_supported() if device != "cpu" else torch.cpu._is_avx512_bf16_supported()
    if dtype == "auto":
        return "bfloat16" if native and gain(device) >= WORTH else "float32"
    if dtype == "bfloat16" and not native:
        raise UsageError(f"device {device!r} has no native bfloat16: use float32")
    return dtype


@cache
def gain(device: str) -> float:
    """How many times as fast a product of decoding's shape is in bfloat16 as in float32; some milliseconds."""
    return _seconds(torch.float32, device) / _seconds(torch.bfloat16, device)


def _seconds(dtype: torch.dtype, device: str) -> float:
    """The shortest of a few products: what else the machine does can only lengthen one."""
    rows = torch.ones(_ROWS, _WIDTH, dtype=dtype, device=device)
    weight = torch.ones(_WIDTH, _WIDTH, dtype=dtype, device=device)
    taken = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        torch.nn.functional.linear(rows, weight).sum().item()  # the sum waits for a GPU
        taken.append(time.perf_counter() - began)
    return min(taken)
