"""Where each second goes, and against which limit of the machine: its rate of products, or of reading memory.

Our step and our decoding under torch's profiler. A share that runs at the product rate cannot be made faster
without leaving work out; one that reads memory is bound by the bandwidth.
"""

import tempfile
import time
from collections import defaultdict
from typing import Any

from benchmarks.table import Row, tell

FAMILIES = {
    "products": ("mm", "addmm", "bmm", "baddbmm", "linear"),
    "attention": (
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    "softmax and sampling": ("_softmax", "_log_softmax", "logsumexp", "cumsum", "searchsorted", "exp", "exp_"),
    "copies": ("copy_", "cat", "index", "index_select", "clone", "index_put_", "index_add_", "gather"),
    "optimiser": ("_fused_adamw_", "_foreach_norm", "_foreach_mul_"),
}


def measure() -> list[Row]:
    """Rows of the machine's limits and of what our work reaches of them."""
    products, bandwidth = limits()
    rows = [
        Row("machine, products", products, 0, "GFLOP/s", 0, "", "nothing: 1024 x 576 x 1536 fp32, one thread"),
        Row("machine, memory", bandwidth, 0, "GB/s", 0, "", "nothing: reading 256 MB, one thread"),
    ]
    rows += _shares("step", _step(), products)
    return rows + _shares("decode", _decode(), products)


def limits() -> tuple[float, float]:
    """GFLOP/s of fp32 products of the model's shape, and GB/s of reading memory; one thread."""
    import torch

    torch.set_num_threads(1)
    one, other = torch.randn(1024, 576), torch.randn(576, 1536)
    big = torch.randn(64 * 2**20)

    def best(work: Any) -> float:
        seconds = []
        for _ in range(5):
            began = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - began)
        return min(seconds)

    product = best(lambda: [one @ other for _ in range(20)])
    return 20 * 2 * one.numel() * 1536 / product / 1e9, big.numel() * 4 / best(lambda: big.sum()) / 1e9


def _shares(name: str, found: dict[str, tuple[float, float]], limit: float) -> list[Row]:
    total = sum(seconds for seconds, _ in found.values())
    rows = []
    for family, (seconds, flops) in sorted(found.items(), key=lambda item: -item[1][0]):
        rate = flops / seconds / 1e9 if seconds else 0.0
        note = f"{rate:.0f} GFLOP/s, {100 * rate / limit:.0f} % of the machine's" if flops else ""
        rows.append(Row(f"{name}, {family}", seconds, total, "s", seconds / total, "", "all of it; share", note))
    return rows


def _profiled(work: Any) -> dict[str, tuple[float, float]]:
    """Seconds and floating-point operations by family."""
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile

    threads = _ExperimentalConfig(profile_all_threads=True)  # the engine decodes in one of its own
    with profile(activities=[ProfilerActivity.CPU], with_flops=True, experimental_config=threads) as record:
        work()
    found: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    others: dict[str, float] = {}
    for event in record.key_averages():
        own = event.key.removeprefix("aten::")
        family = next((name for name, members in FAMILIES.items() if own in members), "the rest")
        if family == "the rest":
            others[own] = event.self_cpu_time_total / 1e6
        seconds, flops = found[family]
        found[family] = (seconds + event.self_cpu_time_total / 1e6, flops + (event.flops or 0))
    tell("  " + ", ".join(f"{name} {seconds:.1f} s" for name, (seconds, _) in found.items()))
    most = sorted(others, key=others.__getitem__, reverse=True)[:6]
    tell("  the rest is mostly " + ", ".join(f"{name} {others[name]:.1f} s" for name in most))
    return dict(found)


def _step() -> dict[str, tuple[float, float]]:
    from benchmarks import step

    with tempfile.TemporaryDirectory() as place:
        step.textbook("full", place)  # writes the batch
        work = step.ours("full", place)
        work()
        return _profiled(work)


def _decode() -> dict[str, tuple[float, float]]:
    from benchmarks import rollout

    return _profiled(rollout.ours(32, turns=1))
