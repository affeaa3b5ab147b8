"""The example of a remote agent, with the conductor's side played by hand."""

import ast
import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from worlds import World

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.messages import Message, Observation, Text, View
from simarena.arena.specs import AgentSpec

EXAMPLE = Path(__file__).parents[3] / "examples" / "remote_agent.py"
RUN, LANE, NAME = "run-1", "remote.parrot", "parrot"
INBOX = wire.replies(RUN, "0")


@contextlib.contextmanager
def _agent(url: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, str(EXAMPLE), url, RUN, NAME])
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def bus(served: World) -> Bus:
    return await served.connect()


async def _replica(bus: Bus) -> str:
    async with asyncio.timeout(30):
        while True:
            (names,) = await bus.get([wire.hosts(RUN, LANE)])
            if names and (await bus.get([wire.heartbeat(RUN, LANE, names)]))[0]:
                return names
            await asyncio.sleep(0.02)


def _request(turn: int, heard: str) -> wire.TurnRequest:
    spec = AgentSpec.of_remote(NAME)
    said = Message(seat="user", kind="speech", parts=(Text(text=heard),), episode="e1", id="1-1")
    own = Message(seat="assistant", kind="speech", parts=(Text(text="before"),), episode="e1", id="1-2")
    seen = Observation(
        episode="e1",
        scenario="s",
        seat="assistant",
        turn=turn,
        seed=7,
        view=View(instructions="Be brief."),
        messages=(said, own) if heard else (),
    )
    return wire.TurnRequest(episode="e1", turn=turn, seat="assistant", reply_to=INBOX, spec=spec, observation=seen)


async def _replies(bus: Bus, count: int) -> list[wire.TurnReply]:
    found: list[wire.TurnReply] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            got = await bus.consume(INBOX, wire.GROUP, "conductor", block=1)
            found += [wire.TurnReply.model_validate_json(d.payload) for d in got]
            await bus.ack(INBOX, wire.GROUP, [d.id for d in got])
    return found


async def test_it_takes_its_turns(served: World, bus: Bus) -> None:
    with _agent(served.url):
        work = wire.work(RUN, LANE, await _replica(bus))
        for turn, heard in enumerate(["", "good morning", "Bye bye"]):
            await bus.push(work, _request(turn, heard).model_dump_json().encode())
        replies = await _replies(bus, 3)
        assert [(r.episode, r.turn, r.seat, r.attempt, r.fault) for r in replies] == [
            ("e1", turn, "assistant", 0, "") for turn in range(3)
        ]
        actions = [reply.action for reply in replies]
        assert [a and (a.text, a.leave) for a in actions] == [
            ("Hello!", False),
            ("You said: good morning", False),
            ("You said: Bye bye", True),
        ]
        async with asyncio.timeout(30):
            while await bus.length(work):
                await asyncio.sleep(0.02)
        assert await bus.pending(work, wire.GROUP, NAME) == []


async def test_its_next_life_finishes_what_it_had_taken(served: World, bus: Bus) -> None:
    work = wire.work(RUN, LANE, NAME)
    for turn in (0, 1):
        await bus.push(work, _request(turn, "hi").model_dump_json().encode())
    await bus.consume(work, wire.GROUP, NAME, count=2)
    with _agent(served.url):
        await bus.push(work, _request(2, "hi").model_dump_json().encode())
        assert [reply.turn for reply in await _replies(bus, 3)] == [0, 1, 2]


async def test_its_sign_of_life_fades(served: World, bus: Bus) -> None:
    with _agent(served.url):
        replica = await _replica(bus)
    left = await served.raw("PTTL", wire.heartbeat(RUN, LANE, replica))
    assert 0 < left <= 3000


def test_it_is_short_and_needs_only_a_redis_client() -> None:
    source = EXAMPLE.read_text()
    assert len(source.splitlines()) < 45
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    imported |= {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert imported - set(sys.stdlib_module_names) == {"redis"}
