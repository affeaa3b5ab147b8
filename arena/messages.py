"""What is said and seen: messages, tool calls, views, observations and actions.

Every type here crosses a process; all are frozen and are the same on both sides. Text is data: nothing
in a part can change who speaks, who hears, or become a control token. Knows no scenario and no agent.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from simarena.arena.tokens import Trail, TurnRecord

Kind = Literal["speech", "thought", "tool_call", "tool_result", "notice"]
WORLD = "world"
"""The speaker of messages that no seat said: tool results, notices of the scenario."""


class Frozen(BaseModel):
    """A value: cannot change, knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Text(Frozen):
    type: Literal["text"] = "text"
    text: str


class Image(Frozen):
    """A picture by content hash; the bytes are kept by `pictures`, never in a message."""

    type: Literal["image"] = "image"
    sha256: str
    mime: str = "image/png"


class ToolCall(Frozen):
    type: Literal["tool_call"] = "tool_call"
    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class ToolResult(Frozen):
    type: Literal["tool_result"] = "tool_result"
    name: str
    content: JsonValue
    error: bool = False


Part = Annotated[Text | Image | ToolCall | ToolResult, Field(discriminator="type")]


class Draft(Frozen):
    """A message before the conductor has stamped it. `audience` None: everyone the topology lets hear."""

    seat: str
    kind: Kind
    parts: tuple[Part, ...]
    audience: tuple[str, ...] | None = None


class Message(Draft):
    """One thing said, stored once. Producer: the conductor. Consumers: agents' hosts, viewers, training."""

    episode: str
    id: str
    """`turn-seq`: unique and increasing within the episode; also its entry id on the bus."""
    time: float = 0.0
    """Wall time in seconds since the epoch; not part of an episode's hash."""
    cause: str | None = None
    """Id of the message this one answers (a tool result names its call)."""

    @property
    def turn(self) -> int:
        return int(self.id.partition("-")[0])

    @cached_property
    def text(self) -> str:
        """The text parts, joined; tool parts are not in it."""
        return " ".join(part.text for part in self.parts if isinstance(part, Text))

    def audible(self, seat: str) -> bool:
        """Whether this seat may hear it: in the audience, or the speaker."""
        return self.audience is None or seat == self.seat or seat in self.audience


class Tool(Frozen):
    """A tool a seat may call: JSON-schema properties by argument name."""

    name: str
    description: str
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Argument name → JSON schema. Every argument is required unless its schema has a `default`."""


class View(Frozen):
    """What one seat may see of the state beside the messages. Producer: the scenario, for each turn."""

    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    private: dict[str, JsonValue] = Field(default_factory=dict)
    """Typed data for this seat alone, such as a simulated person's persona and goal."""


class Limits(Frozen):
    """What one episode may spend. Seconds are wall time on the arena's clock."""

    turn_seconds: float = Field(default=60.0, gt=0)
    episode_seconds: float = Field(default=600.0, gt=0)
    turns: int = Field(default=60, gt=0)
    """Turns of all seats together before the harness ends the episode with `turn_cap`."""
    turn_tokens: int = Field(default=64, gt=0)
    """Tokens a seat may sample in one turn."""
    message_chars: int = Field(default=8000, gt=0)
    """Characters of one action: speech, arguments of calls, thought and memory together."""
    attempts: int = Field(default=3, gt=0)
    """Times one turn is asked for (lost hosts, timeouts) before it is a fault."""
    clipped: Literal["end", "speak"] = "end"
    """A turn cut off at `turn_tokens`: end the episode (`length_cap`), or let what was said stand."""


class Observation(Frozen):
    """All that an agent knows when it acts. Producer: the conductor. Consumer: `Agent.act`."""

    episode: str
    scenario: str
    seat: str
    turn: int
    seed: int
    """This seat's seed in this episode; one turn's chance is `derive(seed, turn)`."""
    view: View
    messages: tuple[Message, ...] = ()
    """Everything this seat may hear so far, in order, its own thoughts and memory among them."""
    trail: Trail | None = None
    """Token ids this seat has consumed and sampled so far; the next prompt extends them."""
    max_tokens: int = 64

    def memory(self) -> Mapping[str, JsonValue]:
        """What this agent last chose to remember; empty at first."""
        for message in reversed(self.messages):
            if message.kind == "thought" and message.seat == self.seat:
                for part in message.parts:
                    if isinstance(part, ToolResult) and part.name == "memory" and isinstance(part.content, dict):
                        return part.content
        return {}


class Action(Frozen):
    """What a seat does in its turn. Producer: an agent. Consumers: the conductor, then the scenario.

    The conductor strips `thought`, `memory` and `record` before the scenario sees the action.
    """

    parts: tuple[Text | ToolCall, ...] = ()
    leave: bool = False
    """Asks to end the conversation; only the scenario decides whether this seat may."""
    thought: str = ""
    """Private reasoning: becomes a message that only its own seat hears."""
    memory: dict[str, JsonValue] | None = None
    """What to remember until the next turn: replaces what was remembered before."""
    record: TurnRecord | None = None
    """The tokens behind this action, when an engine sampled them."""

    @property
    def text(self) -> str:
        return " ".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def say(text: str, **more: Any) -> Action:
    """An action that speaks one text."""
    return Action(parts=(Text(text=text),), **more)


def notice(text: str, audience: tuple[str, ...] | None = None) -> Draft:
    """A message from the world that no seat said; everyone hears it, or the seats in `audience`."""
    return Draft(seat=WORLD, kind="notice", parts=(Text(text=text),), audience=audience)


def call(name: str, **arguments: JsonValue) -> Action:
    """An action that calls one tool."""
    return Action(parts=(ToolCall(name=name, arguments=arguments),))


def drafts(seat: str, action: Action, audience: tuple[str, ...] | None = None) -> tuple[Draft, ...]:
    """The messages an action makes when it is carried out as it stands: one speech, then its tool calls."""
    spoken = tuple(part for part in action.parts if isinstance(part, Text))
    said = (Draft(seat=seat, kind="speech", parts=spoken, audience=audience),) if spoken else ()
    return said + tuple(Draft(seat=seat, kind="tool_call", parts=(c,), audience=audience) for c in action.calls)
