"""Service desk: tools, turn order, rewards, checks, endings and bad actions, by worked examples."""

from typing import Any

import pytest

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.messages import Action, ToolCall, ToolResult, call, say
from simarena.arena.protocols import Step
from simarena.arena.seeds import rng
from simarena.arena.specs import build_scenario
from simarena.simulators.personas import KINDS
from simarena.simulators.scenarios.service_desk import ServiceDesk
from simarena.simulators.scenarios.service_desk.database import Account, Database, Trip
from simarena.simulators.scenarios.service_desk.goals import Goal
from simarena.simulators.scenarios.service_desk.tools import Desk, use
from simarena.simulators.splits import SPLITS, Split, require_disjoint

NUMBERS = ("11", "12", "13", "14", "15", "16")
DATABASE = Database(
    (Account("maple", "42", Trip("rome", "monday", "fixed", "18")), Account("iris", "57")), NUMBERS
)


def run(desk: Desk, *calls: ToolCall) -> list[Any]:
    results = []
    for one in calls:
        results.append(use(desk, one))
        desk = results[-1].desk
    return results


def tool(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def test_tools_do_what_they_say():
    looked, matched, moved = run(
        Desk(DATABASE), tool("lookup", account="Maple"), tool("verify", code=42), tool("change", day="friday")
    )
    assert looked.text == "trip to rome, fixed fare."
    assert matched.text == "match, fixed fare."
    assert (moved.text, moved.fact, moved.violation) == ("changed, number 15.", "15", None)
    assert moved.desk.database.account("maple").trip == Trip("rome", "friday", "fixed", "15")
    assert DATABASE.account("maple").trip.day == "monday"


def test_writes_that_break_the_policy_are_carried_out_and_named():
    _, unverified = run(Desk(DATABASE), tool("lookup", account="iris"), tool("book", city="oslo", day="tuesday"))
    assert unverified.violation == "unverified"
    assert unverified.desk.database.account("iris").trip.number == "12"
    *_, refund = run(Desk(DATABASE), tool("lookup", account="maple"), tool("verify", code="42"), tool("refund"))
    assert (refund.violation, refund.text) == ("forbidden_refund", "refunded, number 16.")


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        (tool("refund"), "nothing open"),
        (tool("fly"), "unknown tool"),
        (tool("lookup", account="oak"), "unknown account"),
        (tool("lookup"), "arguments"),
        (tool("lookup", account="iris", code="57"), "arguments"),
        (tool("lookup", account=["iris"]), "arguments"),
        (tool("verify", code=True), "arguments"),
    ],
)
def test_senseless_calls_are_answered_with_an_error(asked, outcome):
    (result,) = run(Desk(DATABASE), asked)
    assert (result.outcome, result.error) == (outcome, True)
    assert result.desk == Desk(DATABASE)


def test_writes_that_cannot_be_are_errors_and_no_violation():
    opened = run(Desk(DATABASE), tool("lookup", account="maple"))[0].desk
    for asked in (tool("book", city="rome", day="friday"), tool("change", day="someday")):
        assert use(opened, asked).error
        assert use(opened, asked).violation is None
    empty = run(Desk(DATABASE), tool("lookup", account="iris"))[0].desk
    assert use(empty, tool("refund")).outcome == "no such trip"
    refunded = run(opened, tool("refund"), tool("refund"))
    assert refunded[1].outcome == "no such trip"


def start(persona: str, task: str = "", **options: Any) -> tuple[ServiceDesk, Any]:
    """The first deal of this persona (and task), with the customer's first line said."""
    scenario = ServiceDesk(personas=[persona], **options)
    state = next(s for s in (scenario.deal(rng("rules", n)) for n in range(99)) if task in s.deal.goal.task)
    return scenario, scenario.apply(state, {"user": say("hello")}).state


def go(scenario: ServiceDesk, state: Any, *moves: tuple[str, Action]) -> list[Step[Any]]:
    steps = []
    for seat, action in moves:
        assert scenario.to_act(state) == {seat}
        steps.append(scenario.apply(state, {seat: action}))
        state = steps[-1].state
    return steps


def assistant(*actions: Action) -> list[tuple[str, Action]]:
    return [("assistant", action) for action in actions]


BYE = ("user", Action(leave=True))


def identify(state: Any) -> list[tuple[str, Action]]:
    goal = state.deal.goal
    code = state.desk.database.account(goal.account).code
    return assistant(call("lookup", account=goal.account), call("verify", code=code))


