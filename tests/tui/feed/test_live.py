"""A live run: followed over its bus without a group, in memory and on a real server that goes away."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from toys import Counting

from simarena.arena import wire
from simarena.arena.arena import SimulatorArena
from simarena.arena.bus import connect
from simarena.arena.bus.memory import MemoryBus, MemoryStore
from simarena.arena.bus.server import EmbeddedServer
from simarena.arena.clock import run_virtual
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.post import KEPT_POINTERS, KEPT_SECONDS
from simarena.arena.presence import Presence
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec
from simarena.training.bulletin import bulletin
from simarena.tui.feed.live import Live
from simarena.tui.feed.opening import started
from simarena.tui.feed.recorded import Recorded

SLOW = {"a": AgentSpec(agent="toys:Counter", options={"delay": 5.0})}


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


def beside(arena: SimulatorArena) -> MemoryBus:
    """Another connection to the arena's memory bus."""
    assert isinstance(arena.bus, MemoryBus)
    return MemoryBus(arena.bus._store)


def test_a_conversation_is_seen_while_it_goes_on_and_after() -> None:
    async def drill() -> None:
        async with SimulatorArena(run="r") as arena:
            live = Live(beside(arena), "r")
            await live.start()
            playing = asyncio.create_task(_collect(arena, seats=SLOW))
            await asyncio.sleep(7)
            (row,) = live.conversations
            assert (row.key, row.state, row.turn, row.scenario) == ("play/3/0", "running", 2, "counting")
            assert row.returns == {"a": 1.0, "b": 1.0}
            opened = await live.open(row.key)
            assert [line.kind for line in opened.lines[:3]] == ["notice", "thought", "thought"]
            assert opened.turns[1, "a"].reward == 1.0
            before = len(opened.lines)
            (episode,) = await playing
            await asyncio.sleep(0.1)
            opened = await live.open(row.key)
            assert len(opened.lines) == len(episode.messages) > before
            assert (opened.row.state, opened.row.success, opened.checks) == ("ended", True, {"counted": True})
            facts = [opened.turns[turn.index, turn.seat].reward for turn in episode.turns]
            assert facts == [1.0, 1.0, 1.0, 1.0]
            assert live.status().dropped == 0
            with pytest.raises(UnknownName):
                await live.open("nobody")
            with pytest.raises(UsageError, match="credit is in the run folder"):
                await live.why(row.key)
            await live.close()

    run_virtual(drill())


async def _collect(arena: SimulatorArena, **how: object) -> list[object]:
    return [episode async for episode in arena.play(Counting(), deals=[3], **how)]  # type: ignore[arg-type]


def test_who_comes_late_sees_what_goes_on() -> None:
    async def drill() -> None:
        async with SimulatorArena(run="r") as arena:
            playing = asyncio.create_task(_collect(arena, seats=SLOW))
            await asyncio.sleep(7)
            live = Live(beside(arena), "r")
            await live.start()
            (row,) = live.conversations
            assert (row.turn, row.scenario, row.labels) == (2, "counting", {"parity": row.labels["parity"]})
            assert (await live.open(row.key)).lines[0].kind == "notice"
            await playing
            await live.close()

    run_virtual(drill())


def pointer(number: int, episode: str, **more: object) -> bytes:
    fields = {"episode": episode, "number": number, "turn": 1, "updated": time.time(), **more}
    return wire.Pointer(**fields).model_dump_json(exclude_defaults=True).encode()  # type: ignore[arg-type]


def test_what_was_trimmed_is_counted_as_dropped_and_rows_recover() -> None:
    async def drill() -> None:
        store = MemoryStore()
        bus = MemoryBus(store)
        presence = Presence(MemoryBus(store), "r")
        await presence.start()
        await bus.push(wire.pointers("r"), pointer(1, "old"))
        await bus.push(wire.pointers("r"), pointer(2, "stuck", updated=time.time() - 2 * KEPT_SECONDS))
        live = Live(MemoryBus(store), "r")
        await live.start()
        for number in range(3, KEPT_POINTERS + 500):  # in one tick: the viewer had no time to look
            await bus.push(wire.pointers("r"), pointer(number, "old", turn=number), keep=KEPT_POINTERS)
        await asyncio.sleep(1.5)
        assert live.status().dropped == 497
        old, stuck = live.conversations.get("old"), live.conversations.get("stuck")
        assert old is not None
        assert stuck is not None
        assert (old.turn, old.state) == (KEPT_POINTERS + 499, "running")
        assert stuck.state == "lost", "its end was among what was dropped, and its stream is gone"
        await presence.stop()
        await live.close()

    run_virtual(drill())


