"""Conversations through the facade's public door, in process and on a virtual clock."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from toys import Counting

from simarena.arena import arena as arena_module
from simarena.arena import glance, wire
from simarena.arena.arena import SimulatorArena
from simarena.arena.backends.inproc import InprocBackend
from simarena.arena.bus.memory import MemoryBus, MemoryStore
from simarena.arena.clock import run_virtual
from simarena.arena.episodes import Episode
from simarena.arena.errors import BusUnavailable, ScenarioError, UsageError
from simarena.arena.messages import Limits, Message
from simarena.arena.post import KEPT_SECONDS
from simarena.arena.protocols import Step
from simarena.arena.specs import AgentSpec


async def play(
    n: int = 4, *, limits: Limits | None = None, people: int = 1, seed: int = 0, **how: Any
) -> list[Episode]:
    scenario = how.pop("scenario", None) or Counting(**how.pop("rules", {}))
    async with SimulatorArena(limits=limits, people=people, seed=seed) as arena:
        episodes = [episode async for episode in arena.play(scenario, deals=range(n), **how)]
    return sorted(episodes, key=lambda episode: episode.id)


def virtual(main: Coroutine[Any, Any, list[Episode]]) -> list[Episode]:
    return run_virtual(main)


def test_a_conversation_is_played_and_scored() -> None:
    (played,) = virtual(play(1))
    assert played.success
    assert played.ending == "finished"
    assert played.labels == {"parity": str(int(played.messages[0].text) % 2)}
    assert [turn.seat for turn in played.turns] == ["a", "b", "a", "b"]
    assert played.returns("a") == 2.0
    assert played.turns[2].state_key == "a2"


class Priced(Counting):
    """Says what its rewards are for; `wrong` makes the parts lie."""

    def __init__(self, wrong: float = 0.0) -> None:
        super().__init__()
        self.wrong = wrong

    def apply(self, state: Any, actions: Any) -> Step[Any]:
        step = super().apply(state, actions)
        parts = {seat: {"right": value, "wrong": self.wrong} for seat, value in step.rewards.items()}
        return dataclasses.replace(step, parts=parts)


def test_rewards_are_recorded_by_their_parts() -> None:
    (played,) = virtual(play(1, scenario=Priced()))
    assert [reward.parts for reward in played.rewards] == [{"right": 1.0, "wrong": 0.0}] * 4
    with pytest.raises(ScenarioError, match=r"sum to 1\.5"):
        virtual(play(1, scenario=Priced(wrong=0.5)))


def test_what_seats_did_is_on_record() -> None:
    (played,) = virtual(play(1))
    assert [turn.parts for turn in played.turns] == [m.parts for m in played.messages if m.kind == "speech"]


def test_message_ids_grow_and_are_unique() -> None:
    (played,) = virtual(play(1))
    ids = [tuple(map(int, message.id.split("-"))) for message in played.messages]
    assert ids == sorted(set(ids))
    assert ids[0] == (0, 1)


def test_thoughts_and_memory_are_private() -> None:
    (played,) = virtual(play(1))
    thoughts = [message for message in played.messages if message.kind == "thought"]
    assert len(thoughts) == 8
    assert all(message.audience == (message.seat,) for message in thoughts)


def test_the_same_seed_gives_the_same_digests_in_any_order() -> None:
    noisy = {"a": AgentSpec(agent="toys:Counter", options={"slip": 0.5})}
    one = virtual(play(8, seats=noisy, group=2, concurrency=1))
    many = virtual(play(8, seats=noisy, group=2, concurrency=64, people=3))
    other = virtual(play(8, seats=noisy, group=2, seed=1))
    assert [e.digest() for e in one] == [e.digest() for e in many]
    assert [e.digest() for e in one] != [e.digest() for e in other]
    assert len({e.success for e in one}) == 2


def test_members_of_a_group_share_the_deal_but_not_the_chance() -> None:
    noisy = {"a": AgentSpec(agent="toys:Counter", options={"slip": 0.5})}
    played = virtual(play(1, seats=noisy, group=8))
    assert {e.messages[0].text for e in played} == {played[0].messages[0].text}
    assert len({tuple(m.text for m in e.messages) for e in played}) > 1


def test_simultaneous_movers_share_a_turn() -> None:
    (played,) = virtual(play(1, rules={"together": True}))
    assert [(turn.index, turn.seat) for turn in played.turns] == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("agent", "ending", "cause", "says"),
    [
        ("toys:Broken", "simulator_fault", "crash", "RuntimeError: out of coffee"),
        ("toys:Silent", "simulator_fault", "timeout", "seat 'b' did not answer within 9 s"),
        ("toys:Windbag", "agent_fault", "invalid", "said 100000 characters; the limit is 8000"),
        ("toys:Hoarder", "agent_fault", "invalid", "said 100014 characters; the limit is 8000"),
        ("toys:Shrugger", "simulator_fault", "crash", "act of 'toys:Shrugger' returned str, not Action"),
        ("toys:Nobody", "simulator_fault", "crash", "has no 'Nobody'"),
    ],
)
def test_a_failing_agent_ends_its_own_episode_only(agent: str, ending: str, cause: str, says: str) -> None:
    limits = Limits(turn_seconds=9)

    async def both() -> list[Episode]:
        async with SimulatorArena(limits=limits) as arena:
            bad = arena.play(Counting(), deals=[0], seats={"b": agent}, prefix="bad")
            good = arena.play(Counting(), deals=[0], prefix="good")
            return [e async for e in bad] + [e async for e in good]

    failed, fine = virtual(both())
    assert (failed.ending, failed.outcome, failed.success) == (ending, {}, False)
    assert (failed.fault_seat, failed.fault_cause) == ("b", cause)
    assert says in failed.fault
    assert fine.success


def test_a_reply_that_no_bus_carries_is_its_agents_fault_at_once() -> None:
    huge = {"b": AgentSpec(agent="toys:Hoarder", options={"size": 2_000_000})}
    (played,) = virtual(play(1, seats=huge))
    assert (played.ending, played.timings["attempts"]) == ("simulator_fault", 2.0)
    assert "its reply is too large: payload of 2000" in played.fault


def test_a_conversation_that_outgrows_the_bus_ends_alone() -> None:
    hoarder = {"a": AgentSpec(agent="toys:Hoarder", options={"size": 300_000})}
    limits = Limits(message_chars=400_000)
    (played,) = virtual(play(1, seats=hoarder, rules={"turns": 20}, limits=limits))
    assert played.ending == "environment_fault"
    assert "lower limits.turns or limits.message_chars" in played.fault


@pytest.mark.parametrize("junk", [b"[" * 100_000, b"\xff", b"{}", b"[1]", b'{"episode": "play/0/0"}'])
def test_junk_among_the_replies_stops_nobody(junk: bytes) -> None:
    async def pestered() -> list[Episode]:
        async with SimulatorArena(run="r") as arena:
            await arena.bus.push(wire.replies("r", "0"), junk)
            return [episode async for episode in arena.play(Counting(), deals=[0])]

    assert virtual(pestered())[0].success


def test_the_bus_may_be_gone_when_an_episode_ends_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise BusUnavailable("gone")

    monkeypatch.setattr(MemoryBus, "append", away)
    with pytest.raises(BusUnavailable, match=r"has not taken the end of episode 'play/0/0' for 50 s"):
        virtual(play(1, limits=Limits(episode_seconds=50)))


def test_a_play_that_is_left_leaves_no_task_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise BusUnavailable("gone")

    monkeypatch.setattr(MemoryBus, "append", away)
    slow = {"a": AgentSpec(agent="toys:Counter", options={"delay": 40.0})}

    async def left() -> set[asyncio.Task[Any]]:
        async with SimulatorArena() as arena:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(10):
                    async with contextlib.aclosing(arena.play(Counting(), deals=[0], seats=slow)) as playing:
                        await anext(playing)
        await asyncio.sleep(1)
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert run_virtual(left()) == set()


def test_where_one_of_two_movers_fails_nobody_waits_for_the_other() -> None:
    async def ended() -> tuple[list[Episode], list[str]]:
        seats = {"a": "toys:Broken", "b": "toys:Silent"}
        async with SimulatorArena() as arena:
            episodes = [e async for e in arena.play(Counting(together=True), deals=[0], seats=seats)]
            await asyncio.sleep(0)
            return episodes, [str(task) for task in asyncio.all_tasks() if "_ask_one" in str(task)]

    episodes, asking = run_virtual(ended())
    assert episodes[0].ending == "simulator_fault"
    assert asking == []


def test_a_closed_arena_leaves_a_server_as_it_found_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()

    async def shared(_: str) -> MemoryBus:
        return MemoryBus(store)

    monkeypatch.setattr(arena_module, "connect", shared)
    slow = {"a": AgentSpec(agent="toys:Counter", options={"delay": 5.0})}

    async def left() -> set[str]:
        async with SimulatorArena(people=2) as arena:
            await arena.host("human")
            assert [e.success async for e in arena.play(Counting(), deals=[0])] == [True]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(7):
                    async with contextlib.aclosing(arena.play(Counting(), deals=[1], seats=slow)) as playing:
                        await anext(playing)
        await asyncio.sleep(KEPT_SECONDS)
        store.sweep(asyncio.get_running_loop().time())
        return {*store.streams, *store.keys}

    assert run_virtual(left()) == set()


def test_a_backend_that_will_not_stop_leaves_no_bus_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stuck(_: object) -> None:
        raise RuntimeError("stuck")

    monkeypatch.setattr(InprocBackend, "stop", stuck)

    async def used_after() -> None:
        arena = SimulatorArena()
        with pytest.raises(RuntimeError, match="stuck"):
            async with arena:
                pass
        await arena.bus.length("any")

    with pytest.raises(BusUnavailable, match="closed"):
        run_virtual(used_after())


def test_a_turn_has_one_deadline_also_when_its_host_dies_under_it() -> None:
    async def waited() -> tuple[list[Episode], float]:
        seats = {"a": AgentSpec(agent="toys:Silent", lane="human")}
        async with SimulatorArena(limits=Limits(turn_seconds=30)) as arena:
            await arena.host("human")
            asyncio.get_running_loop().call_later(5, arena._guests[0].cancel)
            episodes = [e async for e in arena.play(Counting(), deals=[0], seats=seats)]
            return episodes, asyncio.get_running_loop().time()

    episodes, seconds = run_virtual(waited())
    assert "no host serves lane 'human'" in episodes[0].fault
    assert 30 <= seconds < 31


def test_an_episode_has_a_deadline() -> None:
    slow = {"a": AgentSpec(agent="toys:Counter", options={"delay": 40.0})}
    (played,) = virtual(play(1, seats=slow, rules={"turns": 100}, limits=Limits(episode_seconds=100)))
    assert played.ending == "environment_fault"
    assert "no end after 100 s" in played.fault


def test_a_turn_cap_is_a_truncation_not_a_result() -> None:
    (played,) = virtual(play(1, rules={"turns": 100}, limits=Limits(turns=7)))
    assert (played.ending, played.outcome, played.checks) == ("turn_cap", {}, {})
    assert len(played.turns) == 7


class Crashing(Counting):
    def apply(self, state: Any, actions: Any) -> Step[Any]:
        raise KeyError("lost key")


class Shapeless(Counting):
    def apply(self, state: Any, actions: Any) -> Any:
        return "not a step"


class Standstill(Counting):
    def to_act(self, state: Any) -> frozenset[str]:
        return frozenset()


def test_a_crash_of_the_scenario_is_an_environment_fault() -> None:
    (played,) = virtual(play(1, scenario=Crashing()))
    assert (played.ending, played.fault) == ("environment_fault", "scenario 'counting': KeyError: 'lost key'")


class Viewless(Counting):
    def view(self, state: Any, seat: str) -> Any:
        return {"instructions": "count"}


class Listed(Counting):
    def to_act(self, state: Any) -> Any:
        return ["a"]


class Undealt(Counting):
    def deal(self, rng: Any) -> Any:
        raise LookupError("no cards")


class Mislabelled(Counting):
    def labels(self, state: Any) -> Any:
        return {"parity": 3}


class Stepping(Counting):
    """Ends at once with this step."""

    def __init__(self, **step: Any) -> None:
        super().__init__()
        self.step = step

    def apply(self, state: Any, actions: Any) -> Step[Any]:
        return Step(state, **self.step)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        (Shapeless(), "returned str, not Step"),
        (Standstill(), "nobody is to act"),
        (Viewless(), "view returned dict, not View"),
        (Listed(), r"to_act returned \['a'\], not a set"),
        (Undealt(), "deal 0 raised LookupError: no cards"),
        (Mislabelled(), "labels.parity = 3: Input should be a valid string"),
        (Stepping(rewards={"a": float("nan")}), "rewards must be finite numbers"),
        (Stepping(rewards={"a": "much"}), "rewards must be finite numbers"),
        (Stepping(rewards={"z": 1.0}), r"unknown seats \['z'\]"),
        (Stepping(ending="won"), "it ended with 'won'; a scenario ends with 'finished'"),
        (
            Stepping(ending="finished", outcome={"a": "great"}),
            "outcome.a = 'great': Input should be a valid number",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Counting) else "",
)
def test_a_scenario_that_breaks_its_contract_is_an_error(scenario: Counting, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        virtual(play(1, scenario=scenario))


def test_unknown_seats_and_empty_ones_are_said() -> None:
    with pytest.raises(UsageError, match=r"has no seat \['c'\]"):
        virtual(play(1, seats={"c": "toys:Counter"}))

    class Empty(Counting):
        def cast(self) -> dict[str, AgentSpec]:
            return {}

    with pytest.raises(UsageError, match=r"nobody sits at \['a', 'b'\]"):
        virtual(play(1, scenario=Empty()))


@pytest.mark.parametrize("nothing", [{"group": 0}, {"concurrency": 0}])
def test_a_play_of_nothing_is_refused(nothing: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="both must be at least 1"):
        virtual(play(1, **nothing))


def test_cancelling_ends_every_conversation_at_its_next_turn() -> None:
    async def cancelled() -> list[Episode]:
        slow = {"a": AgentSpec(agent="toys:Counter", options={"delay": 5.0})}
        async with SimulatorArena() as arena:
            asyncio.get_running_loop().call_later(7, arena.cancel)
            return [e async for e in arena.play(Counting(), deals=range(3), seats=slow, concurrency=2)]

    played = virtual(cancelled())
    assert [(e.ending, e.outcome) for e in played] == [("cancelled", {})] * 3
    assert sorted(len(e.turns) for e in played) == [0, 3, 3]


def test_a_policy_that_nobody_serves_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"seat 'b' is played by policy 'star', which this arena does not serve"):
        virtual(play(1, seats={"b": AgentSpec.of_policy("star")}))


def test_a_lane_without_hosts_is_a_fault_that_names_it() -> None:
    (played,) = virtual(play(1, seats={"b": AgentSpec.of_remote("bob")}, limits=Limits(turn_seconds=5)))
    assert played.ending == "agent_fault"
    assert "no host serves lane 'remote.bob'" in played.fault


def test_hosts_of_the_run_that_die_are_nobodys_fault_but_the_harness() -> None:
    (played,) = virtual(play(1, people=0, limits=Limits(turn_seconds=5)))
    assert played.ending == "environment_fault"
    assert "no host serves lane 'people'" in played.fault


def test_every_message_is_on_the_conversations_stream() -> None:
    async def scenario() -> tuple[list[Episode], list[Message], list[wire.Pointer]]:
        async with SimulatorArena(run="r") as arena:
            episodes = [episode async for episode in arena.play(Counting(), deals=[5])]
            entries = await arena.bus.read(wire.conversation("r", episodes[0].id), count=1000)
            told = await arena.bus.read(wire.pointers("r"), count=1000)
            pointers = [wire.Pointer.model_validate_json(entry.payload) for entry in told]
            return episodes, [Message.model_validate_json(entry.payload) for entry in entries], pointers

    (played,), streamed, pointers = run_virtual(scenario())
    assert tuple(streamed) == played.messages
    assert [pointer.number for pointer in pointers] == list(range(1, len(pointers) + 1))
    assert {pointer.labels["parity"] for pointer in pointers} == {str(int(played.messages[0].text) % 2)}
    move, end = pointers[-2], pointers[-1]
    assert (move.turn, move.line, move.returns, move.earned) == (4, move.line, {"a": 2.0, "b": 2.0}, {"b": 1.0})
    assert move.line == played.messages[-1].text
    assert move.ending is None
    assert dict(glance.of(played)) == {name: getattr(end, name) for name in glance.Glance.model_fields}
    assert (end.ending, end.success, end.checks) == ("finished", True, {"counted": True})


def test_a_thousand_conversations_in_flight_lose_nothing() -> None:
    slow = {"a": AgentSpec(agent="toys:Counter", options={"delay": 5.0})}
    played = virtual(play(1000, seats=slow, concurrency=1000, limits=Limits(turn_seconds=30)))
    assert len({e.id for e in played}) == 1000
    assert all(e.success for e in played)


def test_virtual_time_is_free() -> None:
    began = time.monotonic()

    async def wait() -> float:
        await asyncio.sleep(100_000)
        return asyncio.get_running_loop().time()

    assert run_virtual(wait()) >= 100_000
    assert time.monotonic() - began < 5


def test_an_id_can_be_played_again_but_not_twice_at_once() -> None:
    async def twice() -> list[Episode]:
        async with SimulatorArena() as arena:
            return [await anext(arena.play(Counting(), deals=[0])) for _ in range(2)]

    first, second = run_virtual(twice())
    assert first.digest() == second.digest()

    async def at_once() -> None:
        async with SimulatorArena() as arena:
            async for _ in arena.play(Counting(), deals=[0, 0]):
                pass

    with pytest.raises(UsageError, match="'play/0/0' is being played already"):
        run_virtual(at_once())
