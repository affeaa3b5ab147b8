"""A side: one way of doing the work, in a process of its own that is asked for one repetition at a time.

Sides take turns, so that a machine whose speed drifts is unfair to nobody; each has its own peak of memory.
Getting ready is never timed.
"""

import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simarena.tui.bench.figure import peak_bytes

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "HF_HUB_OFFLINE": "1",
}
Work = Callable[[], dict[str, Any]]
"""One repetition; returns facts to compare, such as the loss."""


@dataclass(frozen=True)
class Done:
    """What one repetition took."""

    cpu: float
    """Seconds of processor time, of all threads."""
    wall: float
    peak: float
    """GiB: the most this process has held so far."""
    facts: dict[str, Any]


class Side:
    """Starts `module.function(**options)`, which prepares and returns the work, in a process of its own."""

    def __init__(self, name: str, function: str, **options: Any) -> None:
        self.name = name
        self.taken: list[Done] = []
        code = f"from benchmarks.side import answer; answer({function!r}, {options!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ENVIRONMENT},
            text=True,
        )

        self._ready = False

    def ready(self) -> None:
        """Wait until it is. Raises RuntimeError if the side failed; its own words are on stderr."""
        if not self._ready:
            self._line()
            self._ready = True

    def once(self) -> Done:
        """One repetition, kept in `taken`. Raises as `ready` does."""
        self.ready()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        self.taken.append(Done(**json.loads(self._line())))
        return self.taken[-1]

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the side {self.name!r} ended with exit code {self._process.wait()}")
        return line

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cpu(self) -> float:
        """The least CPU seconds of a repetition: other people's work can only add to it."""
        return min(done.cpu for done in self.taken)

    @property
    def wall(self) -> float:
        return min(done.wall for done in self.taken)

    @property
    def peak(self) -> float:
        return max(done.peak for done in self.taken)

    @property
    def facts(self) -> dict[str, Any]:
        """Of the newest repetition."""
        return self.taken[-1].facts


def answer(function: str, options: dict[str, Any]) -> None:
    """The child: prepare, then do the work once for every line on stdin. Stdout carries the answers only."""
    out, sys.stdout = sys.stdout, sys.stderr
    module, _, name = function.rpartition(".")
    with contextlib.redirect_stdout(io.StringIO()):
        work: Work = getattr(importlib.import_module(module), name)(**options)
    print("ready", file=out, flush=True)
    for _ in sys.stdin:
        began, worked = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            facts = work()
        done = Done(
            cpu=time.process_time() - worked,
            wall=time.perf_counter() - began,
            peak=peak_bytes() / 2**30,
            facts=facts,
        )
        _give_back()
        print(json.dumps(done.__dict__), file=out, flush=True)


def _give_back() -> None:
    """Freed memory goes back to the system, so that the other sides have it while they work; not timed."""
    gc.collect()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def in_turns(sides: list[Side], times: int) -> None:
    """Every side `times` times, one after the other; the order turns round each time."""
    for side in sides:
        side.ready()
    for number in range(times):
        for side in sides if number % 2 == 0 else sides[::-1]:
            done = side.once()
            print(
                f"  {side.name:<28} {done.cpu:7.1f} CPU s {done.wall:7.1f} s {done.peak:5.1f} GiB", file=sys.stderr
            )
