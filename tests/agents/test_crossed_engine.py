"""The crossed engine: who answers which request, and when the past follows."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from toys import Counting

from simarena.agents.engines.crossed import CrossedEngine
from simarena.agents.policy import PolicyAgent
from simarena.arena.messages import Observation, View
from simarena.arena.protocols import Completion, GenerateRequest


class Stamp:
    """An engine that answers with its version."""

    def __init__(self, policy: str) -> None:
        self.policy, self.version = policy, 0

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        return [Completion(text=f"{request.key} {self.version}") for request in requests]

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        self.version = version


def request(key: str, past: bool) -> GenerateRequest:
    return GenerateRequest(key=key, chat=(), seed=0, past=past)


async def test_requests_of_the_past_are_answered_by_the_version_that_every_divides() -> None:
    engine = CrossedEngine(every=3, engine=f"{__name__}:Stamp", policy="p")
    asked = [request("a", False), request("b", True), request("c", True), request("d", False)]
    told = []
    for version in range(1, 8):
        await engine.update_weights(version, {})
        told.append([one.text for one in await engine.generate(asked)])
        assert engine.version == version
    assert told[1] == ["a 2", "b 0", "c 0", "d 2"]
    assert told[2] == ["a 3", "b 3", "c 3", "d 3"]
    assert told[6] == ["a 7", "b 6", "c 6", "d 7"]


async def test_an_engine_that_is_resumed_has_the_past_it_was_given() -> None:
    engine = CrossedEngine(every=5, engine=f"{__name__}:Stamp", policy="p")
    for version in (10, 13):
        await engine.update_weights(version, {})
    assert [one.text for one in await engine.generate([request("a", True), request("b", False)])] == [
        "a 10",
        "b 13",
    ]


class Heard:
    """Notes what it is asked."""

    policy, version = "p", 0

    def __init__(self) -> None:
        self.past: list[bool] = []

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        self.past += [request.past for request in requests]
        return [Completion(text="1") for _ in requests]

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        raise AssertionError("an agent never does this")


@pytest.mark.parametrize("share", [0.0, 0.25, 0.75])
async def test_a_share_of_the_turns_is_asked_of_the_past_and_always_the_same_ones(share: float) -> None:
    seen = [
        Observation(episode="e", scenario=Counting.name, seat="a", turn=turn, seed=seed, view=View(), max_tokens=4)
        for seed in range(40)
        for turn in range(10)
    ]
    asked = []
    for _ in range(2):
        engine = Heard()
        agent = PolicyAgent(engine, past=share)
        for one in seen:
            await agent.act(one)
        asked.append(engine.past)
    assert asked[0] == asked[1]
    assert sum(asked[0]) / len(seen) == pytest.approx(share, abs=0.08)
