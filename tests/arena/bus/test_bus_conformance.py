"""The contract of `Bus`, method by method, over memory, Valkey and Redis."""

import asyncio
import time

import pytest
from worlds import World

from simarena.arena.bus import PAYLOAD_CAP, Entry
from simarena.arena.bus.entries import position
from simarena.arena.errors import BusUnavailable, EntryConflict, PayloadTooLarge, UsageError

IDLE = 60.0
"""Seconds after which these tests call a consumer silent."""


async def test_append_keeps_order_and_ids(world: World) -> None:
    bus = await world.connect()
    for id in ("0-1", "1-0", "1-1", "10-0"):
        await bus.append("c", id, id.encode())
    assert await bus.read("c") == [Entry(id, id.encode()) for id in ("0-1", "1-0", "1-1", "10-0")]
    assert await bus.length("c") == 4
    assert await bus.last_id("c") == "10-0"


async def test_append_of_the_same_again_is_a_success_once(world: World) -> None:
    bus = await world.connect()
    await bus.append("c", "1-0", b"a")
    await bus.append("c", "2-0", b"b")
    await bus.append("c", "1-0", b"a")
    await bus.append("c", "2-0", b"b")
    assert [entry.payload for entry in await bus.read("c")] == [b"a", b"b"]


@pytest.mark.parametrize(("id", "why"), [("2-0", "different payload"), ("1-5", "too late")])
async def test_append_refuses_a_taken_and_a_late_id(world: World, id: str, why: str) -> None:
    bus = await world.connect()
    await bus.append("c", "1-0", b"a")
    await bus.append("c", "2-0", b"b")
    with pytest.raises(EntryConflict, match=why):
        await bus.append("c", id, b"other")
    assert await bus.length("c") == 2


@pytest.mark.parametrize("id", ["0-0", "7", "x", "1-", "-1", "1-2-3", "*", "٣-1", ""])
async def test_append_refuses_an_id_that_is_none(world: World, id: str) -> None:
    bus = await world.connect()
    with pytest.raises(UsageError, match="turn"):
        await bus.append("c", id, b"a")
    assert await bus.length("c") == 0


async def test_push_chooses_growing_ids_and_survives_any_bytes(world: World) -> None:
    bus = await world.connect()
    payloads = [b"", b"\x00\xff\r\n", "grüße \U0001f600".encode(), b"x" * PAYLOAD_CAP]
    ids = [await bus.push("w", payload) for payload in payloads]
    assert ids == sorted(ids, key=position)
    assert await bus.read("w") == [Entry(id, payload) for id, payload in zip(ids, payloads, strict=True)]


async def test_calls_of_one_tick_keep_their_order(world: World) -> None:
    bus = await world.connect()
    ids = await asyncio.gather(*(bus.push("w", b"%d" % n) for n in range(1000)))
    entries = await bus.read("w", count=1000)
    assert [entry.payload for entry in entries] == [b"%d" % n for n in range(1000)]
    assert [entry.id for entry in entries] == ids


async def test_each_caller_of_a_batch_gets_its_own_outcome(world: World) -> None:
    bus = await world.connect()
    await bus.append("c", "5-0", b"five")
    outcomes = await asyncio.gather(
        bus.push("w", b"a"),
        bus.append("c", "4-0", b"late"),
        bus.append("c", "5-0", b"five"),
        bus.append("c", "6-0", b"six"),
        bus.length("c"),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], str)
    assert isinstance(outcomes[1], EntryConflict)
    assert outcomes[2:] == [None, None, 2]


@pytest.mark.parametrize("size", [PAYLOAD_CAP + 1, 3 * PAYLOAD_CAP])
async def test_a_payload_over_the_cap_is_never_sent(world: World, size: int) -> None:
    bus = await world.connect()
    for attempt in (bus.push("w", b"x" * size), bus.append("c", "1-0", b"x" * size), bus.put("k", "x" * size)):
        with pytest.raises(PayloadTooLarge, match=str(size)):
            await attempt
    assert await bus.length("w") == await bus.length("c") == 0
    assert await bus.get(["k"]) == [None]


async def test_trimming_keeps_about_the_newest(world: World) -> None:
    bus = await world.connect()
    for n in range(1000):
        await bus.push("ev", b"%d" % n, keep=100)
    entries = await bus.read("ev", count=1000)
    assert 100 <= len(entries) < 300
    assert [int(entry.payload) for entry in entries] == list(range(1000 - len(entries), 1000))


