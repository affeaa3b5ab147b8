"""Forks: at every turn the same agents go on as they did; others take over with what the seat has heard."""

import dataclasses
import json
from typing import Any

import pytest
from toys import Counting

from simarena.arena import wire
from simarena.arena.arena import SimulatorArena
from simarena.arena.bus.memory import MemoryBus
from simarena.arena.clock import run_virtual
from simarena.arena.episodes import Episode
from simarena.arena.errors import RecordError, UsageError
from simarena.arena.messages import Limits, Message
from simarena.arena.protocols import Step
from simarena.arena.specs import AgentSpec

CLERK = "simarena.simulators.scenarios.service_desk.clerk:Clerk"
NOISY = {seat: AgentSpec(agent="toys:Counter", options={"slip": 0.5}) for seat in ("a", "b")}


def bare(episode: Episode) -> Any:
    """All of an episode but what its name and origin are."""
    data = episode.model_dump(mode="json", exclude={"id", "parent", "chance", "timings", "member"})
    for message in data["messages"]:
        del message["episode"], message["time"]
    return data


async def play(scenario: Any, **how: Any) -> Episode:
    seed = how.pop("seed", 0)
    async with SimulatorArena(seed=seed, limits=how.pop("limits", None)) as arena:
        (episode,) = [one async for one in arena.play(scenario, deals=how.pop("deals", [3]), **how)]
    return episode


async def fork(episode: Episode, turn: int, scenario: Any = None, **how: Any) -> list[Episode]:
    async with SimulatorArena(seed=how.pop("seed", 0), limits=how.pop("limits", None)) as arena:
        return [one async for one in arena.fork(episode, turn, scenario=scenario, **how)]


def last_turn(episode: Episode) -> int:
    return max(turn.index for turn in episode.turns)


@pytest.mark.parametrize("deal", range(3))
def test_a_fork_at_every_turn_goes_on_as_its_parent_did(deal: int) -> None:
    async def drill() -> None:
        parent = await play("service-desk", seats={"assistant": CLERK}, deals=[deal])
        for turn in range(last_turn(parent)):
            (forked,) = await fork(parent, turn, fresh=False)
            assert bare(forked) == bare(parent)
            assert forked.parent is not None
            assert (forked.parent.episode, forked.parent.turn) == (parent.id, turn)
            assert forked.parent.digest == parent.digest()
            assert forked.digest() != parent.digest()

    run_virtual(drill())


def test_a_fork_survives_the_record_and_can_be_forked_again() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=8), seats=NOISY)
        (child,) = await fork(Episode.model_validate_json(parent.model_dump_json()), 2, Counting(turns=8))
        assert bare(child) != bare(parent), "fresh chance"
        (grandchild,) = await fork(child, 5, Counting(turns=8), fresh=False)
        assert bare(grandchild) == bare(child)
        assert grandchild.chance == child.id

    run_virtual(drill())


def test_the_digest_covers_the_link() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        (one,) = await fork(parent, 2, Counting(turns=6))
        assert one.parent is not None
        for update in ({"turn": 3}, {"episode": "x"}, {"digest": "x"}):
            other = one.model_copy(update={"parent": one.parent.model_copy(update=update)})
            assert other.digest() != one.digest()

    run_virtual(drill())


def test_members_have_chance_of_their_own_and_share_what_was_said_before() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=10), seats=NOISY)
        forks = await fork(parent, 4, Counting(turns=10), members=6)
        kept = [m.parts for m in parent.messages if m.turn <= 4]
        assert all([m.parts for m in one.messages if m.turn <= 4] == kept for one in forks)
        assert all(message.episode == one.id for one in forks for message in one.messages)
        assert len({str(bare(one)["messages"]) for one in forks}) > 1
        assert sorted(one.id for one in forks) == [f"fork/{parent.id}@4/{n}" for n in range(6)]
        again = await fork(parent, 4, Counting(turns=10), members=6)
        assert {one.digest() for one in again} == {one.digest() for one in forks}

    run_virtual(drill())


def test_who_takes_over_has_heard_all_and_knows_nothing_of_the_mind_before() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        (forked,) = await fork(parent, 3, Counting(turns=6), seats={"b": "toys:Witness"})
        seen = json.loads(next(m.text for m in forked.messages if m.turn == 4 and m.kind == "speech"))
        assert (seen["turn"], seen["memory"], seen["trail"]) == (4, {}, None)
        told = [m for m in parent.messages if m.turn <= 3 and m.kind != "thought" and m.audible("b")]
        assert seen["heard"] == [m.model_dump(mode="json", include={"seat", "kind", "parts"}) for m in told]
        assert len(told) == 3

    run_virtual(drill())


