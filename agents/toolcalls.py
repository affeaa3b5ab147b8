"""The text syntax of tool calls: one line, `@name value value`, in the order of the tool's parameters.

Small models can write it with few tokens. Any other line is speech. Parsing accepts every text there is:
what does not fit a tool still becomes a typed `ToolCall`, which the scenario answers with an error result.
Knows no model, no template and no scenario.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from simarena.arena.messages import Tool, ToolCall

_CALL = re.compile(r"\s*@(\S+)(.*)", re.DOTALL)
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s|\Z)|\S+', re.DOTALL)
_BARE = re.compile(r'[^\s"]+')
_INTEGER = re.compile(r"-?[0-9]{1,300}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A completion's text, taken apart."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    error: str = ""
    """What is wrong with the calls, one clause each; empty when all of them fit their tools."""


def render(call: ToolCall, tools: Sequence[Tool] = ()) -> str:
    """The line that stands for a call; arguments in the tool's order, or as given when it is not in `tools`.

    Raises nothing. A missing argument ends the line, since what follows it would be read in its place;
    one whose tool has a default is written out.
    """
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return " ".join((f"@{call.name}", *(_written(value) for value in call.arguments.values())))
    words = [f"@{call.name}"]
    rest = dict(call.arguments)
    for name, schema in tool.parameters.items():
        if not rest or (name not in rest and not _optional(schema)):
            break
        words.append(_written(rest.pop(name) if name in rest else _default(schema)))
    return " ".join((*words, *(_written(value) for value in rest.values())))


def parse(text: str, tools: Sequence[Tool]) -> Reply:
    """Speech and typed calls of a text. Never raises.

    Without tools every line is speech. An unknown tool keeps its name and takes its values by position
    ("1", "2", …); a value that does not fit its type stays a string; one too many is named by its
    position. Each of these sets `error`.
    """
    table = {tool.name: tool for tool in tools}
    speech, calls, errors = [], [], []
    for line in text.split("\n"):
        match = _CALL.fullmatch(line) if table else None
        if match is None:
            speech.append(line)
            continue
        values = [_read(value) for value in _VALUE.findall(match[2])]
        call, faults = _bind(match[1], table.get(match[1]), values)
        calls.append(call)
        errors += faults
    return Reply(text="\n".join(speech).strip(), calls=tuple(calls), error="; ".join(errors))


def signature(tool: Tool) -> str:
    """How the tool is called, for a prompt: `@name argument argument`."""
    return " ".join((f"@{tool.name}", *tool.parameters))


def _bind(name: str, tool: Tool | None, values: list[str]) -> tuple[ToolCall, list[str]]:
    if tool is None:
        positional: dict[str, JsonValue] = {str(place): value for place, value in enumerate(values, 1)}
        return ToolCall(name=name, arguments=positional), [f"no tool is called {name!r}"]
    arguments: dict[str, JsonValue] = {}
    errors = []
    for (key, schema), value in zip(tool.parameters.items(), values, strict=False):
        arguments[key], fault = _typed(value, schema)
        if fault:
            errors.append(f"{name}: {key} must be {fault}, not {value!r}")
    for place, value in enumerate(values[len(tool.parameters) :], len(tool.parameters) + 1):
        arguments[str(place)] = value
    missing = [key for key, schema in tool.parameters.items() if key not in arguments and not _optional(schema)]
    if missing:
        errors.append(f"{name}: missing {', '.join(missing)}")
    if len(values) > len(tool.parameters):
        errors.append(f"{name}: takes {len(tool.parameters)} values, not {len(values)}")
    return ToolCall(name=name, arguments=arguments), errors


def _typed(value: str, schema: JsonValue) -> tuple[JsonValue, str]:
    """The value as its schema wants it, and what it should have been if it does not fit."""
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    if kind == "integer":
        return (int(value), "") if _INTEGER.fullmatch(value) else (value, "an integer")
    if kind == "string":
        return value, ""
    try:
        loaded: JsonValue = json.loads(value, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return value, f"a JSON {kind}"
    return (loaded, "") if _is(loaded, kind) else (value, f"a JSON {kind}")


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written} is not JSON")
    return number


def _is(value: JsonValue, kind: JsonValue) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
    return True


def _read(value: str) -> str:
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        return value
    try:
        loaded = json.loads(value, strict=False)
    except ValueError:
        return value[1:-1]
    # An escape may spell half a surrogate pair, which no message could carry as UTF-8.
    return str(loaded).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _written(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _optional(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and "default" in schema


def _default(schema: JsonValue) -> JsonValue:
    return schema["default"] if isinstance(schema, dict) else None
