"""`simarena play`: conversations on stdout, errors that name the value, a person at a seat."""

import json
import os
from pathlib import Path

import pytest

from simarena.agents import smollm2, tiny
from simarena.training import recipe_file
from simarena.tui.casting import DEFAULT_RECIPE, model

CLERK = "simarena.simulators.scenarios.service_desk.clerk:Clerk"


def test_a_conversation_is_printed_with_its_verdict(cli) -> None:
    done = cli("play", "service-desk", "--seat", f"assistant={CLERK}")
    assert done.code == 0
    assert "play/0/0 · service-desk · deal 0" in done.out
    assert "ended: finished" in done.out
    assert "return: assistant" in done.out


def test_without_a_checkpoint_a_scripted_agent_stands_in_and_is_named(cli) -> None:
    done = cli("play", "service-desk")
    assert done.code == 0
    assert f"assistant: {CLERK}" in done.err
    assert CLERK not in done.err.replace(f"assistant: {CLERK}", "")


def test_json_is_one_line_per_episode_in_order_and_repeatable(cli) -> None:
    lines = [cli("play", "service-desk", "-n", "5", "--group", "2", "--json").out.splitlines() for _ in range(2)]
    ids = [json.loads(line)["id"] for line in lines[0]]
    assert ids == [f"play/{deal}/{member}" for deal in range(5) for member in range(2)]
    said = [[[m["parts"] for m in json.loads(line)["messages"]] for line in some] for some in lines]
    assert said[0] == said[1]


def test_options_and_split_reach_the_scenario(cli) -> None:
    done = cli(
        "play", "service-desk", "--split", "validation", "-s", 'personas=["thief"]', "-s", "patience=2", "--json"
    )
    episode = json.loads(done.out)
    assert episode["labels"]["persona"] == "thief"
    assert episode["options"] == {"personas": ["thief"], "patience": 2, "split": "validation"}


@pytest.mark.parametrize(
    ("arguments", "value", "fix"),
    [
        (["service-dusk"], "'service-dusk'", "did you mean 'service-desk'"),
        (["service-desk", "-s", 'personas=["ters"]'], "'ters'", "did you mean 'terse'"),
        (["service-desk", "-s", "patience=0"], "0", "at least 1"),
        (["service-desk", "-s", "nonsense=1"], "nonsense", "service-desk"),
        (["service-desk", "-s", "nonsense"], "'nonsense'", "key=value"),
        (["service-desk", "--split", "test"], "'test'", "train, validation, heldout"),
        (["service-desk", "--seat", "assistant=smolm2"], "'smolm2'", "did you mean 'smollm2'"),
        (["service-desk", "--seat", "assistant=no.such.module:Agent"], "'no.such.module:Agent'", "no module 'no'"),
        (["service-desk", "--seat", "assistant=simarena.arena.arena:Agent"], "Agent", "has no"),
        (["service-desk", "--seat", "assistant=./no/model"], "'./no/model'", "give a model folder"),
        (["service-desk", "--seat", "assistant=."], "'.'", "no config.json"),
        (["service-desk", "--seat", "assistant=lines"], "'lines'", "missing a required argument"),
        (["service-desk", "--seat", "boss=human"], "boss", "['assistant', 'user']"),
        (["service-desk", "--seat", "assistant"], "'assistant'", "key=value"),
        (["service-desk", "--backend", "cluster"], "'cluster'", "inproc, ray"),
        (["service-desk", "-n", "0"], "-n", "greater than or equal to 1"),
    ],
)
def test_bad_input_is_one_line_that_names_value_and_fix(cli, arguments: list[str], value: str, fix: str) -> None:
    done = cli("play", *arguments)
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("error: ")
    assert value in line
    assert fix in line


def test_when_every_conversation_fails_so_does_the_command(cli) -> None:
    done = cli("play", "service-desk", "-n", "2", "--seat", "assistant=simarena.tui.human:Lines", "--json")
    assert done.code == 1
    assert [json.loads(line)["ending"] for line in done.out.splitlines()] == ["simulator_fault", "simulator_fault"]
    assert "all 2 episodes failed; the first: seat 'assistant'" in done.err


def test_a_person_takes_the_user_seat_and_leaves(cli, typed) -> None:
    typed("/help\nhello\n/nonsense\n/leave\n")
    done = cli("play", "service-desk", "--seat", "user=human", "-s", 'personas=["cooperative"]')
    assert done.code == 0
    assert "You are the user." in done.err
    assert "You know: account" in done.err
    assert "/leave" in done.err
    assert "no command /nonsense" in done.err
    assert "how can i help you?" in done.err
    assert "ended: finished, failure" in done.out
    assert "user>" not in done.out


def test_the_end_of_input_leaves_the_conversation(cli, typed) -> None:
    typed("hello\n")
    done = cli("play", "service-desk", "--seat", "user=human", "--json")
    episode = json.loads(done.out)
    assert episode["ending"] == "finished"
    assert [m["parts"][0]["text"] for m in episode["messages"] if m["seat"] == "user"] == ["hello"]


def test_a_person_serves_with_tools_and_sees_no_secret(cli, typed) -> None:
    typed("@lookup\n/help\n@lookup amber\nhello there\n")
    done = cli("play", "service-desk", "--seat", "assistant=human", "-s", "patience=3", "--json")
    episode = json.loads(done.out)
    calls = [p for m in episode["messages"] for p in m["parts"] if p["type"] == "tool_call"]
    assert calls[0] == {"type": "tool_call", "name": "lookup", "arguments": {"account": "amber"}}
    assert "lookup: missing account" in done.err
    assert "@verify code" in done.err
    assert "You know" not in done.err


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch):
    """`typed(text)`: what stands on the keyboard, followed by the end of input."""
    from simarena.tui import human

    def write(text: str) -> None:
        read, end = os.pipe()
        os.write(end, text.encode())
        os.close(end)
        monkeypatch.setattr(human.HumanAgent, "__init__", _with_lines(human.Lines(read)))

    def _with_lines(lines):
        original = human.HumanAgent.__init__
        return lambda self: original(self, lines)

    return write


async def test_smollm2_plays_as_it_is_and_is_not_cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default recipe clones its tiny policy for thousands of steps; a model that talks already needs none."""
    folder = tiny.build(
        ["hello there"], tmp_path / "model", seed=0, shape=tiny.Shape(hidden=16, layers=1, heads=2)
    )
    monkeypatch.setattr(smollm2, "folder", lambda: folder)
    recipe = recipe_file.load(DEFAULT_RECIPE)
    assert recipe.policy.cloning.steps > 0
    assert await model("smollm2", recipe, lambda event: pytest.fail(f"worked: {event}")) == folder
