"""The host actor by itself, without a cluster: weights that arrive out of order, or before it serves."""

import asyncio
from collections.abc import Mapping
from typing import Any

from simarena.arena.backends.ray import HostActor
from simarena.arena.errors import BusUnavailable
from simarena.arena.specs import EngineSpec


class SlowEngine:
    """Takes the first weights longer than those that follow."""

    policy = "p"

    def __init__(self) -> None:
        self.version = 0
        self.taken: list[int] = []

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        await asyncio.sleep(0.05 if not self.taken else 0)
        self.taken.append(version)
        self.version = version


ENGINE = EngineSpec(engine=f"{__name__}:SlowEngine").model_dump_json()


async def test_a_host_never_goes_back_to_weights_published_before() -> None:
    actor = HostActor("memory://", "r", "policy.p", "0", ENGINE)
    await asyncio.gather(*(actor.update(number, 10 + number, [{}]) for number in (5, 6, 5)))
    assert actor._engine is not None
    assert actor._engine.version == 16


async def test_a_rollback_publishes_a_version_that_is_lower() -> None:
    actor = HostActor("memory://", "r", "policy.p", "0", ENGINE)
    for number, version in enumerate((7, 8, 3), 1):
        await actor.update(number, version, [{}])
    assert actor._engine is not None
    assert actor._engine.version == 3


async def test_weights_may_come_before_a_restarted_host_serves() -> None:
    actor = HostActor("memory://", "r", "policy.p", "0", ENGINE)
    await actor.update(1, 3, [{}])
    assert await actor.ready() is None
    assert actor._engine is not None
    assert actor._engine.version == 3


async def test_a_host_that_cannot_reach_the_bus_says_so_before_it_serves() -> None:
    error = await HostActor("unix:///no/such.sock", "r", "people", "0", "").ready()
    assert isinstance(error, BusUnavailable)
    assert "unix:///no/such.sock" in str(error)
