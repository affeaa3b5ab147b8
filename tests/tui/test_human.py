"""A person at a seat: what they are shown, what they may type."""

import os

import pytest

from simarena.arena.messages import Message, Observation, Text, Tool, ToolCall, ToolResult, View
from simarena.tui.human import SPEC, HumanAgent, Lines

TOOLS = (
    Tool(name="find", description="looks up", parameters={"who": {"type": "string"}, "day": {"type": "integer"}}),
)


def observation(*messages: Message, turn: int = 1, seat: str = "user", **view: object) -> Observation:
    return Observation(
        episode="e", scenario="s", seat=seat, turn=turn, seed=0, view=View.model_validate(view), messages=messages
    )


def speech(id: str, seat: str, text: str) -> Message:
    return Message(episode="e", id=id, seat=seat, kind="speech", parts=(Text(text=text),))


def typing(*lines: str | None) -> HumanAgent:
    waiting = list(lines)

    async def read() -> str | None:
        return waiting.pop(0)

    return HumanAgent(read)


async def test_what_is_typed_is_said() -> None:
    action = await typing("", "  hello there ").act(observation())
    assert action.text == "hello there"
    assert not action.leave


@pytest.mark.parametrize("line", ["/leave", None])
async def test_leaving(line: str | None) -> None:
    action = await typing(line).act(observation())
    assert action.leave
    assert action.parts == ()


async def test_tool_calls_are_typed_values_and_wrong_ones_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    agent = typing("@find ana", "@find ana monday", "@find ana 3")
    action = await agent.act(observation(tools=TOOLS))
    assert action.calls == (ToolCall(name="find", arguments={"who": "ana", "day": 3}),)
    shown = capsys.readouterr().err
    assert "find: missing day" in shown
    assert "day must be an integer, not 'monday'" in shown


async def test_each_message_is_shown_once_and_never_ones_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    agent = typing("first", "second")
    await agent.act(observation(speech("1-1", "assistant", "welcome")))
    assert "welcome" in capsys.readouterr().err
    heard = (
        speech("1-1", "assistant", "welcome"),
        speech("2-1", "user", "first"),
        speech("3-1", "assistant", "yes?"),
    )
    await agent.act(observation(*heard, turn=4))
    shown = capsys.readouterr().err
    assert "yes?" in shown
    assert "welcome" not in shown
    assert "first" not in shown


async def test_a_new_conversation_starts_with_its_brief(capsys: pytest.CaptureFixture[str]) -> None:
    agent = typing("a", "/brief", "b")
    view = {"instructions": "serve people", "private": {"goal": {"city": "rome"}}}
    await agent.act(observation(**view))
    first = capsys.readouterr().err
    assert "You are the user." in first
    assert "serve people" in first
    assert "city: rome" in first
    await agent.act(observation(turn=3, **view))
    assert capsys.readouterr().err.count("serve people") == 1


async def test_what_others_say_cannot_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07 [bold]x \u202e"
    result = Message(
        episode="e", id="2-1", seat="world", kind="tool_result", parts=(ToolResult(name="x", content=evil),)
    )
    await typing("ok").act(observation(speech("1-1", evil, evil), result, instructions=evil, private={evil: evil}))
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]x" in shown


async def test_lines_come_whole_and_in_order() -> None:
    read, write = os.pipe()
    lines = Lines(read)
    os.write(write, b"one\n\ntw")
    assert await lines() == "one"
    assert await lines() == ""
    os.write(write, b"o\nlast \xff")
    os.close(write)
    assert [await lines(), await lines(), await lines(), await lines()] == ["two", "last \ufffd", None, None]


def test_a_person_is_served_by_the_process_that_has_the_terminal() -> None:
    assert SPEC.lane == "human"
    assert SPEC.agent == "simarena.tui.human:HumanAgent"
