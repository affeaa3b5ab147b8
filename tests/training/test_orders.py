"""What a person who watches may ask of a run: pause, resume, stop."""

import asyncio

from simarena.arena import wire
from simarena.arena.bus.memory import MemoryBus, MemoryStore
from simarena.arena.clock import run_virtual
from simarena.training.orders import Orders, heeding


def test_a_paused_run_rests_until_it_is_resumed_or_ended() -> None:
    async def drill() -> None:
        heard: list[wire.RunState] = []
        orders = Orders(asyncio.Event(), heard.append)
        assert await orders.rest() == 0
        orders.take("resume")
        assert heard == []
        orders.take("pause")
        orders.take("pause")
        resting = asyncio.create_task(orders.rest())
        await asyncio.sleep(5)
        assert not resting.done()
        orders.take("resume")
        await asyncio.wait_for(resting, 1)
        assert heard == ["pausing", "paused", "running"]
        orders.take("pause")
        resting = asyncio.create_task(orders.rest())
        await asyncio.sleep(5)
        orders.take("stop")
        await asyncio.wait_for(resting, 1)
        assert orders.stop.is_set()
        orders.take("pause")
        assert heard[3:] == ["pausing", "paused", "stopping"]

    run_virtual(drill())


def test_orders_come_over_the_bus_and_what_strangers_write_is_passed_over() -> None:
    async def drill() -> None:
        store = MemoryStore()
        heard: list[wire.RunState] = []
        stop = asyncio.Event()
        async with heeding(MemoryBus(store), "r", stop, heard.append):
            for payload in (b"\xff", b"{}", b'{"ask": "explode"}', b'{"ask": "stop"}'):
                await MemoryBus(store).push(wire.orders("r"), payload)
            await asyncio.wait_for(stop.wait(), 5)
        assert heard == ["stopping"]

    run_virtual(drill())
