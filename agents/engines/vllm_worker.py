"""What runs inside vLLM's own process, mixed into its worker: taking new weights, and ending with its owner.

Loaded by vLLM by name. Its packed copies of weights are why this is not a plain `load_weights`: on a CPU every
linear layer is repacked for its kernels, the output layer among them, which stays stale if it is tied to the
embedding. Knows no requests.
"""

import os
import shutil
import signal
import threading
import time
from typing import Any

OWNER = "SIMARENA_VLLM_OWNER"
"""In the environment: the process that this one is to end with, a space, and its folder."""
PATIENCE = 1.0
"""Seconds between two looks at whether the owner lives."""


class Worker:
    """Methods that the engine calls through `collective_rpc`."""

    model_runner: Any

    def simarena_take(self, file: str) -> None:
        """Take all weights from a safetensors file, by the names of the model's state dict."""
        from safetensors.torch import load_file

        self.model_runner.reload_weights(weights_iterator=iter(load_file(file).items()))
        _repack_tied_head(self.model_runner.get_model())


def _repack_tied_head(model: Any) -> None:
    head, embedding = getattr(model, "lm_head", None), getattr(getattr(model, "model", None), "embed_tokens", None)
    head, embedding = (getattr(layer, "base_layer", layer) for layer in (head, embedding))
    if not getattr(model.config, "tie_word_embeddings", False) or head is None or embedding is None:
        return
    head.weight = embedding.weight
    if embedding.weight.device.type == "cpu":
        from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm

        dispatch_cpu_unquantized_gemm(head, remove_weight=False)


def _watch(owner: int, folder: str) -> None:
    """End this process, its parent and `folder` when the owner is gone, however it ended."""
    while _lives(owner):
        time.sleep(PATIENCE)
    shutil.rmtree(folder, ignore_errors=True)
    parent = os.getppid()
    if parent > 1 and parent != owner:  # the engine's core, where the worker is a process of its own
        os.kill(parent, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _lives(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


if OWNER in os.environ:  # at import: a loader that is killed half-way through leaves nobody either
    _owner, _, _folder = os.environ[OWNER].partition(" ")
    threading.Thread(target=_watch, args=(int(_owner), _folder), daemon=True, name="leash").start()
