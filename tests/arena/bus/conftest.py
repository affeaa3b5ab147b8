"""The same bus three ways: in memory, on Valkey from the wheel, and on Debian's redis-server."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from worlds import World

from simarena.arena.bus.server import EmbeddedServer


@pytest.fixture(scope="session")
def redis_binary() -> Path:
    """Debian's redis-server; CI must have it."""
    found = shutil.which("redis-server")
    if found is None:
        why = "redis-server is not on PATH: run `apt-get install redis-server`"
        pytest.fail(why) if "CI" in os.environ else pytest.skip(why)
    return Path(found)


def _serve(binary: Path | None) -> Iterator[str]:
    server = asyncio.run(EmbeddedServer.start(binary))
    yield server.url
    asyncio.run(server.stop())


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    yield from _serve(None)


@pytest.fixture(scope="session")
def redis_url(redis_binary: Path) -> Iterator[str]:
    yield from _serve(redis_binary)


@pytest.fixture(params=["memory", "valkey", "redis"])
def world_url(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return "memory://" if kind == "memory" else request.getfixturevalue(f"{kind}_url")


@pytest.fixture(params=["valkey", "redis"])
def served_url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(f"{request.param}_url")


async def _fresh(url: str) -> AsyncIterator[World]:
    world = World(url)
    await world.flush()
    yield world
    await world.close()


@pytest.fixture
async def world(world_url: str) -> AsyncIterator[World]:
    async for world in _fresh(world_url):
        yield world


@pytest.fixture
async def served(served_url: str) -> AsyncIterator[World]:
    """A world with a server, for what only a server can do."""
    async for world in _fresh(served_url):
        yield world
