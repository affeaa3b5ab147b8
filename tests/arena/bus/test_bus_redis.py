"""What only a server can do to us: lose replies, refuse, fill up, hang up."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from worlds import World

from simarena.arena.bus import connect, redis
from simarena.arena.bus.address import options
from simarena.arena.bus.redaction import redact
from simarena.arena.bus.server import EmbeddedServer
from simarena.arena.errors import BusError, BusFull, BusUnavailable, UsageError


class Line:
    """A wire to a server that can lose the reply to the next command that holds some bytes."""

    def __init__(self, server: str, folder: Path) -> None:
        self._server = server.removeprefix("unix://")
        self._path = folder / "line.sock"
        self.url = f"unix://{self._path}"
        self.cut_after: bytes | None = None

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Line"]:
        async with await asyncio.start_unix_server(self._serve, self._path):
            yield self

    async def _serve(self, near: asyncio.StreamReader, caller: asyncio.StreamWriter) -> None:
        far, server = await asyncio.open_unix_connection(self._server)
        back = asyncio.create_task(self._carry_back(far, caller))
        while data := await near.read(65536):
            if self.cut_after is not None and self.cut_after in data:
                self.cut_after = None
                back.cancel()
                server.write(data)
                await far.read(65536)
                caller.close()
                break
            server.write(data)
        back.cancel()
        server.close()
        caller.close()

    async def _carry_back(self, far: asyncio.StreamReader, caller: asyncio.StreamWriter) -> None:
        while data := await far.read(65536):
            caller.write(data)


@pytest.fixture
async def line(served: World, tmp_path: Path) -> AsyncIterator[Line]:
    async with Line(served.url, tmp_path).open() as line:
        yield line


async def test_an_append_whose_reply_was_lost_is_one_entry(served: World, line: Line) -> None:
    bus = await World(line.url).connect()
    line.cut_after = b"payload 7"
    await asyncio.gather(*(bus.append("c", f"{n}-0", b"payload %d" % n) for n in range(1, 20)))
    assert line.cut_after is None
    entries = await (await served.connect()).read("c")
    assert [entry.payload for entry in entries] == [b"payload %d" % n for n in range(1, 20)]
    await bus.close()


@pytest.mark.parametrize("asked_for", ["", "?retry_on_timeout=true"])
async def test_a_push_whose_reply_was_lost_is_told_and_never_doubled(line: Line, asked_for: str) -> None:
    bus = await World(line.url + asked_for).connect()
    line.cut_after = b"once"
    with pytest.raises(BusUnavailable):
        await bus.push("w", b"once")
    assert await bus.length("w") == 1
    await bus.push("w", b"next")
    assert [entry.payload for entry in await bus.read("w")] == [b"once", b"next"]
    await bus.close()


async def test_what_was_delivered_into_a_lost_reply_is_pending(served: World, line: Line) -> None:
    bus = await World(line.url).connect()
    await bus.consume("w", "g", "a")
    id = await bus.push("w", b"x")
    line.cut_after = b"XREADGROUP"
    with pytest.raises(BusUnavailable):
        await bus.consume("w", "g", "a")
    assert await bus.consume("w", "g", "a") == []
    assert [(d.id, d.deliveries) for d in await bus.pending("w", "g", "a")] == [(id, 2)]
    await bus.close()


async def test_callers_that_give_up_do_not_shift_the_replies_of_others(served: World) -> None:
    bus = await served.connect()
    await asyncio.gather(*(bus.put(f"k{n}", str(n)) for n in range(300)))
    asked = [asyncio.create_task(bus.get([f"k{n}"])) for n in range(300)]
    for n, task in enumerate(asked):
        if n % 3 == 0:
            task.cancel()
        if n % 50 == 0:
            await asyncio.sleep(0)
    got = await asyncio.gather(*asked, return_exceptions=True)
    assert [answer for n, answer in enumerate(got) if n % 3] == [[str(n)] for n in range(300) if n % 3]
    assert {type(answer) for answer in got[::3]} <= {asyncio.CancelledError, list}


async def test_text_that_cannot_be_sent_fails_alone(served: World) -> None:
    bus = await served.connect()
    outcomes = await asyncio.gather(
        bus.push("w", b"a"), bus.push("\ud800", b"b"), bus.push("w", b"c"), return_exceptions=True
    )
    assert isinstance(outcomes[1], UnicodeEncodeError)
    assert [entry.payload for entry in await bus.read("w")] == [b"a", b"c"]


async def test_a_server_that_hangs_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "PATIENCE", 0.2)
    server = await EmbeddedServer.start()
    bus = await connect(server.url)
    await bus.put("k", "x")
    pid = (await World(server.url).raw("INFO", "server"))["process_id"]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(BusUnavailable, match="in time"):
        await bus.push("w", b"first")
    os.kill(pid, signal.SIGCONT)
    await bus.append("c", "1-0", b"x")
    assert await asyncio.gather(bus.get(["k"]), bus.length("c"), bus.last_id("c")) == [["x"], 1, "1-0"]
    assert await bus.length("w") <= 1
    await bus.close()
    await server.stop()


async def test_many_readers_may_wait_at_once(served: World) -> None:
    bus = await served.connect()
    readers = [asyncio.create_task(bus.read(f"c{n}", block=30)) for n in range(150)]
    await asyncio.sleep(0.3)
    await asyncio.gather(*(bus.append(f"c{n}", "1-0", b"%d" % n) for n in range(150)))
    found = await asyncio.gather(*readers)
    assert [entry.payload for entries in found for entry in entries] == [b"%d" % n for n in range(150)]


async def test_trimmed_entries_leave_the_servers_pending_list(served: World) -> None:
    bus = await served.connect()
    for n in range(299):
        await bus.push("w", b"%d" % n)
    await bus.consume("w", "g", "a", count=299)
    await bus.push("w", b"newest", keep=150)
    assert (await served.raw("XPENDING", "w", "g"))["pending"] == 299
    owed = await bus.pending("w", "g", "a")
    assert (await served.raw("XPENDING", "w", "g"))["pending"] == len(owed) < 299


async def test_hundreds_of_calls_take_a_few_round_trips(served: World) -> None:
    bus = await served.connect()

    async def reads() -> int:
        return (await served.raw("INFO", "stats"))["total_reads_processed"]

    before = await reads()
    ids = await asyncio.gather(*(bus.push("w", b"x") for _ in range(2000)))
    await bus.consume("w", "g", "a", count=2000)
    await asyncio.gather(*(bus.ack("w", "g", [id]) for id in ids))
    assert await reads() - before < 200
    assert await bus.length("w") == 0


async def test_killed_connections_are_told_and_made_again(served: World) -> None:
    bus = await served.connect()
    waiting = asyncio.create_task(bus.consume("w", "g", "a", block=60))
    await asyncio.sleep(0.05)
    await served.raw("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    with pytest.raises(BusUnavailable):
        await waiting
    await bus.append("c", "1-0", b"x")
    await bus.push("w", b"x")
    assert [d.payload for d in await bus.consume("w", "g", "a", block=5)] == [b"x"]


async def test_out_of_memory_is_back_pressure(served: World) -> None:
    bus = await served.connect()
    await bus.push("w", b"x")
    (delivery,) = await bus.consume("w", "g", "a")
    (_, before) = await served.raw("CONFIG", "GET", "maxmemory")
    await served.raw("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(BusFull, match="slow down"):
            await bus.push("w", b"x")
        with pytest.raises(BusFull):
            await bus.append("c", "1-0", b"x")
        # Reading and acknowledging must go on, or the memory never comes free.
        assert await bus.length("w") == 1
        await bus.ack("w", "g", [delivery.id])
    finally:
        await served.raw("CONFIG", "SET", "maxmemory", before)
    await bus.push("w", b"x")
    assert await bus.length("w") == 1


async def test_a_dead_letter_that_finds_no_room_stays_pending(served: World) -> None:
    bus = await served.connect()
    await bus.push("w", b"poison")
    await bus.consume("w", "g", "a")
    (_, before) = await served.raw("CONFIG", "GET", "maxmemory")
    await served.raw("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(BusFull):
            await bus.reclaim("w", "g", "b", idle=0, cap=1, dead="dead")
    finally:
        await served.raw("CONFIG", "SET", "maxmemory", before)
    assert await bus.reclaim("w", "g", "c", idle=0, cap=1, dead="dead") == []
    assert [letter.payload for letter in await bus.read("dead")] == [b"poison"]
    assert await bus.length("w") == 0


async def test_a_server_that_asks_for_a_password(served_url: str) -> None:
    secret = "s3cr/t@x?"
    quoted = "s3cr%2Ft%40x%3F"
    world = World(served_url)
    await world.raw("CONFIG", "SET", "requirepass", secret)
    path = served_url.removeprefix("unix://")
    owner = World(f"unix://:{quoted}@{path}")
    try:
        with pytest.raises(BusUnavailable, match=r"asks for a password.*in the URL.*SIMARENA_REDIS_URL"):
            await connect(served_url)
        with pytest.raises(BusUnavailable, match="refuses this user or password") as wrong:
            await connect(f"unix://someone:wr0ng@{path}")
        assert "wr0ng" not in str(wrong.value)
        bus = await owner.connect()
        await bus.put("k", "x")
        await owner.raw("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert await bus.get(["k"]) == ["x"]
    finally:
        await owner.raw("CONFIG", "SET", "requirepass", "")
        await owner.close()


async def test_an_acl_user_needs_only_its_prefix(served: World) -> None:
    rules = ("on", ">pw", "~sa:*", "+@stream", "+@read", "+@write", "+@connection", "-@dangerous")
    await served.raw("ACL", "SETUSER", "arena", "reset", *rules)
    try:
        bus = await connect(f"unix://arena:pw@{served.url.removeprefix('unix://')}")
        await bus.append("sa:c", "1-0", b"x")
        await bus.push("sa:w", b"x")
        (delivery,) = await bus.consume("sa:w", "g", "a", block=1)
        assert await bus.reclaim("sa:w", "g", "b", idle=0, cap=1, dead="sa:dead") == []
        await bus.ack("sa:w", "g", [delivery.id])
        await bus.put("sa:k", "x", ttl=60)
        await bus.expire(["sa:c"], 60)
        await bus.delete(["sa:k"])
        assert await bus.last_id("sa:c") == "1-0"
        assert [letter.payload for letter in await bus.read("sa:dead")] == [b"x"]
        with pytest.raises(BusUnavailable, match="does not let this user"):
            await bus.put("other:k", "x")
        await bus.close()
    finally:
        await served.raw("ACL", "DELUSER", "arena")


async def test_a_key_of_another_kind_is_a_bus_error(served: World) -> None:
    bus = await served.connect()
    await bus.put("k", "x")
    with pytest.raises(BusError, match="WRONGTYPE"):
        await bus.push("k", b"x")


@pytest.mark.parametrize(
    "url", ["redis://127.0.0.1:1/0", "redis://u:hush@127.0.0.1:1", "unix:///nowhere/bus.sock"]
)
async def test_a_refused_address(url: str) -> None:
    with pytest.raises(BusUnavailable, match=r"no server answers at (redis|unix)://.*the bus `auto`") as refused:
        await connect(url)
    assert "hush" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redis",
        "localhost:6379",
        "http://u:hush@localhost",
        "memory:",
        "redis://localhost:99999",
        "redis://u:hu/sh@localhost",
        "redis://:hush",
        "redis://localhost?no_such_option=1",
        "redis://localhost?socket_timeout=hush",
        "unix://",
    ],
)
async def test_an_address_that_cannot_be_read(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        await connect(url)
    assert "hu" not in str(refused.value).replace("such", "")
    assert "\n" not in str(refused.value)


async def test_options_of_a_url_cannot_unpin_what_the_bus_relies_on(served: World) -> None:
    bus = await connect(f"{served.url}?protocol=3&decode_responses=true&socket_timeout=1")
    await bus.push("w", b"\xff")
    assert [d.payload for d in await bus.consume("w", "g", "a", block=2)] == [b"\xff"]
    assert await bus.consume("w", "g", "a", block=1.2) == []
    await bus.close()


async def test_a_wait_longer_than_a_round_trip(served: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "BLOCK", 0.05)
    bus, other = await served.connect(), await served.connect()
    waiting = asyncio.create_task(bus.consume("w", "g", "a", block=30))
    assert await bus.read("c", block=0.2) == []
    await other.push("w", b"x")
    assert [d.payload for d in await waiting] == [b"x"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("redis://user:hush@host:1/0", "redis://***@host:1/0"),
        ("redis://:hu@sh@host", "redis://***@host"),
        ("redis://:12?34@host/0", "redis://***"),
        ("unix:///tmp/x.sock?db=1", "unix:///tmp/x.sock?db=1"),
        ("unix:///tmp/x.sock?db=1&password=hush", "unix:///tmp/x.sock?***"),
        ("rediss://h?ssl_password=hush", "rediss://h?***"),
    ],
)
def test_redaction(url: str, shown: str) -> None:
    assert redact(url) == shown


def test_a_url_gives_tls_and_its_user() -> None:
    known = options("rediss://user:p%40ss@host:7000/3?ssl_ca_certs=/ca.pem")
    assert (known["username"], known["password"], known["port"], known["db"]) == ("user", "p@ss", 7000, 3)
    assert known["connection_class"].__name__ == "SSLConnection"
    assert known["ssl_ca_certs"] == "/ca.pem"


async def test_a_server_that_goes_away_and_does_not_come_back() -> None:
    server = await EmbeddedServer.start()
    bus = await connect(server.url)
    waiting = asyncio.create_task(bus.consume("w", "g", "a", block=60))
    await asyncio.sleep(0.05)
    await server.stop()
    with pytest.raises(BusUnavailable):
        await waiting
    outcomes = await asyncio.gather(
        bus.push("w", b"x"), bus.append("c", "1-0", b"x"), bus.length("w"), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [BusUnavailable] * 3
    await bus.close()
