"""Scripted agents: how far they are is read off what they have said."""

from simarena.arena.messages import Message, Observation, Text, Tool, ToolCall, View
from simarena.arena.specs import AgentSpec, build_agent

TOOL = Tool(name="look", description="", parameters={"who": {"type": "string"}})


def seen(*said: tuple[str, str]) -> Observation:
    messages = tuple(
        Message(seat=seat, kind="speech", parts=(Text(text=text),), episode="e", id=f"{turn}-0")
        for turn, (seat, text) in enumerate(said)
    )
    return Observation(
        episode="e", scenario="s", seat="me", turn=len(said), seed=0, view=View(tools=(TOOL,)), messages=messages
    )


async def test_lines_are_said_in_order_and_the_last_repeats() -> None:
    agent = build_agent(AgentSpec(agent="lines", options={"lines": ["hi", "well\n@look ada", "bye"]}))
    assert (await agent.act(seen())).text == "hi"
    second = await agent.act(seen(("me", "hi"), ("you", "hm")))
    assert second.text == "well"
    assert second.calls == (ToolCall(name="look", arguments={"who": "ada"}),)
    assert (await agent.act(seen(*[("me", "hi")] * 5))).text == "bye"


async def test_echo_repeats_the_other_seat() -> None:
    agent = build_agent(AgentSpec(agent="echo"))
    assert (await agent.act(seen(("you", "one"), ("you", "two"), ("me", "three")))).text == "two"
    assert (await agent.act(seen())).text == ""