async def test_read_pages_through_a_stream(world: World) -> None:
    bus = await world.connect()
    for turn in range(1, 8):
        await bus.append("c", f"{turn}-0", b"%d" % turn)
    seen: list[str] = []
    while page := await bus.read("c", seen[-1] if seen else "0", count=3):
        assert len(page) <= 3
        seen += [entry.id for entry in page]
    assert seen == [f"{turn}-0" for turn in range(1, 8)]
    assert [entry.id for entry in await bus.read("c", "5")] == ["6-0", "7-0"]


async def test_read_of_nothing_waits_and_then_says_so(world: World) -> None:
    bus = await world.connect()
    began = time.monotonic()
    assert await bus.read("none", block=0.1) == []
    assert time.monotonic() - began >= 0.1
    assert await bus.read("none") == []


async def test_a_blocked_read_wakes_for_each_reader(world: World) -> None:
    writer, first, second = [await world.connect() for _ in range(3)]
    readers = [asyncio.create_task(bus.read("c", block=30)) for bus in (first, second)]
    await asyncio.sleep(0.05)
    began = time.monotonic()
    await writer.append("c", "1-0", b"hi")
    assert await asyncio.gather(*readers) == [[Entry("1-0", b"hi")]] * 2
    assert time.monotonic() - began < 10


async def test_a_cancelled_read_ends_at_once_and_does_not_disturb_the_next(world: World) -> None:
    bus = await world.connect()
    for turn in range(1, 20):
        waiting = asyncio.create_task(bus.read("c", f"{turn}-0", block=30))
        await asyncio.sleep(0.001 * (turn % 3))
        waiting.cancel()
        done, _ = await asyncio.wait([waiting], timeout=10)
        assert waiting in done
        await bus.append("c", f"{turn}-0", b"%d" % turn)
        assert await bus.read("c", f"{turn - 1}-0", block=5) == [Entry(f"{turn}-0", b"%d" % turn)]


async def test_last_id_survives_acknowledged_entries(world: World) -> None:
    bus = await world.connect()
    assert await bus.last_id("w") == "0"
    id = await bus.push("w", b"a")
    await bus.consume("w", "g", "a")
    await bus.ack("w", "g", [id])
    assert await bus.length("w") == 0
    assert await bus.last_id("w") == id
    await bus.consume("fresh", "g", "a")
    assert await bus.last_id("fresh") == "0"


async def test_consume_hands_out_what_was_there_before_the_group(world: World) -> None:
    bus = await world.connect()
    await bus.push("w", b"early")
    (delivery,) = await bus.consume("w", "g", "a")
    assert (delivery.payload, delivery.deliveries) == (b"early", 1)
    assert await bus.consume("w", "g", "a") == []
    assert [d.payload for d in await bus.consume("w", "other group", "a")] == [b"early"]


async def test_consumers_share_work_without_duplicates(world: World) -> None:
    producer, *workers = [await world.connect() for _ in range(4)]
    taken: dict[int, list[int]] = {0: [], 1: [], 2: []}

    async def work(n: int) -> None:
        while got := await workers[n].consume("w", "g", f"worker {n}", count=7, block=0.3):
            taken[n] += [int(d.payload) for d in got]
            await workers[n].ack("w", "g", [d.id for d in got])

    async def produce() -> None:
        for start in range(0, 300, 30):
            await asyncio.gather(*(producer.push("w", b"%d" % n) for n in range(start, start + 30)))
            await asyncio.sleep(0)

    await asyncio.gather(produce(), *(work(n) for n in taken))
    assert sorted(n for numbers in taken.values() for n in numbers) == list(range(300))
    assert all(numbers == sorted(numbers) for numbers in taken.values())
    assert await producer.length("w") == 0


async def test_a_blocked_consumer_wakes(world: World) -> None:
    producer, worker = await world.connect(), await world.connect()
    waiting = asyncio.create_task(worker.consume("w", "g", "a", block=30))
    await asyncio.sleep(0.05)
    began = time.monotonic()
    await producer.push("w", b"go")
    assert [d.payload for d in await waiting] == [b"go"]
    assert time.monotonic() - began < 10


async def test_a_cancelled_consume_loses_nothing(world: World) -> None:
    producer, worker = await world.connect(), await world.connect()
    taken: list[int] = []
    for n in range(40):
        waiting = asyncio.create_task(worker.consume("w", "g", "a", block=1))
        await asyncio.sleep(0.001 * (n % 4))
        sending = asyncio.create_task(producer.push("w", b"%d" % n))
        await asyncio.sleep(0.0005 * (n % 3))
        waiting.cancel()
        (result,) = await asyncio.gather(waiting, return_exceptions=True)
        taken += [] if isinstance(result, asyncio.CancelledError) else [int(d.payload) for d in result]
        await sending
    while got := await worker.consume("w", "g", "a", block=0.2):
        taken += [int(d.payload) for d in got]
    assert taken == list(range(40))


