"""Time. Everything in the arena waits on the event loop's own clock, so a virtual loop makes time free.

`VirtualLoop` never sleeps: when nothing is ready it jumps to the next timer. A whole run with its timeouts,
heartbeats and delays then takes as long as its computation. Real sockets do not work on it.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jump(selectors.SelectSelector):
    """A selector that advances the loop's clock instead of blocking."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("virtual time stands still: nothing is scheduled and nobody will wake us")
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` starts at 0 and jumps."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a virtual clock."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
