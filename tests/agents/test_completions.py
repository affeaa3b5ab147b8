"""The chat-completions format: what goes out comes back, and what cannot be held is refused with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simarena.agents.completions import (
    Reply,
    chat_of,
    functions_of,
    message_of,
    messages_of,
    reply_of,
    tools_of,
)
from simarena.arena.errors import UsageError
from simarena.arena.messages import Tool, ToolCall
from simarena.arena.protocols import ChatTurn

BOOK = Tool(
    name="book",
    description="take a table",
    parameters={"day": {"type": "string"}, "seats": {"type": "integer", "default": 2}},
)
CHAT = (
    ChatTurn("system", "help people"),
    ChatTurn("tool", "a caller is on the line"),
    ChatTurn("user", "a table please"),
    ChatTurn("assistant", 'one moment\n@book "next monday" 2\n@book friday 3'),
    ChatTurn("tool", "error: full", name="book"),
    ChatTurn("tool", "done", name="book"),
    ChatTurn("assistant", "friday it is"),
    ChatTurn("user", "thanks"),
)


def test_a_chat_in_their_format() -> None:
    system, notice, user, called, first, second, said, _ = messages_of(CHAT, [BOOK])
    assert system == {"role": "system", "content": "help people"}
    assert notice == {"role": "user", "name": "world", "content": "a caller is on the line"}
    assert user == {"role": "user", "content": "a table please"}
    assert called["content"] == "one moment"
    assert [json.loads(call["function"]["arguments"]) for call in called["tool_calls"]] == [
        {"day": "next monday", "seats": 2},
        {"day": "friday", "seats": 3},
    ]
    assert [call["id"] for call in called["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert (first["role"], first["content"], second["content"]) == ("tool", "error: full", "done")
    assert said == {"role": "assistant", "content": "friday it is"}


def test_every_call_is_answered_at_once() -> None:
    """Servers refuse a call whose result does not follow."""
    chat = (
        ChatTurn("assistant", "@book monday 2"),
        ChatTurn("user", "hello?"),
        ChatTurn("tool", "x", name="book"),
    )
    assert [message["role"] for message in messages_of(chat, [BOOK])] == ["assistant", "tool", "user", "user"]
    assert messages_of(chat[:1], [BOOK])[-1]["role"] == "tool"


def test_without_tools_a_call_is_text() -> None:
    assert messages_of(CHAT)[3] == {"role": "assistant", "content": CHAT[3].content}
    assert all("tool_calls" not in message for message in messages_of(CHAT))


def test_a_chat_comes_back_as_it_went() -> None:
    assert chat_of(messages_of(CHAT, [BOOK]), [BOOK]) == CHAT


said = st.text(st.characters(codec="utf-8", exclude_characters="@\n"), min_size=1).map(str.strip).filter(bool)


@given(
    st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), said), min_size=1),
    said,
    st.integers(-(10**6), 10**6),
)
def test_any_chat_comes_back_as_it_went(turns: list[tuple[str, str]], day: str, seats: int) -> None:
    chat = [ChatTurn(role, text) for role, text in turns]  # type: ignore[arg-type]
    call = f"@book {json.dumps(day, ensure_ascii=False)} {seats}"
    back = chat_of(messages_of([*chat, ChatTurn("assistant", call), ChatTurn("tool", "ok", name="book")], [BOOK]))
    assert list(back[: len(chat)]) == chat
    assert messages_of(back, [BOOK]) == messages_of(
        [*chat, ChatTurn("assistant", call), ChatTurn("tool", "ok", name="book")], [BOOK]
    )


def test_tools_come_back_as_they_went() -> None:
    (function,) = functions_of([BOOK])
    assert function["function"]["parameters"]["required"] == ["day"]
    assert tools_of([function]) == (BOOK,)


def test_an_answer_comes_back_as_it_went() -> None:
    reply = Reply(
        "one moment", (ToolCall(name="book", arguments={"day": "monday", "seats": 2}),), "they are hungry"
    )
    assert reply_of(message_of(reply), [BOOK]) == reply
    assert message_of(Reply(""))["content"] == ""


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ({"content": "<think>hm\n</think>\n hello"}, Reply("hello", (), "hm")),
        ({"content": "hello", "reasoning": "hm"}, Reply("hello", (), "hm")),
        ({"content": None, "refusal": "I will not"}, Reply("I will not")),
        (
            {"content": "@book monday 3"},
            Reply("", (ToolCall(name="book", arguments={"day": "monday", "seats": 3}),)),
        ),
        (
            {"content": None, "tool_calls": [{"id": "a", "function": {"name": "book", "arguments": "{not json"}}]},
            Reply("", (ToolCall(name="book", arguments={"1": "{not json"}),)),
        ),
        (
            {"content": None, "tool_calls": [{"id": "a", "function": {"name": "book", "arguments": "[1]"}}]},
            Reply("", (ToolCall(name="book", arguments={"1": [1]}),)),
        ),
    ],
)
def test_answers_of_other_servers(message: dict[str, object], reply: Reply) -> None:
    assert reply_of(message, [BOOK]) == reply


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "messages is empty"),
        ([{"role": "wizard", "content": "x"}], r"messages\[0\].role is 'wizard'"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], r"messages\[0\].content must be text"),
        ([{"role": "assistant", "tool_calls": [{"function": {}}]}], "without function.name"),
    ],
)
def test_what_a_chat_cannot_hold_is_refused(messages: list[dict[str, object]], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        chat_of(messages)


def test_text_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat_of([{"role": "developer", "content": parts}]) == (ChatTurn("system", "ab"),)
