"""A glance: one conversation in short, as a list of many shows it. Told on the bus at every move, kept in the
index of a batch at the end.

Each glance stands alone: a viewer that missed any number of them is right again with the next. Texts are as
they were said, not yet safe to show. Knows no bus, no file and no screen.
"""

import json
from collections.abc import Iterable
from typing import Any

from pydantic import Field, JsonValue

from simarena.arena.episodes import Ending, Episode, Parent
from simarena.arena.messages import Frozen, Message, Part, Text, ToolCall, ToolResult

LINE = 160
"""Characters of the newest line that a glance keeps."""


class Glance(Frozen):
    """What a conversation has come to. Producer: the conductor, or `of` an episode. Consumers: viewers."""

    episode: str
    scenario: str = ""
    seats: dict[str, str] = Field(default_factory=dict)
    """Seat → `AgentSpec.short`."""
    labels: dict[str, str] = Field(default_factory=dict)
    deal: int = 0
    member: int = 0
    turn: int = 0
    """Turns so far."""
    seat: str = ""
    """Who said the newest line."""
    kind: str = ""
    line: str = ""
    """The newest line, at most `LINE` characters."""
    returns: dict[str, float] = Field(default_factory=dict)
    """Sum of rewards so far, by seat that earned."""
    version: int | None = None
    """Newest policy version that spoke."""
    started: float = 0.0
    """Wall time of the first message, seconds since the epoch."""
    updated: float = 0.0
    ending: Ending | None = None
    success: bool | None = None
    """None where no check decides: before the end, for endings that are not scored, and in contests."""
    parent: Parent | None = None
    """For a fork: what it went on from."""


def of(episode: Episode) -> Glance:
    """An ended episode at a glance."""
    versions = [turn.record.version for turn in episode.turns if turn.record is not None]
    return Glance(
        episode=episode.id,
        scenario=episode.scenario,
        seats={name: seat.spec.short for name, seat in episode.seats.items()},
        labels=episode.labels,
        deal=episode.deal,
        member=episode.member,
        turn=max((turn.index for turn in episode.turns), default=0),
        returns=earned((reward.seat, reward.value) for reward in episode.rewards),
        version=versions[-1] if versions else None,
        started=episode.messages[0].time if episode.messages else 0.0,
        ending=episode.ending,
        success=episode.success if episode.checks else None,
        parent=episode.parent,
        **newest(episode.messages),
    )


def newest(messages: Iterable[Message]) -> dict[str, Any]:
    """The fields of a glance that tell of the last of these messages: of one that was said, if any was."""
    told = [*messages]
    spoken = (message for message in reversed(told) if message.kind != "thought")
    last = next(spoken, told[-1] if told else None)
    if last is None:
        return {}
    return {"seat": last.seat, "kind": last.kind, "line": excerpt(last), "updated": last.time}


def earned(rewards: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Sum by seat of (seat, value) pairs."""
    sums: dict[str, float] = {}
    for seat, value in rewards:
        sums[seat] = sums.get(seat, 0.0) + value
    return sums


def excerpt(message: Message, width: int = LINE) -> str:
    """The beginning of a message as plain text."""
    return " ".join(map(plain, message.parts))[:width]


def plain(part: Part) -> str:
    """One part as plain text: what was said, `@name key=value` for a call, the content of a result."""
    match part:
        case Text():
            return part.text
        case ToolCall():
            arguments = " ".join(f"{name}={value_text(value)}" for name, value in part.arguments.items())
            return f"@{part.name} {arguments}".rstrip()
        case ToolResult():
            return value_text(part.content)
    return f"[image {part.mime} {part.sha256[:12]}]"


def value_text(value: JsonValue) -> str:
    """A value as short readable text: objects as `key=value`, lists with commas."""
    if isinstance(value, dict):
        return " ".join(f"{name}={value_text(inner)}" for name, inner in value.items()) or "{}"
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) or "[]"
    return value if isinstance(value, str) else json.dumps(value)
