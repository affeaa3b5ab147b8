"""The crossed engine: a policy as it is and as it was some versions ago, side by side.

For cross-policy sampling (AgentRL, arXiv 2510.04206): requests that ask for the past are answered by the weights
of an earlier version, whose number is in the record, so that training knows what sampled each token. Knows no
share.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simarena.arena.protocols import Completion, GenerateRequest
from simarena.arena.specs import EngineSpec, build_engine
from simarena.arena.together import together


class CrossedEngine:
    """An `Engine` around two of the same kind.

    Args:
        every: the past is the newest version whose number this divides.
        engine: what both are; the other options are theirs.
    """

    def __init__(self, every: int, engine: str, **options: Any) -> None:
        self._every = every
        self._now, self._past = (build_engine(EngineSpec(engine=engine, options=options)) for _ in range(2))
        self.policy = self._now.policy

    @property
    def version(self) -> int:
        return self._now.version

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        answers: dict[int, Completion] = {}

        async def ask(past: bool) -> None:
            mine = [place for place, request in enumerate(requests) if request.past == past]
            engine = self._past if past else self._now
            if mine:
                found = await engine.generate([requests[place] for place in mine])
                answers.update(zip(mine, found, strict=True))

        await together([ask(False), ask(True)])
        return [answers[place] for place in range(len(requests))]

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """The past follows at versions that `every` divides, and stays where it is at others."""
        if version % self._every == 0:
            await self._past.update_weights(version, weights)
        await self._now.update_weights(version, weights)