async def test_groups_come_back_after_a_flush(world: World) -> None:
    bus = await world.connect()
    await bus.push("w", b"lost")
    await bus.consume("w", "g", "a")
    await world.flush()
    assert await bus.pending("w", "g", "a") == []
    await world.flush()
    assert await bus.reclaim("w", "g", "b", idle=0, cap=3, dead="dead") == []
    await world.flush()
    await bus.push("w", b"new")
    assert [d.payload for d in await bus.consume("w", "g", "a")] == [b"new"]


async def test_a_blocked_consumer_survives_a_flush(world: World) -> None:
    producer, worker = await world.connect(), await world.connect()
    await worker.consume("w", "g", "a")
    waiting = asyncio.create_task(worker.consume("w", "g", "a", block=30))
    await asyncio.sleep(0.05)
    await world.flush()
    await producer.push("w", b"after")
    assert [d.payload for d in await waiting] == [b"after"]


async def test_pending_after_a_restart(world: World) -> None:
    before = await world.connect()
    for n in range(250):
        await before.push("w", b"%d" % n)
    first = await before.consume("w", "g", "a", count=150)
    others = await before.consume("w", "g", "b", count=100)
    await before.ack("w", "g", [d.id for d in first[:10]])
    after = await world.connect()
    again = await after.pending("w", "g", "a")
    assert [(d.id, d.payload) for d in again] == [(d.id, d.payload) for d in first[10:]]
    assert {d.deliveries for d in again} == {2}
    assert [d.id for d in await after.pending("w", "g", "b")] == [d.id for d in others]


async def test_ack_removes_from_the_pending_list_and_the_stream(world: World) -> None:
    bus = await world.connect()
    for n in range(3):
        await bus.push("w", b"%d" % n)
    got = await bus.consume("w", "g", "a")
    await bus.ack("w", "g", [got[0].id, got[2].id])
    await bus.ack("w", "g", [got[0].id])
    await bus.ack("w", "g", [])
    await bus.ack("no such stream", "g", ["1-1"])
    assert [d.id for d in await bus.pending("w", "g", "a")] == [got[1].id]
    assert [entry.id for entry in await bus.read("w")] == [got[1].id]
    assert await bus.length("no such stream") == 0


async def test_reclaim_takes_only_what_others_left_long_enough(world: World) -> None:
    bus = await world.connect()
    for n in range(4):
        await bus.push("w", b"%d" % n)
    (mine,) = await bus.consume("w", "g", "me", count=1)
    await bus.consume("w", "g", "silent", count=2)
    assert await bus.reclaim("w", "g", "me", idle=IDLE, cap=5, dead="dead") == []
    await world.age("w", "g", 2 * IDLE)
    (fresh,) = await bus.consume("w", "g", "busy", count=1)
    got = await bus.reclaim("w", "g", "me", idle=IDLE, cap=5, dead="dead")
    assert [(d.payload, d.deliveries) for d in got] == [(b"1", 2), (b"2", 2)]
    assert [d.id for d in await bus.pending("w", "g", "me")] == [mine.id, *(d.id for d in got)]
    assert await bus.pending("w", "g", "silent") == []
    assert [d.id for d in await bus.pending("w", "g", "busy")] == [fresh.id]
    assert await bus.length("dead") == 0


async def test_two_that_reclaim_share_without_duplicates(world: World) -> None:
    first, second = await world.connect(), await world.connect()
    await asyncio.gather(*(first.push("w", b"%d" % n) for n in range(250)))
    await first.consume("w", "g", "dead host", count=250)
    await world.age("w", "g", IDLE)
    lots = await asyncio.gather(
        first.reclaim("w", "g", "a", idle=IDLE, cap=5, dead="dead"),
        second.reclaim("w", "g", "b", idle=IDLE, cap=5, dead="dead"),
    )
    assert sorted(int(d.payload) for lot in lots for d in lot) == list(range(250))


async def test_an_entry_that_kills_its_hosts_becomes_a_dead_letter(world: World) -> None:
    bus = await world.connect()
    poison = await bus.push("w", b"poison")
    await bus.consume("w", "g", "host 0")
    for host in (1, 2):
        await world.age("w", "g", IDLE)
        (again,) = await bus.reclaim("w", "g", f"host {host}", idle=IDLE, cap=3, dead="dead")
        assert again.deliveries == host + 1
    await world.age("w", "g", IDLE)
    assert await bus.reclaim("w", "g", "host 3", idle=IDLE, cap=3, dead="dead") == []
    (letter,) = await bus.read("dead")
    assert letter.payload == b"poison"
    assert letter.reason == f"entry {poison} of w was delivered 3 times and never acknowledged"
    assert await bus.length("w") == 0
    assert await bus.pending("w", "g", "host 3") == []