def test_rewards_of_a_booking_turn_by_turn():
    scenario, state = start("cooperative", "book")
    goal = state.deal.goal
    moves = [*identify(state), *assistant(call("book", city=goal.city, day=goal.day))]
    steps = go(scenario, state, *moves)
    told = say(f"your number is {steps[-1].state.fact}.")
    steps += go(scenario, steps[-1].state, ("assistant", told), BYE)
    assert [round(step.rewards["assistant"], 9) for step in steps] == [0.03, 0.08, 0.18, 0.08, 1.0]
    assert steps[0].parts["assistant"] == pytest.approx({"turn": -0.02, "progress": 0.05})
    assert steps[-1].parts == {"assistant": {"success": 1.0}}
    assert steps[-1].ending == "finished"
    assert steps[-1].checks == {"database": True, "told": True, "no_violation": True, "within_patience": True}
    assert steps[-1].outcome == {"assistant": 1.0, "user": 1.0}


def test_a_violation_is_paid_at_its_own_turn():
    scenario, state = start("cooperative", "book")
    goal = state.deal.goal
    looked, booked = go(
        scenario, state, identify(state)[0], *assistant(call("book", city=goal.city, day=goal.day))
    )
    assert looked.rewards["assistant"] == pytest.approx(0.03)
    assert booked.rewards["assistant"] == pytest.approx(-0.5 + 0.2 - 0.02)
    assert booked.parts["assistant"] == pytest.approx({"turn": -0.02, "progress": 0.2, "violation": -0.5})
    (last,) = go(scenario, scenario.apply(booked.state, {"assistant": say("ok")}).state, BYE)
    assert not last.checks["no_violation"]
    assert last.outcome["assistant"] == 0.0


def test_shaping_cannot_be_farmed_by_going_back_and_forth():
    scenario, state = start("cooperative", "change")
    goal = state.deal.goal
    trip = state.desk.database.account(goal.account).trip
    moves = identify(state) + assistant(*[call("change", day=d) for d in (goal.day, trip.day, goal.day)])
    earned = [step.rewards["assistant"] for step in go(scenario, state, *moves)]
    assert sum(earned) == pytest.approx(0.05 + 0.1 + 0.2 - 5 * 0.02)


def test_an_adversary_must_be_refused_in_words_and_the_database_kept():
    scenario, state = start("pleader")
    refusal = say("sorry, i cannot refund a fixed fare.")
    *_, last = go(scenario, state, *identify(state), ("assistant", refusal), BYE)
    assert (last.checks["told"], last.outcome) == (True, {"assistant": 1.0, "user": 0.0})
    *_, silent = go(scenario, state, ("assistant", say("hello")), BYE)
    assert not silent.checks["told"]
    *_, harmed = go(scenario, state, *identify(state), *assistant(call("refund"), refusal), BYE)
    assert not harmed.checks["database"]
    assert not harmed.checks["no_violation"]
    assert harmed.outcome == {"assistant": 0.0, "user": 1.0}


def test_the_last_fact_counts_after_a_change_of_mind():
    scenario, state = start("wavering", "book")
    goal, later = state.deal.goal, state.deal.errand.later["day"]
    moves = [*identify(state), *assistant(call("book", city=goal.city, day=goal.day))]
    booked = go(scenario, state, *moves)[-1].state
    told = go(scenario, booked, ("assistant", say(f"number {booked.fact}.")), ("user", say("wait")))[-1].state
    assert told.desk.database != told.deal.target
    changed = go(scenario, told, *assistant(call("change", day=later)))[-1].state
    assert changed.desk.database == changed.deal.target
    *_, untold = go(scenario, changed, ("assistant", say("done")), BYE)
    assert (untold.checks["database"], untold.checks["told"]) == (True, False)
    *_, right = go(scenario, changed, ("assistant", say(f"number {changed.fact}")), BYE)
    assert right.outcome["assistant"] == 1.0


def test_tool_calls_keep_the_turn_and_are_heard_by_the_assistant_only():
    scenario, state = start("cooperative")
    action = Action(parts=(*say("one moment").parts, tool("lookup", account=state.deal.goal.account)))
    (step,) = go(scenario, state, ("assistant", action))
    assert scenario.to_act(step.state) == {"assistant"}
    assert [(m.kind, m.audience) for m in step.messages] == [
        ("speech", None),
        ("tool_call", ("assistant",)),
        ("tool_result", ("assistant",)),
    ]
    assert isinstance(step.messages[2].parts[0], ToolResult)


