"""The policy agent: turns what a seat has heard into a chat, asks an engine, and acts on the completion.

The same rendering is used to clone and to train, so what a policy learns from is what it will read. Knows no
tokenizer, no model and no scenario.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from simarena.agents import toolcalls
from simarena.arena.messages import (
    WORLD,
    Action,
    Image,
    Message,
    Observation,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    View,
)
from simarena.arena.protocols import ChatTurn, Engine, GenerateRequest
from simarena.arena.seeds import derive, uniform

ToolText = Literal["none", "lines"]
"""How a prompt lists the tools: not at all (the instructions name them), or one signature line each."""


class PolicyAgent:
    """A seat played by an engine.

    Args:
        engine: what generates; its policy's name is stamped on the records.
        temperature: of sampling; 0 is greedy.
        tools: how the system turn lists the tools.
        past: share of turns that an earlier version is asked for.
        adapter: folder of a LoRA adapter that this seat alone speaks through, where the engine has adapters.
    """

    def __init__(
        self,
        engine: Engine,
        temperature: float = 1.0,
        tools: ToolText = "none",
        past: float = 0.0,
        adapter: str = "",
    ) -> None:
        self._engine, self._temperature, self._tools = engine, temperature, tools
        self._past, self._adapter = past, adapter

    async def act(self, observation: Observation) -> Action:
        (completion,) = await self._engine.generate([self._request(observation)])
        # Silence is said too: the chat then has one turn for each record, and the trail goes on.
        said = (Text(text=completion.text),) if completion.text or not completion.calls else ()
        return Action(parts=(*said, *completion.calls), thought=completion.thought, record=completion.record)

    def _request(self, observation: Observation) -> GenerateRequest:
        return GenerateRequest(
            key=f"{observation.episode}/{observation.seat}",
            chat=chat_of(observation.view, observation.messages, observation.seat, self._tools),
            seed=derive(observation.seed, observation.turn),
            tools=observation.view.tools,
            trail=observation.trail,
            max_tokens=observation.max_tokens,
            temperature=self._temperature,
            past=self._past > 0 and uniform(observation.seed, observation.turn, "past") < self._past,
            adapter=self._adapter,
        )


def chat_of(view: View, messages: Sequence[Message], seat: str, tools: ToolText = "none") -> tuple[ChatTurn, ...]:
    """What a seat has seen, as a chat: instructions, then own replies, others' speech, and what the world said.

    All that the seat said in one turn is one assistant turn. Thoughts are left out.
    """
    heard = [message for message in messages if message.kind != "thought"]
    turns = [_system(view, tools)] if view.instructions or (tools == "lines" and view.tools) else []
    for turn, group in groupby(heard, key=lambda message: message.turn if message.seat == seat else None):
        run = tuple(group)
        turns += map(_other, run) if turn is None else [_own(run, view.tools)]
    return tuple(turns)


def reply_text(action: Action, tools: Sequence[Tool] = ()) -> str:
    """The text of an action as the policy would write it: its speech, then a line for each call.

    Arguments are written in the order of `tools`, or as the action gives them if the tool is not there.
    """
    return _written(action.parts, tools)


def _written(parts: Iterable[object], tools: Sequence[Tool]) -> str:
    parts = tuple(parts)
    speech = " ".join(part.text for part in parts if isinstance(part, Text))
    calls = (toolcalls.render(part, tools) for part in parts if isinstance(part, ToolCall))
    return "\n".join(line for line in (speech, *calls) if line)


def _system(view: View, tools: ToolText) -> ChatTurn:
    lines = [toolcalls.signature(tool) for tool in view.tools] if tools == "lines" else []
    return ChatTurn("system", "\n".join(line for line in (view.instructions, *lines) if line))


def _own(run: Iterable[Message], tools: Sequence[Tool]) -> ChatTurn:
    return ChatTurn("assistant", _written((part for message in run for part in message.parts), tools))


def _other(message: Message) -> ChatTurn:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    content = "\n".join(text for text in (message.text, *map(_result, results)) if text)
    images = tuple(part for part in message.parts if isinstance(part, Image))
    if message.seat != WORLD and not results:
        return ChatTurn("user", content, images=images)
    return ChatTurn("tool", content, name=results[0].name if results else "", images=images)


def _result(result: ToolResult) -> str:
    content = result.content
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f"error: {text}" if result.error else text