async def test_trimmed_entries_are_owed_to_nobody(world: World) -> None:
    bus = await world.connect()
    for n in range(399):
        await bus.push("w", b"%d" % n)
    first = await bus.consume("w", "g", "a", count=200)
    second = await bus.consume("w", "g", "b", count=199)
    await bus.push("w", b"newest", keep=250)
    alive = {entry.id for entry in await bus.read("w", count=1000)}
    assert 250 <= len(alive) < 350
    assert [d.id for d in await bus.pending("w", "g", "a")] == [d.id for d in first if d.id in alive]
    reclaimed = await bus.reclaim("w", "g", "c", idle=0, cap=9, dead="dead")
    assert [d.id for d in reclaimed] == [d.id for d in (*first, *second) if d.id in alive]
    assert await bus.length("dead") == 0


async def test_keys_are_put_and_got(world: World) -> None:
    bus = await world.connect()
    await bus.put("a", "1")
    await bus.put("b", "zwei ü")
    await bus.put("a", "one")
    assert await bus.get(["a", "none", "b", "a"]) == ["one", None, "zwei ü", "one"]
    assert await bus.get([]) == []
    await bus.delete(["a", "none"])
    await bus.delete([])
    assert await bus.get(["a", "b"]) == [None, "zwei ü"]


async def test_keys_expire_and_a_put_renews_them(world: World) -> None:
    bus = await world.connect()
    await bus.put("short", "x", ttl=0.5)
    await bus.put("renewed", "x", ttl=0.5)
    await bus.put("renewed", "x", ttl=60)
    await bus.put("lasting", "x", ttl=0.5)
    await bus.put("lasting", "x")
    assert await bus.get(["short"]) == ["x"]
    await asyncio.sleep(0.6)
    assert await bus.get(["short", "renewed", "lasting"]) == [None, "x", "x"]


async def test_streams_expire_with_their_groups(world: World) -> None:
    bus = await world.connect()
    await bus.append("c", "5-0", b"x")
    await bus.push("w", b"x")
    await bus.consume("w", "g", "a")
    await bus.put("k", "x")
    await bus.expire(["c", "w", "k", "none"], 0.5)
    await bus.expire([], 1)
    assert await bus.length("c") == 1
    await asyncio.sleep(0.6)
    assert (await bus.length("c"), await bus.last_id("c"), await bus.get(["k"])) == (0, "0", [None])
    assert await bus.pending("w", "g", "a") == []
    await bus.append("c", "1-0", b"again from the start")


async def test_a_deleted_stream_starts_anew(world: World) -> None:
    bus = await world.connect()
    await bus.append("c", "9-0", b"x")
    await bus.delete(["c"])
    assert await bus.read("c") == []
    await bus.append("c", "1-0", b"y")
    assert await bus.read("c") == [Entry("1-0", b"y")]


async def test_a_closed_connection_says_so_and_others_go_on(world: World) -> None:
    closed, other = await world.connect(), await world.connect()
    waiting = [
        asyncio.create_task(closed.read("c", block=30)),
        asyncio.create_task(closed.consume("w", "g", "a", block=30)),
    ]
    await asyncio.sleep(0.05)
    await closed.close()
    await closed.close()
    done, _ = await asyncio.wait(waiting, timeout=10)
    assert [type(task.exception()) for task in waiting if task in done] == [BusUnavailable] * 2
    for attempt in (closed.push("w", b"x"), closed.get(["k"]), closed.read("c"), closed.ack("w", "g", ["1-1"])):
        with pytest.raises(BusUnavailable, match="closed"):
            await attempt
    await other.push("w", b"x")
    assert await other.length("w") == 1


async def test_its_url_reaches_the_same_bus(served: World) -> None:
    bus = await served.connect()
    await World(bus.url).raw("XADD", "w", "*", "d", "from afar")
    assert [entry.payload for entry in await bus.read("w")] == [b"from afar"]


async def test_a_strangers_entry_without_payload_is_empty(served: World) -> None:
    bus = await served.connect()
    await served.raw("XADD", "w", "1-1", "other", "x")
    assert [d.payload for d in await bus.consume("w", "g", "a")] == [b""]
    assert [d.payload for d in await bus.pending("w", "g", "a")] == [b""]
