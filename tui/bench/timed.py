"""A transformers engine with a stopwatch on it: how long was at least one conversation waiting for tokens.

For measuring in process only: the stopwatch is shared by all engines of the process.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from simarena.agents.engines.transformers import TransformersEngine
from simarena.arena.protocols import Completion, GenerateRequest


class Stopwatch:
    """Seconds during which at least one of several overlapping calls was under way."""

    def __init__(self) -> None:
        self._running = 0
        self._since = 0.0
        self._total = 0.0

    @property
    def seconds(self) -> float:
        return self._total + (time.perf_counter() - self._since if self._running else 0.0)

    def __enter__(self) -> None:
        if not self._running:
            self._since = time.perf_counter()
        self._running += 1

    def __exit__(self, *_: object) -> None:
        self._running -= 1
        if not self._running:
            self._total += time.perf_counter() - self._since


BUSY = Stopwatch()


class TimedEngine:
    """An `Engine`; takes the options of the transformers engine."""

    def __init__(self, **options: Any) -> None:
        self._engine = TransformersEngine(**options)
        self.policy = self._engine.policy

    @property
    def version(self) -> int:
        return self._engine.version

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        with BUSY:
            return await self._engine.generate(requests)

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        await self._engine.update_weights(version, weights)
