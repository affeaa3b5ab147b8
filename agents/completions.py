"""The chat-completions format: our chats and tools as its JSON, and its JSON as ours.

Both ends use it, the engine that asks and the endpoint that answers, so what goes through a server comes out as it
went in: a tool call is a line of text here and an object there. Knows no network, no model and no price.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from simarena.agents import toolcalls
from simarena.arena.errors import UsageError
from simarena.arena.messages import WORLD, Tool, ToolCall
from simarena.arena.protocols import ChatTurn

Json = dict[str, Any]
_UNANSWERED = "(no result)"


@dataclass(frozen=True, slots=True)
class Reply:
    """An assistant message, taken apart."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""


def messages_of(chat: Sequence[ChatTurn], tools: Sequence[Tool] = ()) -> list[Json]:
    """The `messages` of a request. Lines of an assistant turn that call one of `tools` become call objects.

    The format wants every call answered at once, by its id; what the world says without being asked is a user
    message named `world`.
    """
    messages: list[Json] = []
    waiting: list[tuple[str, str]] = []  # (id, tool) of calls without a result yet
    for place, turn in enumerate(chat):
        answered = next((call for call in waiting if turn.role == "tool" and call[1] == turn.name), None)
        if answered is not None:
            waiting.remove(answered)
            messages.append(_result(answered[0], turn.content))
            continue
        messages += [_result(id, _UNANSWERED) for id, _ in waiting]
        waiting = []
        if turn.role == "assistant":
            message, waiting = _assistant(turn, place, tools)
            messages.append(message)
        elif turn.role == "tool":
            messages.append({"role": "user", "name": WORLD, "content": turn.content})
        else:
            messages.append({"role": turn.role, "content": turn.content})
    return [*messages, *(_result(id, _UNANSWERED) for id, _ in waiting)]


def chat_of(messages: Sequence[Mapping[str, Any]], tools: Sequence[Tool] = ()) -> tuple[ChatTurn, ...]:
    """The chat of a request's `messages`. Raises UsageError for what it cannot hold, with the place."""
    if not messages:
        raise UsageError("messages is empty: send at least one")
    turns: list[ChatTurn] = []
    names: dict[str, str] = {}
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        role, content = message.get("role"), _content(message.get("content"), where)
        if role in ("system", "developer"):
            turns.append(ChatTurn("system", content))
        elif role == "user":
            turns.append(ChatTurn("tool" if message.get("name") == WORLD else "user", content))
        elif role == "assistant":
            calls = tuple(_calls(message, where, names))
            lines = (content, *(toolcalls.render(call, tools) for call in calls))
            turns.append(ChatTurn("assistant", "\n".join(line for line in lines if line)))
        elif role == "tool":
            turns.append(ChatTurn("tool", content, name=names.get(str(message.get("tool_call_id")), "")))
        else:
            raise UsageError(f"{where}.role is {role!r}: write system, user, assistant or tool")
    return tuple(turns)


def functions_of(tools: Sequence[Tool]) -> list[Json]:
    """The `tools` of a request."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {
                    "type": "object",
                    "properties": tool.parameters,
                    "required": [name for name, schema in tool.parameters.items() if not _has_default(schema)],
                },
            },
        }
        for tool in tools
    ]


def tools_of(functions: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The tools that a request offers. Raises UsageError for one that is no function."""
    tools = []
    for place, given in enumerate(functions):
        function = given.get("function")
        if given.get("type") != "function" or not isinstance(function, Mapping) or "name" not in function:
            raise UsageError(f"tools[{place}] is no function: write type = function and function.name")
        properties = (function.get("parameters") or {}).get("properties") or {}
        about = function.get("description") or ""
        tools.append(Tool(name=function["name"], description=about, parameters=properties))
    return tuple(tools)


def message_of(reply: Reply) -> Json:
    """The assistant message of an answer."""
    message: Json = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
    if reply.thought:
        message["reasoning_content"] = reply.thought
    if reply.calls:
        message["tool_calls"] = [_call(f"call_{place}", call) for place, call in enumerate(reply.calls)]
    return message


def reply_of(message: Mapping[str, Any], tools: Sequence[Tool] = ()) -> Reply:
    """What an assistant message says, calls and thinks; calls may be objects or lines of text.

    A refusal is speech. Thought is what the server sets apart, or what stands before `</think>`.
    """
    thought, closed, said = (message.get("content") or message.get("refusal") or "").partition("</think>")
    if not closed:
        thought, said = message.get("reasoning_content") or message.get("reasoning") or "", thought
    told = toolcalls.parse(said.strip(), tools)
    calls = (*told.calls, *_calls(message, "the answer", {}))
    return Reply(text=told.text, calls=calls, thought=thought.replace("<think>", "", 1).strip())


def _assistant(turn: ChatTurn, place: int, tools: Sequence[Tool]) -> tuple[Json, list[tuple[str, str]]]:
    """The message, and (id, tool) of the calls in it."""
    reply = toolcalls.parse(turn.content, tools)
    ids = [f"call_{place}_{number}" for number in range(len(reply.calls))]
    message: Json = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
    if reply.calls:
        message["tool_calls"] = [_call(id, call) for id, call in zip(ids, reply.calls, strict=True)]
    return message, [(id, call.name) for id, call in zip(ids, reply.calls, strict=True)]


def _call(id: str, call: ToolCall) -> Json:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _calls(message: Mapping[str, Any], where: str, names: dict[str, str]) -> Iterator[ToolCall]:
    """The calls of an assistant message; `names` learns the tool of each id.

    Arguments that are no JSON object reach the scenario by position, where it can answer that they are wrong.
    """
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        if not isinstance(function.get("name"), str):
            raise UsageError(f"{where}.tool_calls holds a call without function.name")
        names[str(call.get("id"))] = function["name"]
        yield ToolCall(name=function["name"], arguments=_arguments(function.get("arguments") or "{}"))


def _arguments(written: Any) -> dict[str, JsonValue]:
    try:
        loaded = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        return {"1": str(written)}
    return loaded if isinstance(loaded, dict) else {"1": loaded}


def _result(id: str, content: str) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content}


def _content(content: Any, where: str) -> str:
    """Text, or the text of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(p, dict) and p.get("type") == "text" for p in content):
        return "".join(str(part.get("text", "")) for part in content)
    raise UsageError(f"{where}.content must be text or parts of type text")


def _has_default(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and "default" in schema
