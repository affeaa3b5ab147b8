"""Presence: a viewer finds a run that goes on, learns when it closed, and when it went without a word."""

import asyncio

from toys import Counting

from simarena.arena import wire
from simarena.arena.arena import SimulatorArena
from simarena.arena.bus.memory import MemoryBus, MemoryStore
from simarena.arena.clock import run_virtual
from simarena.arena.faults import Faults
from simarena.arena.lanes import GRACE
from simarena.arena.post import KEPT_SECONDS
from simarena.arena.presence import Presence, going_on, sign_of


def test_a_run_is_found_while_it_goes_on_and_says_when_it_is_over() -> None:
    async def drill() -> None:
        store = MemoryStore()
        viewer = MemoryBus(store)
        one, two = Presence(MemoryBus(store), "one"), Presence(MemoryBus(store), "two")
        await one.start()
        await asyncio.sleep(1)
        await two.start()
        await asyncio.sleep(1)
        assert {told.run for told in await going_on(viewer)} == {"one", "two"}
        await two.stop()
        assert [told.run for told in await going_on(viewer)] == ["one"]
        assert await sign_of(viewer, "two") == "closed"
        await asyncio.sleep(KEPT_SECONDS + 1)
        assert (await sign_of(viewer, "one"), await sign_of(viewer, "two")) == ("open", None)

    run_virtual(drill())


def test_a_run_that_is_killed_gives_no_sign_after_a_while() -> None:
    async def drill() -> None:
        store = MemoryStore()
        viewer, run = MemoryBus(store), Presence(MemoryBus(store), "one")
        await run.start()
        await asyncio.sleep(1)
        assert run._task is not None
        run._task.cancel()
        await asyncio.sleep(GRACE)
        assert await sign_of(viewer, "one") is None
        assert await going_on(viewer) == []

    run_virtual(drill())


def test_strange_announcements_are_passed_over() -> None:
    async def drill() -> None:
        bus = MemoryBus()
        await bus.push(wire.runs(), b"nonsense")
        assert await going_on(bus) == []

    run_virtual(drill())


def test_an_arena_announces_itself_also_over_a_bus_that_refuses() -> None:
    async def drill() -> tuple[str | None, int]:
        async with SimulatorArena(run="r", faults=Faults(seed=3, refuse=0.3)) as arena:
            played = [episode async for episode in arena.play(Counting(), deals=range(2))]
            return await sign_of(arena.bus, "r"), len(played)

    assert run_virtual(drill()) == ("open", 2)
