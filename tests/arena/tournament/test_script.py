"""Scripts: what they default to, and errors that name the key, the value and the fix."""

from pathlib import Path

import pytest
from duels import Duel
from toys import Echo

from simarena.arena.errors import SimArenaError, UnknownName, UsageError
from simarena.arena.tournament.script import Script, load, parse
from simarena.simulators.scenarios.service_desk import ServiceDesk

PLAIN = {"scenario": "duels:Duel", "entrants": {"x": "echo", "y": "echo"}, "format": {"kind": "round-robin"}}


def test_a_string_is_short_for_a_table() -> None:
    script = parse(PLAIN)
    assert script.scenario.name == "duels:Duel"
    assert script.entrants["x"].agent == "echo"
    assert script.contest(Duel()).sides == {"a": ("a",), "b": ("b",)}


def test_seats_the_scenario_casts_are_not_competed_for() -> None:
    contest = parse({**PLAIN, "format": {"kind": "block"}}).contest(ServiceDesk())
    assert contest.sides == {"assistant": ("assistant",)}
    assert parse(PLAIN).method(contest) == "score"
    assert parse(PLAIN).method(parse(PLAIN).contest(Duel())) == "bradley-terry"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"formt": {}}, "unknown tournament script key 'formt': did you mean 'format'?"),
        ({"format": {"kind": "swis", "rounds": 3}}, "unknown format.kind 'swis': did you mean 'swiss'?"),
        ({"format": {"kind": "swiss", "round": 3}}, "'format.round': did you mean 'format.rounds'?"),
        ({"format": {"kind": "swiss"}}, "key 'format.rounds' is missing"),
        ({"format": {}}, "format.kind is missing: one of round-robin, swiss"),
        ({"budget": {"match": 3}}, "unknown tournament script key 'budget.match': did you mean 'budget.matches'?"),
        ({"budget": {"matches": 0}}, "key 'budget.matches' = 0: Input should be greater than or equal to 1"),
        ({"entrants": {"x": {"agent": "echo", "option": {}}, "y": "echo"}}, "did you mean 'entrants.x.options'?"),
        ({"entrants": {"x/1": "echo", "y": "echo"}}, "entrant 'x/1': names hold letters, digits"),
        ({"entrants": {"x": "echo"}}, "key 'entrants': "),
        ({"bus": "redis://:secret@host/0"}, "bus holds a password"),
        ({"stop": {"error": 0.7}}, "key 'stop.error' = 0.7"),
    ],
)
def test_errors_name_key_value_and_fix(change: dict, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse({**PLAIN, **change})
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sides": {"a": ["a"], "c": ["c"]}}, "unknown seat of 'duel' 'c'"),
        ({"sides": {"a": ["a"]}}, "nobody sits at b: put it in [sides] or [seats]"),
        ({"sides": {"a": ["a"], "b": ["b"]}, "seats": {"b": "echo"}}, "seats given twice: b"),
    ],
)
def test_every_seat_has_exactly_one_place(change: dict, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse({**PLAIN, **change}).contest(Duel())
    assert says in str(caught.value)


def test_more_sides_than_entrants_is_refused() -> None:
    one = {"scenario": "toys:Echo", "format": {"kind": "block"}}
    assert len(parse({**PLAIN, **one}).contest(Echo()).sides) == 1
    three = {"sides": {"a": ["a"], "b": ["b"]}}
    script = parse({**PLAIN, **three})
    assert len(script.contest(Duel()).sides) == 2


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_toml_and_python_give_the_same_script(tmp_path: Path) -> None:
    toml = 'scenario = "duels:Duel"\n[format]\nkind = "swiss"\nrounds = 2\n[entrants]\n' + "".join(
        f'f{n} = {{ agent = "duels:Fighter", options = {{ skill = {n} }} }}\n' for n in range(5)
    )
    python = """
def tournament():
    fighters = {f"f{n}": {"agent": "duels:Fighter", "options": {"skill": n}} for n in range(5)}
    return {"scenario": "duels:Duel", "format": {"kind": "swiss", "rounds": 2}, "entrants": fighters}
"""
    one, other = load(write(tmp_path / "cup.toml", toml)), load(write(tmp_path / "cup.py", python))
    assert one == other
    assert one.name == "cup"
    assert Script.model_validate(one.model_dump(mode="json")) == one


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("gone.toml", None, "no tournament script"),
        ("bad.toml", "format = ", "cannot read"),
        ("none.py", "x = 1", "has no function tournament()"),
        ("odd.py", "def tournament():\n    return 3", "returned int, not a dict"),
    ],
)
def test_a_file_that_is_no_script(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(SimArenaError) as caught:
        load(path)
    assert says in str(caught.value)


def test_a_format_of_ones_own() -> None:
    script = parse({**PLAIN, "format": {"kind": "function", "function": "coins:one_meeting"}})
    contest = script.contest(Duel())
    (meeting,) = script.format.draw(contest, [])
    assert meeting.entrants == ("x", "y")
    with pytest.raises(UsageError, match="no attribute 'nothing'"):
        parse({**PLAIN, "format": {"kind": "function", "function": "coins:nothing"}}).format.draw(contest, [])


def test_unknown_name_is_a_usage_error() -> None:
    assert issubclass(UnknownName, UsageError)
