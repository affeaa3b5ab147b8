"""`check_scenario` passes a good scenario and names the rule that each broken one breaks."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from simarena.arena.conformance import check_scenario
from simarena.arena.errors import ScenarioError
from simarena.arena.messages import WORLD, Action, Draft, Text, Tool, View, drafts, say
from simarena.arena.protocols import Scenario, Step
from simarena.arena.topology import Topology
from simarena.simulators.scenarios.service_desk import Clerk, ServiceDesk
from simarena.simulators.users import PersonaUser


@dataclass(frozen=True)
class Talk:
    number: int
    mover: str = "a"
    turn: int = 0
    log: list[str] = field(default_factory=list)


class Toy(Scenario[Talk]):
    """Two seats take turns; `a` knows a number; over after six turns or when one leaves."""

    name = "toy"
    seats = ("a", "b")

    def deal(self, rng: random.Random) -> Talk:
        return Talk(rng.randrange(10**6))

    def to_act(self, state: Talk) -> frozenset[str]:
        return frozenset((state.mover,))

    def view(self, state: Talk, seat: str) -> View:
        tools = (Tool(name="look", description="look", parameters={"where": {"type": "string"}}),)
        return View(instructions="talk", tools=tools, private={"number": state.number} if seat == "a" else {})

    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        ((seat, action),) = actions.items()
        after = replace(state, mover="b" if seat == "a" else "a", turn=state.turn + 1)
        messages = drafts(seat, Action(parts=action.parts))
        if after.turn < 6 and not action.leave:
            return Step(after, messages, {seat: 0.5})
        return Step(after, messages, ending="finished", checks={"polite": True}, outcome={"a": 1.0, "b": 0.0})

    def secrets(self, state: Talk, seat: str) -> tuple[str, ...]:
        return (str(state.number),) if seat == "a" else ()


def altered(**changes: Any) -> type[Toy]:
    """A toy whose every step has these fields changed."""

    class Altered(Toy):
        def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
            return replace(super().apply(state, actions), **changes)

    return Altered


class GlobalChance(Toy):
    def deal(self, rng: random.Random) -> Talk:
        return Talk(random.randrange(10**6))


class StrangerActs(Toy):
    def to_act(self, state: Talk) -> frozenset[str]:
        return frozenset(("c",))


class NobodyActs(Toy):
    def to_act(self, state: Talk) -> frozenset[str]:
        return frozenset()


class NoView(Toy):
    def view(self, state: Talk, seat: str) -> Any:
        return {"instructions": "talk"}


class FickleView(Toy):
    def view(self, state: Talk, seat: str) -> View:
        return View(instructions=str(random.random()))


class NumberLabels(Toy):
    def labels(self, state: Talk) -> Any:
        return {"number": 7}


class NumberKey(Toy):
    def state_key(self, state: Talk, seat: str) -> Any:
        return 7


class LeakyView(Toy):
    def view(self, state: Talk, seat: str) -> View:
        return View(private={"number": state.number})


class LeakyMessage(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        step = super().apply(state, actions)
        hint = Draft(seat=WORLD, kind="notice", parts=(Text(text=f"it is {state.number}!"),))
        return replace(step, messages=(*step.messages, hint))


class RaisesOnEmpty(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        for action in actions.values():
            action.parts[0]
        return super().apply(state, actions)


class RaisesOnTool(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        for action in actions.values():
            for one in action.calls:
                one.arguments["where"]
        return super().apply(state, actions)


class Mutates(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        state.log.append("moved")
        return super().apply(state, actions)


class Chancy(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        return replace(super().apply(state, actions), rewards={"a": random.random()})


class RemembersOutside(Toy):
    """Keeps how far the conversation came in itself, not in the state."""

    def __init__(self) -> None:
        self.furthest = 0

    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        self.furthest = max(self.furthest, state.turn)
        return replace(super().apply(state, actions), rewards={"a": float(self.furthest)})


class PutsWords(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        other = "b" if state.mover == "a" else "a"
        return replace(super().apply(state, actions), messages=drafts(other, say("i agree")))


class DeafAudience(Toy):
    def topology(self) -> Topology:
        return Topology(self.seats, [("a", "b")])

    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        (seat,) = actions
        return replace(super().apply(state, actions), messages=drafts(seat, say("psst"), audience=("a",)))


class Endless(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
        return Step(replace(state, turn=state.turn + 1))


class NoStep(Toy):
    def apply(self, state: Talk, actions: Mapping[str, Action]) -> Any:
        return state


class TwiceSeated(Toy):
    seats = ("a", "a")


class OtherTopology(Toy):
    def topology(self) -> Topology:
        return Topology.everyone(("a", "b", "c"))


BROKEN = [
    (TwiceSeated, "seats", "distinct names"),
    (OtherTopology, "seats", "topology has"),
    (GlobalChance, "deal", "equal generators differ"),
    (StrangerActs, "to_act", "frozenset of some of"),
    (NobodyActs, "to_act", "frozenset of some of"),
    (NoView, "view", "expected View"),
    (FickleView, "view", "two different views"),
    (NumberLabels, "labels", "text to text"),
    (NumberKey, "state_key", "must be text"),
    (LeakyView, "secrets", "seat 'b' can read .* in its view"),
    (LeakyMessage, "secrets", "in its message"),
    (RaisesOnEmpty, "apply", "IndexError.*empty action"),
    (RaisesOnTool, "apply", "KeyError.*unknown tool"),
    (NoStep, "apply", "expected Step"),
    (Chancy, "apply", "two different steps"),
    (Mutates, "mutation", "changed the state"),
    (RemembersOutside, "fork", "kept from earlier"),
    (PutsWords, "speaker", "in a turn of"),
    (altered(messages=(Draft(seat=WORLD, kind="speech", parts=()),)), "speaker", "tool results and notices"),
    (DeafAudience, "audience", "cannot hear"),
    (altered(messages=(Draft(seat=WORLD, kind="notice", parts=(), audience=("c",)),)), "audience", "cannot hear"),
    (altered(rewards={"c": 1.0}), "reward", "unknown seat 'c'"),
    (altered(rewards={"a": float("nan")}), "reward", "finite number"),
    (altered(rewards={"a": "much"}), "reward", "finite number"),
    (altered(ending="cancelled"), "ending", "ends with 'finished'"),
    (altered(ending="finished"), "ending", "named checks"),
    (altered(ending="finished", checks={"x": 1}, outcome={"a": 1.0}), "ending", "true or false"),
    (altered(ending="finished", checks={"x": True}), "ending", "needs an outcome"),
    (altered(ending="finished", checks={"x": True}, outcome={"c": 1.0}), "ending", "needs an outcome"),
    (altered(ending="finished", checks={"x": True}, outcome={"a": 1.5}), "ending", r"in \[0, 1\]"),
    (Endless, "ending", "no episode of"),
]


def test_a_good_scenario_passes():
    assert check_scenario(Toy()) is None


@pytest.mark.parametrize(
    ("broken", "rule", "says"),
    BROKEN,
    ids=[f"{n}-{rule}-{toy.__name__}" for n, (toy, rule, _) in enumerate(BROKEN)],
)
def test_each_broken_rule_is_named(broken, rule, says):
    with pytest.raises(ScenarioError, match=f"scenario 'toy' breaks rule '{rule}'.*{says}"):
        check_scenario(broken(), deals=range(3))


def test_the_error_names_deal_and_turn():
    class LateLeak(Toy):
        def view(self, state: Talk, seat: str) -> View:
            return View(private={"number": state.number}) if state.turn == 1 else View()

    with pytest.raises(ScenarioError, match="deal 5, turn 2: seat 'b' can read"):
        check_scenario(LateLeak(), deals=[5])


def test_what_its_owner_said_is_no_leak():
    class Echo(LeakyMessage):
        def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
            step = super().apply(state, actions)
            return step if "b" in actions else replace(step, messages=step.messages[:-1])

    def tell(observation: Any) -> Action:
        return say(f"mine is {observation.view.private['number']}")

    with pytest.raises(ScenarioError, match="secrets"):
        check_scenario(Echo(), deals=[1])

    class TellsFirst(Echo):
        def apply(self, state: Talk, actions: Mapping[str, Action]) -> Step[Talk]:
            told = any(str(state.number) in action.text for action in actions.values())
            state = replace(state, log=[*state.log, "told"]) if told else state
            step = super().apply(state, actions)
            return step if state.log else replace(step, messages=step.messages[:1])

    assert check_scenario(TellsFirst(), deals=[1], players={"a": tell}) is None


class Sync:
    """A scripted agent as a player."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    def __call__(self, observation: Any) -> Action:
        turn = self._agent.act(observation)
        with pytest.raises(StopIteration) as done:
            turn.send(None)
        return done.value.value


@pytest.mark.parametrize("split", ["train", "heldout"])
def test_service_desk_conforms(split):
    players = {"assistant": Sync(Clerk()), "user": Sync(PersonaUser())}
    assert check_scenario(ServiceDesk(split=split), deals=range(12), players=players) is None