@pytest.mark.parametrize(("clean", "how"), [(True, "ended"), (False, "lost")])
def test_the_end_of_a_run_is_noticed(clean: bool, how: str) -> None:
    async def drill() -> None:
        store = MemoryStore()
        presence = Presence(MemoryBus(store), "r")
        await presence.start()
        await MemoryBus(store).push(wire.pointers("r"), pointer(1, "a"))
        live = Live(MemoryBus(store), "r")
        await live.start()
        assert live.live
        if clean:
            await presence.stop()
        else:
            assert presence._task is not None
            presence._task.cancel()
        await asyncio.sleep(6 if clean else 70)
        assert (live.live, live.status().connection, live.status().over) == (False, how, True)
        row = live.conversations.get("a")
        assert row is not None
        assert row.state == "lost"
        await live.close()

    run_virtual(drill())


def test_a_starved_run_is_waited_for_and_taken_up_again() -> None:
    async def drill() -> None:
        store = MemoryStore()
        bus, presence = MemoryBus(store), Presence(MemoryBus(store), "r")
        await presence.start()
        await bus.push(wire.pointers("r"), pointer(1, "a"))
        live = Live(MemoryBus(store), "r")
        await live.start()
        for silence, state in ((8.0, "silent"), (90.0, "lost")):
            assert presence._task is not None
            presence._task.cancel()
            await asyncio.sleep(silence)
            assert live.status().connection == state
            assert "no sign of life" in live.status().detail or state == "lost"
            await presence.start()
            await bus.push(wire.pointers("r"), pointer(2, "a", turn=2))
            await asyncio.sleep(2.5)
            assert (live.status().connection, live.live) == ("connected", True)
            assert "the run is back after" in live.status().detail
            row = live.conversations.get("a")
            assert row is not None
            assert (row.state, row.turn) == ("running", 2)
            await asyncio.sleep(12)
            assert live.status().detail == ""
        await presence.stop()
        await asyncio.sleep(3)
        assert live.status().connection == "ended"
        await live.close()

    run_virtual(drill())


def test_who_has_no_folder_sees_curves_ledger_and_alarms() -> None:
    async def drill() -> None:
        store = MemoryStore()
        presence = Presence(MemoryBus(store), "r")
        await presence.start()
        about = {"name": "mine", "recipe": {"steps": 3, "seats": {"assistant": "learner", "user": "persona"}}}
        async with bulletin(MemoryBus(store), "r", about) as told:
            told.log(0, {"eval/success": 0.25})
            live = Live(MemoryBus(store), "r")
            await live.start()
            counts = {"ledger/dispatched": 4.0, "ledger/trained": 4.0}
            told.log(1, {"outcome/success": 0.5, "train/grad_norm": float("nan"), "alarms/kl": 1.0, **counts})
            await MemoryBus(store).push(wire.bulletin("r"), b'{"row": {"step": "Infinity"}}')
            await MemoryBus(store).push(wire.bulletin("r"), b'{"facts": {"recipe": "\x1b[2J"}}')
            await asyncio.sleep(2)
            book = live.training
            assert (live.title, book.total_steps, book.learners) == ("mine", 3, ("assistant",))
            assert book.series("eval/success") == [(0, 0.25)]
            assert (book.step, book.ledger_adds_up()) == (1, True)
            assert [alarm.name for alarm in book.alarms] == ["train/grad_norm", "kl"]
            late = Live(MemoryBus(store), "r")
            await late.start()
            assert repr(late.training.rows) == repr(book.rows)  # a NaN is not equal to itself
            await late.close()
        await presence.stop()
        await live.close()

    run_virtual(drill())


def test_what_strangers_write_there_is_passed_over() -> None:
    async def drill() -> None:
        store = MemoryStore()
        bus = MemoryBus(store)
        for payload in (b"\xff\xfe", b"{}", b'{"episode": 3}', pointer(1, "a\x1b[2J", line="\u202e")):
            await bus.push(wire.pointers("r"), payload)
        await bus.append(wire.conversation("r", "a\x1b[2J"), "1-1", b"nonsense")
        live = Live(MemoryBus(store), "r")
        await live.start()
        (row,) = live.conversations
        assert (row.id, row.last) == ("a␛[2J", "<U+202E>")
        assert (await live.open(row.key)).lines == ()
        await live.close()

    run_virtual(drill())


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedServer]:
    server = await EmbeddedServer.start()
    yield server
    await server.stop()


