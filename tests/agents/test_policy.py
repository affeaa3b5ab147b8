"""The policy agent: what a seat has seen as a chat, what it does with a completion, and whole conversations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simarena.agents import models, tiny
from simarena.agents.chat import ChatCodec
from simarena.agents.engines.transformers import TransformersEngine
from simarena.agents.policy import PolicyAgent, chat_of, reply_text
from simarena.arena.messages import (
    WORLD,
    Action,
    Draft,
    Message,
    Observation,
    Part,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    View,
    drafts,
)
from simarena.arena.protocols import Agent, ChatTurn, Completion, GenerateRequest
from simarena.arena.seeds import derive
from simarena.arena.specs import AgentSpec, build_agent
from simarena.arena.tokens import TurnRecord, trail, trajectories

TOOL = Tool(name="book", description="", parameters={"day": {"type": "string"}, "seats": {"type": "integer"}})
VIEW = View(instructions="help people", tools=(TOOL,))
RECORD = TurnRecord(policy="p", version=1, start=True, fed=(1,), sampled=(2,), logprobs=(-0.5,), finish="stop")


class Canned:
    """An engine that answers what it is told and remembers what it was asked."""

    policy, version = "assistant", 0

    def __init__(self, completion: Completion) -> None:
        self.completion, self.requests = completion, list[GenerateRequest]()

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        self.requests += requests
        return [self.completion for _ in requests]

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        raise AssertionError("an agent never does this")


def heard(*said: tuple[str, str, int, Part]) -> tuple[Message, ...]:
    return tuple(
        Message(seat=seat, kind=kind, parts=(part,), episode="e", id=f"{turn}-{place}")  # type: ignore[arg-type]
        for place, (seat, kind, turn, part) in enumerate(said)
    )


CALL = ToolCall(name="book", arguments={"seats": 2, "day": "next monday"})
MESSAGES = heard(
    (WORLD, "notice", 0, Text(text="a caller is on the line")),
    ("user", "speech", 1, Text(text="a table please")),
    ("assistant", "thought", 2, Text(text="they are hungry")),
    ("assistant", "speech", 2, Text(text="one moment")),
    ("assistant", "tool_call", 2, CALL),
    (WORLD, "tool_result", 2, ToolResult(name="book", content={"ok": False}, error=True)),
    ("assistant", "speech", 3, Text(text="sorry")),
    ("assistant", "speech", 4, Text(text="another day?")),
    ("user", "speech", 5, Text(text="@book x <end>")),
)


def test_a_chat_holds_what_was_heard() -> None:
    assert chat_of(VIEW, MESSAGES, "assistant") == (
        ChatTurn("system", "help people"),
        ChatTurn("tool", "a caller is on the line"),
        ChatTurn("user", "a table please"),
        ChatTurn("assistant", 'one moment\n@book "next monday" 2'),
        ChatTurn("tool", 'error: {"ok":false}', name="book"),
        ChatTurn("assistant", "sorry"),
        ChatTurn("assistant", "another day?"),
        ChatTurn("user", "@book x <end>"),
    )


def test_the_other_seat_sees_the_mirror_image() -> None:
    roles = [turn.role for turn in chat_of(View(), MESSAGES[:4], "user")]
    assert roles == ["tool", "assistant", "user"]


def test_tools_are_listed_when_asked_for() -> None:
    assert chat_of(VIEW, (), "assistant", "lines") == (ChatTurn("system", "help people\n@book day seats"),)


def test_a_reply_reads_as_the_chat_shows_it() -> None:
    action = Action(parts=(Text(text="one moment"), CALL))
    assert reply_text(action, VIEW.tools) == chat_of(VIEW, MESSAGES, "assistant")[3].content
    assert reply_text(Action(parts=(Text(text="hello"),))) == "hello"


def observation(**more: Any) -> Observation:
    return Observation(episode="e", scenario="s", seat="assistant", turn=6, seed=11, view=VIEW, **more)


async def test_the_request_names_the_conversation_and_its_chance() -> None:
    engine = Canned(Completion(text="hi"))
    await PolicyAgent(engine, temperature=0.5).act(observation(messages=MESSAGES, max_tokens=9))
    (request,) = engine.requests
    assert (request.key, request.seed, request.max_tokens) == ("e/assistant", derive(11, 6), 9)
    assert (request.temperature, request.tools) == (0.5, VIEW.tools)
    assert request.chat == chat_of(VIEW, MESSAGES, "assistant")


@pytest.mark.parametrize(
    ("completion", "parts"),
    [
        (Completion(text="hi"), (Text(text="hi"),)),
        (Completion(text="hi", calls=(CALL,)), (Text(text="hi"), CALL)),
        (Completion(text="", calls=(CALL,)), (CALL,)),
        (Completion(text=""), (Text(text=""),)),
    ],
)
async def test_a_completion_becomes_an_action(completion: Completion, parts: tuple[Part, ...]) -> None:
    assert (await PolicyAgent(Canned(completion)).act(observation())).parts == parts


async def test_thought_and_record_travel_with_the_action() -> None:
    action = await PolicyAgent(Canned(Completion(text="a", thought="b", record=RECORD))).act(observation())
    assert (action.thought, action.record) == ("b", RECORD)


def test_a_spec_builds_it_with_the_engine_of_its_lane() -> None:
    agent = build_agent(AgentSpec.of_policy("assistant", temperature=0.0), Canned(Completion(text="")))
    assert isinstance(agent, PolicyAgent)
    assert isinstance(agent, Agent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = ["help people @book monday two 1 2 3 hello please ok table , ."]
    shape = tiny.Shape(hidden=32, layers=2, heads=4, kv_heads=2, intermediate=64)
    return tiny.build(words, tmp_path_factory.mktemp("model"), seed=1, shape=shape)


async def test_the_trajectory_is_exactly_what_the_model_saw(folder: Path) -> None:
    """A whole conversation with tool calls, errors and silence: one sample, whose ids rebuild every prompt."""
    engine = TransformersEngine(str(folder))
    agent, codec = PolicyAgent(engine), ChatCodec(models.load_tokenizer(folder))
    messages: list[Message] = []
    records: list[TurnRecord] = []

    def hear(turn: int, *said: Draft) -> None:
        for draft in said:
            fields = draft.model_dump() | {"episode": "e", "id": f"{turn}-{len(messages)}"}
            messages.append(Message.model_validate(fields))

    for turn in range(0, 24, 2):
        hear(turn, Draft(seat="user", kind="speech", parts=(Text(text="hello , a table please zebra"),)))
        now = Observation(
            episode="e", scenario="s", seat="assistant", turn=turn + 1, seed=5, view=VIEW,
            messages=tuple(messages), trail=trail(records), max_tokens=20,
        )  # fmt: skip
        action = await agent.act(now)
        assert action.record is not None
        records.append(action.record)
        hear(turn + 1, *drafts("assistant", action))
        for call in action.calls:
            result = ToolResult(name=call.name, content="no", error=True)
            hear(turn + 1, Draft(seat=WORLD, kind="tool_result", parts=(result,)))
    assert any(m.kind == "tool_call" for m in messages)
    (sample,) = trajectories("assistant", records)
    assert [record.start for record in records] == [True] + [False] * 11
    sampled = tuple(token for token, mine in zip(sample.ids, sample.mask, strict=True) if mine)
    assert sampled == tuple(token for record in records for token in record.sampled)
    first = codec.prompt(chat_of(VIEW, messages[:1], "assistant")).fed
    assert sample.ids[: len(first)] == first == records[0].fed
    # Between its own replies, the stream is the template's render, word for word.
    plain = codec.prompt(chat_of(VIEW, messages, "assistant"))
    fed = [token for token, mine in zip(sample.ids, sample.mask, strict=True) if not mine]
    tokens = codec._tokenizer.convert_ids_to_tokens
    assert [t for t in tokens(fed) if t == "<user>"] == [t for t in tokens(list(plain.fed)) if t == "<user>"]
    assert "<unk>" in tokens(fed)
