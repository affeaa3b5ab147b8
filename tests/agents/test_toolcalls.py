"""The tool-call syntax: round trips, typed values, and texts meant to break it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from simarena.agents import toolcalls
from simarena.arena.messages import Tool, ToolCall

LOOKUP = Tool(name="lookup", description="", parameters={"account": {"type": "string"}})
BOOK = Tool(
    name="book",
    description="",
    parameters={
        "day": {"type": "string"},
        "seats": {"type": "integer"},
        "price": {"type": "number"},
        "window": {"type": "boolean"},
        "note": {"type": "string", "default": "none"},
    },
)
TOOLS = (LOOKUP, BOOK)

texts = st.text(max_size=30)
calls = st.one_of(
    st.builds(lambda account: ToolCall(name="lookup", arguments={"account": account}), texts),
    st.builds(
        lambda day, seats, price, window, note: ToolCall(
            name="book", arguments={"day": day, "seats": seats, "price": price, "window": window, "note": note}
        ),
        texts,
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        texts,
    ),
)


@given(calls)
def test_what_is_rendered_parses_to_the_same_call(call: ToolCall) -> None:
    line = toolcalls.render(call, TOOLS)
    assert "\n" not in line
    assert toolcalls.parse(line, TOOLS) == toolcalls.Reply(text="", calls=(call,))


@given(st.lists(texts, max_size=4))
def test_an_unknown_tool_keeps_its_values_by_position(values: list[str]) -> None:
    call = ToolCall(name="hack", arguments={str(i): value for i, value in enumerate(values, 1)})
    reply = toolcalls.parse(toolcalls.render(call, TOOLS), TOOLS)
    assert reply.calls == (call,)
    assert reply.error == "no tool is called 'hack'"


@given(st.one_of(st.text(), st.text(alphabet='@book lookup"\\\n0129.-ntr {}[]')))
def test_parsing_never_raises_and_loses_no_line(text: str) -> None:
    reply = toolcalls.parse(text, TOOLS)
    assert len(reply.calls) <= text.count("@")
    assert reply.calls or reply.text == text.strip()
    json.dumps([call.arguments for call in reply.calls], allow_nan=False)


def test_speech_and_calls_are_told_apart_by_line() -> None:
    reply = toolcalls.parse('one moment\n@lookup "ada l"\n@book monday 2 9.5 true\n@ home', TOOLS)
    assert reply.text == "one moment\n@ home"
    assert reply.calls == (
        ToolCall(name="lookup", arguments={"account": "ada l"}),
        ToolCall(name="book", arguments={"day": "monday", "seats": 2, "price": 9.5, "window": True}),
    )
    assert reply.error == ""


def test_values_that_do_not_fit_are_passed_on_with_the_reason() -> None:
    reply = toolcalls.parse("@book monday two NaN 1", TOOLS)
    assert reply.calls[0].arguments == {"day": "monday", "seats": "two", "price": "NaN", "window": "1"}
    assert reply.error == (
        "book: seats must be an integer, not 'two'; book: price must be a JSON number, not 'NaN'; "
        "book: window must be a JSON boolean, not '1'"
    )


def test_too_few_and_too_many_values() -> None:
    few, many = toolcalls.parse("@lookup", TOOLS), toolcalls.parse("@lookup ada bob", TOOLS)
    assert (few.calls[0].arguments, few.error) == ({}, "lookup: missing account")
    assert many.calls[0].arguments == {"account": "ada", "2": "bob"}
    assert many.error == "lookup: takes 1 values, not 2"


def test_without_tools_every_line_is_speech() -> None:
    assert toolcalls.parse("@lookup ada", ()) == toolcalls.Reply(text="@lookup ada")


def test_arguments_are_written_in_the_order_of_the_tool_and_defaults_where_needed() -> None:
    gap = Tool(
        name="gap", description="", parameters={"a": {"type": "integer", "default": 7}, "b": {"type": "string"}}
    )
    assert toolcalls.render(ToolCall(name="gap", arguments={"b": "x y"}), (gap,)) == '@gap 7 "x y"'
    swapped = ToolCall(name="gap", arguments={"b": "x", "a": 1})
    assert toolcalls.render(swapped, (gap,)) == "@gap 1 x"
    assert toolcalls.render(swapped) == "@gap x 1"


def test_the_signature_names_the_parameters() -> None:
    assert toolcalls.signature(BOOK) == "@book day seats price window note"


def test_a_number_too_large_for_a_float_stays_text() -> None:
    reply = toolcalls.parse("@book monday 1 1e999 true", TOOLS)
    assert reply.calls[0].arguments["price"] == "1e999"
    assert "number" in reply.error


def test_half_a_surrogate_pair_cannot_enter_a_message() -> None:
    (call,) = toolcalls.parse('@lookup "\\ud800x"', TOOLS).calls
    assert call.arguments == {"account": "\ufffdx"}