async def test_a_run_on_a_server_is_found_by_its_address(server: EmbeddedServer) -> None:
    with pytest.raises(UsageError, match="no run goes on at"):
        await started(server.url)
    async with SimulatorArena(bus=server.url, run="one"), SimulatorArena(bus=server.url, run="two") as arena:
        newest = await started(server.url)
        assert newest.title == "two"
        named = await started(f"{server.url}#one")
        assert named.title == "one"
        with pytest.raises(UsageError, match=r"no run 'three' on .*: it has two, one"):
            await started(f"{server.url}#three")
        await _collect(arena)
        await until(lambda: len(newest.conversations) == 1)
        assert len(named.conversations) == 0
        await named.close()
    await until(lambda: newest.status().over)
    assert newest.status().connection == "ended"
    await newest.close()


async def test_a_server_that_goes_away_is_waited_for_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simarena.tui.feed.live.GONE", 2.0)
    server = await EmbeddedServer.start()
    presence = Presence(await connect(server.url), "r")
    await presence.start()
    live = Live(await connect(server.url), "r")
    await live.start()
    await presence.stop()
    await presence.bus.put(wire.alive("r"), "open")
    await server.stop()
    await until(lambda: live.status().connection == "reconnecting")
    assert "no server answers" in live.status().detail
    await until(lambda: live.status().connection == "lost", 20)
    await live.close()
    await presence.bus.close()


async def test_a_folder_leads_to_its_bus_and_credit_to_the_folder(server: EmbeddedServer, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "mine"})
    async with SimulatorArena(bus=server.url) as arena:
        with folder.on_bus(arena.run, arena.bus.url):
            source = await started(str(folder.path))
            assert isinstance(source, Live)
            assert source.title == "mine"
            (episode,) = await _collect(arena)
            await until(lambda: len(source.conversations) == 1)
            with pytest.raises(UsageError, match="has not been credited yet"):
                await source.why(episode.id)  # type: ignore[attr-defined]
            folder.write_episodes("play", [episode])  # type: ignore[list-item]
            await until(lambda: any(row.batch == "play" for row in source.conversations))
            assert (await source.open(episode.id)).agents["a"].startswith("toys:Counter on people")  # type: ignore[attr-defined]
            await source.close()
    folder.close()
    again = await started(str(folder.path))
    assert isinstance(again, Recorded)
    assert again.status().connection == "recorded"


async def test_a_run_that_comes_to_its_bus_later_is_followed_there(server: EmbeddedServer, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "mine"})
    source = await started(str(folder.path))
    assert source.status().connection == "following"
    async with SimulatorArena(bus=server.url) as arena:
        with folder.on_bus(arena.run, arena.bus.url):
            await until(lambda: source.status().connection == "connected")
            await _collect(arena)
            await until(lambda: len(source.conversations) == 1)
            (row,) = source.conversations
            assert (await source.open(row.key)).lines
    await until(lambda: source.status().over)
    await source.close()
    folder.close()


async def test_a_run_that_never_comes_to_a_bus_is_followed_by_its_files(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "mine"})
    source = await started(str(folder.path))
    folder.metric({"step": 1, "reward/mean": 0.5})
    await until(lambda: source.training.step == 1)
    folder.close()
    await until(lambda: source.status().over)
    await source.close()


async def test_a_bus_that_cannot_be_reached_leaves_the_files(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "mine"})
    with folder.on_bus("r", "redis://me:secret@127.0.0.1:1/0"):
        source = await started(str(folder.path))
        assert isinstance(source, Recorded)
        assert "needs a password: set SIMARENA_REDIS_URL" in source.status().detail
        await source.close()
    with folder.on_bus("r", "redis://127.0.0.1:1/0"):
        source = await started(str(folder.path))
        assert "no server answers at redis://127.0.0.1:1/0" in source.status().detail
        await source.close()
    folder.close()


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("redis://127.0.0.1:1/0", "no server answers at redis://127.0.0.1:1/0"),
        ("memory://", "private to its process"),
        ("ftp://x", "is not a bus URL"),
        ("nowhere", "simarena list runs"),
        ("latest", "simarena train"),
    ],
)
async def test_bad_places_are_usage_errors(
    where: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=why):
        await started(where)