def test_who_stays_remembers() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        (forked,) = await fork(parent, 3, Counting(turns=6), seats={"a": "toys:Counter"})
        memories = [m.parts for m in forked.messages if m.kind == "thought" and m.seat == "a" and m.turn == 5]
        assert "'turns': 3" in str(memories)

    run_virtual(drill())


def test_simultaneous_moves_can_be_forked() -> None:
    async def drill() -> None:
        rules = Counting(turns=8, together=True)
        parent = await play(rules, seats=NOISY)
        for turn in range(last_turn(parent)):
            (forked,) = await fork(parent, turn, rules, fresh=False)
            assert bare(forked) == bare(parent)

    run_virtual(drill())


def test_viewers_see_a_fork_whole() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        async with SimulatorArena(run="r") as arena:
            (forked,) = [one async for one in arena.fork(parent, 2, scenario=Counting(turns=6))]
            assert isinstance(arena.bus, MemoryBus)
            entries = await arena.bus.read(wire.conversation("r", forked.id), count=1000)
            streamed = [Message.model_validate_json(entry.payload) for entry in entries]
            assert streamed == list(forked.messages)
            told = await arena.bus.read(wire.pointers("r"), count=1000)
            pointers = [wire.Pointer.model_validate_json(entry.payload) for entry in told]
            assert {pointer.parent for pointer in pointers} == {forked.parent}
            assert pointers[0].turn == 2

    run_virtual(drill())


class Other(Counting):
    """Rules that came to differ."""

    def __init__(self, turns: int, what: str) -> None:
        super().__init__(turns)
        self.what = what

    def to_act(self, state: Any) -> frozenset[str]:
        return frozenset({"b"}) if self.what == "mover" and state.said else super().to_act(state)

    def apply(self, state: Any, actions: Any) -> Step[Any]:
        if self.what == "raise":
            raise ValueError("no such rule")
        step = super().apply(state, actions)
        if self.what == "reward":
            return dataclasses.replace(step, rewards={"a": 7.0})
        return dataclasses.replace(step, messages=step.messages[:0]) if self.what == "words" else step


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("mover", r"at turn 2 it is \['b'\] to act, not \['b'\]|to act"),
        ("reward", r"it earns \{'a': 7.0\}, not"),
        ("words", "other messages come of it"),
        ("raise", "its rules raise ValueError: no such rule"),
    ],
)
def test_rules_that_changed_since_are_not_papered_over(what: str, says: str) -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        with pytest.raises(RecordError, match=says):
            await fork(parent, 3, Other(6, what))

    run_virtual(drill())


@pytest.mark.parametrize(
    ("turn", "how", "says"),
    [
        (-1, {}, "has no turn -1 to fork after: give one from 0 to 6"),
        (7, {}, "has no turn 7"),
        (6, {}, "is over with turn 6"),
        (2, {"seats": {"c": "toys:Counter"}}, r"has no seat \['c'\]"),
        (2, {"members": 0}, "members = 0"),
        (2, {"members": 2, "fresh": False}, "would all be the same"),
        (2, {"seats": {"a": AgentSpec.of_policy("star")}}, "does not serve"),
    ],
)
def test_what_cannot_be_forked_is_said(turn: int, how: dict[str, Any], says: str) -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        with pytest.raises(UsageError, match=says):
            await fork(parent, turn, Counting(turns=6), **how)

    run_virtual(drill())


def test_a_seat_the_record_does_not_have_is_a_changed_scenario() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6))
        fewer = parent.model_copy(update={"seats": {"a": parent.seats["a"]}})
        with pytest.raises(RecordError, match=r"at turn 0 nobody sat at b; scenario .* has changed"):
            await fork(fewer, 2, Counting(turns=6), seats={"b": "toys:Counter"})

    run_virtual(drill())


def test_a_capped_episode_can_go_on() -> None:
    async def drill() -> None:
        parent = await play(Counting(turns=6), limits=Limits(turns=3))
        assert parent.ending == "turn_cap"
        (forked,) = await fork(parent, 3, Counting(turns=6), fresh=False)
        assert bare(forked) == bare(await play(Counting(turns=6)))

    run_virtual(drill())