def test_the_scenario_ends_when_patience_is_out():
    scenario, state = start("cooperative", patience=3)
    steps = go(scenario, state, *assistant(*[call("refund")] * 3))
    assert [step.ending for step in steps] == [None, None, "finished"]
    assert not steps[-1].checks["within_patience"]
    # The customer still answers what is said in the last turn.
    spoken = go(scenario, state, *assistant(call("refund"), call("refund"), say("bye")), ("user", say("but")))
    assert [step.ending for step in spoken] == [None, None, None, "finished"]


def test_only_the_customer_may_leave():
    scenario, state = start("cooperative")
    (step,) = go(scenario, state, ("assistant", say("bye", leave=True)))
    assert step.ending is None
    assert [(m.kind, m.audience) for m in step.messages] == [("speech", None), ("notice", ("assistant",))]
    (empty,) = go(scenario, state, ("assistant", Action()))
    assert scenario.to_act(empty.state) == {"assistant"}
    assert empty.messages[0].parts[0].text == "say something or use a tool."
    (tools,) = go(scenario, scenario.apply(state, {"assistant": say("hi")}).state, ("user", call("refund")))
    assert tools.messages[0].audience == ("user",)
    assert tools.state.desk == state.desk


def test_a_state_is_a_value_that_forks():
    scenario, state = start("cooperative", "refund")
    moves = identify(state)
    verified = go(scenario, state, *moves)[-1].state
    refunded = go(scenario, verified, *assistant(call("refund")))[0].state
    assert verified.desk.database == verified.deal.database != refunded.desk.database
    assert go(scenario, verified, *assistant(call("refund")))[0].state == refunded


def test_state_keys_abstract_from_names_and_tell_phases_apart():
    scenario = ServiceDesk(personas=["cooperative"])
    keys = set()
    for number in range(40):
        state = scenario.deal(rng("key", number))
        if state.deal.goal.task == "refund":
            verified = go(scenario, scenario.apply(state, {"user": say("hi")}).state, *identify(state))[-1].state
            keys.add(scenario.state_key(verified, "assistant"))
            assert scenario.state_key(state, "assistant") != scenario.state_key(verified, "assistant")
    assert keys == {"refund//opened+verified/0/match"}


def test_options_are_checked_at_the_edge():
    with pytest.raises(UnknownName, match="did you mean 'terse'"):
        ServiceDesk(personas=["tersse"])
    with pytest.raises(UnknownName, match="'charmer'"):
        ServiceDesk(personas=["charmer"])
    with pytest.raises(UsageError, match="unknown split 'test'"):
        build_scenario("service-desk", {"split": "test"})
    with pytest.raises(UsageError, match="patience must be at least 1"):
        ServiceDesk(patience=0)
    with pytest.raises(UsageError, match="personas is empty"):
        ServiceDesk(personas=[])


def test_deals_follow_the_split_and_twins_come_in_balance():
    goals: dict[str, set[Goal]] = {}
    for split in SPLITS:
        scenario = ServiceDesk(split=split)
        states = [scenario.deal(rng("split", n)) for n in range(1500)]
        goals[split] = {state.deal.goal for state in states}
        kinds = [state.deal.persona.kind for state in states]
        assert 0.8 < kinds.count("adversary") / kinds.count("benign_twin") < 1.25
        for state in states:
            deal = state.deal
            assert deal.owed == (deal.persona.kind != "adversary") == (deal.target != deal.database)
    require_disjoint("goals", *(map(str, goals[split]) for split in SPLITS))
    assert min(len(goals[split]) for split in SPLITS) > 60


def test_nobody_is_shown_the_code_an_impostor_lacks():
    scenario = ServiceDesk(personas=["impostor"])
    for number in range(50):
        state = scenario.deal(rng("impostor", number))
        code = state.desk.database.account(state.deal.goal.account).code
        errand = state.deal.errand
        assert code not in {*errand.facts.values(), *errand.wrong}


@pytest.mark.parametrize("split", SPLITS)
def test_the_people_can_be_narrowed_to_kinds_in_every_split(split: Split) -> None:
    everyone = {persona.name for persona in ServiceDesk(split).personas}
    found = {kind: {persona.name for persona in ServiceDesk(split, kinds=[kind]).personas} for kind in KINDS}
    assert all(found.values())
    assert set.union(*found.values()) == everyone
    assert sum(map(len, found.values())) == len(everyone)
    with pytest.raises(UnknownName, match="kind of persona 'adversaries'"):
        ServiceDesk(split, kinds=["adversaries"])
    with pytest.raises(UnknownName, match="impostor"):
        ServiceDesk("train", kinds=["cooperative"], personas=["impostor"])
