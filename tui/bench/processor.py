"""What a process got of the machine: seconds a core worked for it, and seconds it was ready and got none.

With both a figure taken on a busy machine can be judged. Linux tells them; elsewhere the waiting is unknown, 0.
"""

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Share:
    """Of one thread, since it began; the difference of two is what lies between them."""

    passed: float
    """Seconds on the clock."""
    worked: float
    waited: float
    """Seconds ready to run, while all cores were busy with others."""

    @classmethod
    def now(cls) -> "Share":
        """Of the calling thread."""
        try:
            waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            waited = 0.0
        return cls(time.perf_counter(), time.thread_time(), waited)

    def __sub__(self, earlier: "Share") -> "Share":
        return Share(
            self.passed - earlier.passed, self.worked - earlier.worked, max(0.0, self.waited - earlier.waited)
        )

    @property
    def own(self) -> float:
        """Seconds it would have taken had a core always been free for it."""
        return max(0.0, self.passed - self.waited)
