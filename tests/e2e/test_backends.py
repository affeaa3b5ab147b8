"""The same conversations in process and over Ray and Valkey, also when hosts are killed under them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from simarena.arena import Episode, SimulatorArena
from simarena.arena.specs import AgentSpec

NOVICE = {"assistant": AgentSpec(agent="simarena.simulators.scenarios.service_desk.clerk:Clerk")}
DEALS = range(24)


async def play(arena: SimulatorArena, prefix: str = "play") -> list[Episode]:
    episodes = arena.play("service-desk", seats=NOVICE, deals=DEALS, group=2, prefix=prefix)
    return sorted([episode async for episode in episodes], key=lambda episode: episode.id)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def calm() -> list[str]:
    async with SimulatorArena("inproc") as arena:
        return [episode.digest() for episode in await play(arena)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def over_ray() -> AsyncIterator[SimulatorArena]:
    async with SimulatorArena("ray", people=2) as arena:
        yield arena


pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def test_equal_seeds_give_equal_digests_in_both_backends(calm: list[str], over_ray: SimulatorArena) -> None:
    assert [episode.digest() for episode in await play(over_ray)] == calm


async def test_killing_hosts_in_mid_conversation_loses_and_doubles_nothing(
    calm: list[str], over_ray: SimulatorArena
) -> None:
    episodes: list[Episode] = []

    async def watch() -> None:
        stream = over_ray.play("service-desk", seats=NOVICE, deals=DEALS, group=2, concurrency=8)
        async for episode in stream:
            episodes.append(episode)

    watching = asyncio.create_task(watch())
    for replica in ("0", "1", "0"):
        done = len(episodes)
        while len(episodes) < done + 4 and not watching.done():
            await asyncio.sleep(0.01)
        assert not watching.done(), "the drill was too late to hit anything"
        await over_ray.backend.kill("people", replica)
    await watching
    assert [e.digest() for e in sorted(episodes, key=lambda e: e.id)] == calm
