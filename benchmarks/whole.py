"""A whole training step at the service desk, and the way from the start of the process to its end.

4 deals x 8 conversations x 4 turns of up to 32 tokens. Both sides are what a user writes and runs:
`service_desk.toml` and `trl_service_desk.py`, each in a fresh process, with a stopwatch around the step.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import model
from benchmarks.side import ENVIRONMENT
from benchmarks.table import Row, tell
from simarena.tui.bench.figure import peak_bytes

HERE = Path(__file__).parent
RECIPE, SCRIPT = HERE / "service_desk.toml", HERE / "trl_service_desk.py"


def compare() -> list[Row]:
    """Rows of the whole step, of the start, of memory and of the lines a user writes."""
    ours, trl = _run("ours"), _run("trl")
    lines = {path: _lines(path) for path in (RECIPE, SCRIPT)}
    per = [one["step_cpu"] / one["tokens"] * 1000 for one in (ours, trl)]
    note = f"{ours['tokens']:.0f} and {trl['tokens']:.0f} tokens sampled; wall {ours['step_wall']:.0f} and "
    note += f"{trl['step_wall']:.0f} s; CPU s {ours['step_cpu']:.0f} and {trl['step_cpu']:.0f}"
    start = f"first evaluation and checkpoint among ours; wall {ours['wall']:.0f} and {trl['wall']:.0f} s"
    way = "TRL GRPOTrainer with a rollout function"
    return [
        Row("whole step", per[0], per[1], "CPU ms/token", per[1] / per[0], ">= 2.2", way, note),
        Row(
            "start to first step", ours["cpu"], trl["cpu"], "CPU s", ours["cpu"] / trl["cpu"], "<= 0.5", way, start
        ),
        Row("whole step, memory", ours["peak"], trl["peak"], "GiB at peak", ours["peak"] / trl["peak"], "", way),
        Row("code", lines[RECIPE], lines[SCRIPT], "lines", lines[RECIPE], "<= 25", SCRIPT.name, "ratio: ours"),
    ]


def _lines(path: Path) -> int:
    """Lines that are neither blank, nor a comment, nor the header."""
    text = path.read_text(encoding="utf-8").split('"""')[-1]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines())


def _run(side: str) -> dict[str, float]:
    code = f"from benchmarks.whole import {side}; {side}({time.time()!r})"
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **ENVIRONMENT, "BENCH_PLACE": place},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    facts: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    tell(f"  {side:<28} {facts['step_cpu']:7.1f} CPU s {facts['step_wall']:7.1f} s {facts['peak']:5.1f} GiB")
    return facts


class _Watch:
    """The stopwatch around a step."""

    def __init__(self, began: float) -> None:
        self._process = began
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self, tokens: float) -> None:
        """Say what it took, and end the process: what comes after the step is not its affair."""
        facts = {
            "step_cpu": time.process_time() - self._cpu,
            "step_wall": time.perf_counter() - self._wall,
            "cpu": time.process_time(),
            "wall": time.time() - self._process,
            "peak": peak_bytes() / 2**30,
            "tokens": tokens,
        }
        print(f"\n{json.dumps(facts)}", flush=True)
        os._exit(0)


def ours(began: float) -> None:
    """`simarena train service_desk.toml`."""
    from simarena.training.run import Run
    from simarena.tui.main import main

    step = Run._train_step

    async def timed(self: Run) -> None:
        watch = _Watch(began)
        await step(self)
        watch.stop(self._rows[-1]["tokens/sampled"])

    Run._train_step = timed  # type: ignore[method-assign]
    out = str(Path(os.environ["BENCH_PLACE"]) / "run")
    main(["train", str(RECIPE), "--out", out, "--model", str(model.folder())])


def trl(began: float) -> None:
    """`python trl_service_desk.py`."""
    import runpy

    from trl import GRPOTrainer

    train = GRPOTrainer.train

    def timed(self: Any, *arguments: Any, **named: Any) -> None:
        watch = _Watch(began)
        train(self, *arguments, **named)
        told = next(row for row in self.state.log_history if "completions/mean_length" in row)
        watch.stop(32 * told["completions/mean_length"])

    GRPOTrainer.train = timed
    runpy.run_path(str(SCRIPT), run_name="__main__")
