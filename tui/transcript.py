"""Conversations as a person reads them: who said what to whom, what it earned, how it ended.

Every text of an episode passes `arena.text` here and becomes a `rich.text.Text`, never markup, so what a model
says can neither move the cursor nor look like another speaker. Knows no command, no file and no scenario.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from simarena.arena.episodes import Episode, Reward, Seat
from simarena.arena.messages import WORLD, Message, Part, ToolCall, ToolResult
from simarena.arena.messages import Text as Said
from simarena.arena.text import one_line, visible

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue")
_WHO = 11
"""Columns of the speaker's name."""


def transcript(episode: Episode) -> Group:
    """The whole conversation: heading, messages with rewards, verdict."""
    return Group(
        heading(episode),
        conversation(episode.messages, tuple(episode.seats), episode.rewards),
        verdict(episode),
    )


def heading(episode: Episode) -> Text:
    """What was played, by whom, at which versions."""
    labels = [f"{name} {value}" for name, value in episode.labels.items() if value]
    text = Text(one_line(" · ".join([episode.id, episode.scenario, f"deal {episode.deal}", *labels])), "bold")
    for name, seat in episode.seats.items():
        text.append("\n")
        text.append(one_line(f"{name}: {_occupant(seat)}"), "dim")
    return text


def conversation(
    messages: Iterable[Message], seats: Sequence[str], rewards: Iterable[Reward] = ()
) -> RenderableType:
    """Messages in order, one row each; what a turn earned stands at the right of its first."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", width=3, style="dim")
    grid.add_column(width=_WHO)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(justify="right", max_width=20, style="dim")
    earned = _earnings(rewards)
    last = -1
    for message in messages:
        turn = message.turn
        number = str(turn) if turn and turn != last else ""
        grid.add_row(number, _speaker(message, seats), _body(message), earned.pop(turn, Text()))
        last = turn
    for turn in sorted(earned):
        grid.add_row(str(turn), "", Text("(nothing said)", "dim"), earned[turn])
    return grid


def verdict(episode: Episode) -> Text:
    """How it ended, the named checks, and each seat's return."""
    text = Text("ended: ", "bold")
    good = episode.success
    result = "success" if good else ("failure" if episode.ending == "finished" else "not scored")
    text.append(f"{episode.ending}, {result}", "bold green" if good else "bold red")
    if episode.fault:
        text.append(f"\n  {one_line(episode.fault)}", "red")
    if episode.checks:
        text.append("\n")
    for name, passed in episode.checks.items():
        text.append(f"  {'✓' if passed else '✗'} {one_line(name)}", "green" if passed else "red")
    returns = ", ".join(f"{seat} {episode.returns(seat):+.2f}" for seat in _earners(episode))
    return text.append(f"\n  return: {one_line(returns)}") if returns else text


def summary(episode: Episode) -> tuple[str, str, str]:
    """An episode in a list: id, result, labels; safe to show."""
    result = "success" if episode.success else ("failure" if episode.ending == "finished" else episode.ending)
    labels = " · ".join(f"{name} {value}" for name, value in episode.labels.items() if value)
    return one_line(episode.id), result, one_line(labels)


def outline(data: Mapping[str, JsonValue]) -> str:
    """Structured data as indented lines of `name: value`; not yet made safe to show."""
    return "\n".join(line for name, value in data.items() for line in _outline(name, value, 0))


def _plain(text: str, style: str = "") -> Text:
    return Text(visible(text), style)


def _occupant(seat: Seat) -> str:
    options = " ".join(f"{name}={_value(value)}" for name, value in seat.spec.options.items())
    version = "" if seat.version is None else f", version {seat.version}"
    return f"{' '.join([seat.spec.agent, options]).strip()} on {seat.spec.lane}{version}"


def _speaker(message: Message, seats: Sequence[str]) -> Text:
    if message.kind in ("tool_result", "notice") or message.seat == WORLD:
        return Text("", "dim")
    place = seats.index(message.seat) if message.seat in seats else len(seats)
    return Text(one_line(message.seat, _WHO), f"bold {_COLOURS[place % len(_COLOURS)]}")


def _body(message: Message) -> Text:
    style = "dim italic" if message.kind == "thought" else ("dim" if message.kind == "notice" else "")
    text = Text(style=style)
    if mark := _mark(message):
        text.append(mark, "dim italic")
    for i, part in enumerate(message.parts):
        text.append(" " if i else "")
        text.append_text(_part(part))
    return text


def _mark(message: Message) -> str:
    """What sets this message apart from something said aloud to everyone."""
    if message.kind == "thought":
        remembers = any(isinstance(part, ToolResult) and part.name == "memory" for part in message.parts)
        return "(remembers) " if remembers else "(thinks) "
    if message.kind in ("speech", "notice") and message.audience is not None:
        hearers = ", ".join(seat for seat in message.audience if seat != message.seat)
        return one_line(f"(to {hearers} only)") + " "
    return "(notice) " if message.kind == "notice" else ""


def _part(part: Part) -> Text:
    if isinstance(part, Said):
        return _plain(part.text)
    if isinstance(part, ToolCall):
        arguments = " ".join(f"{name}={_value(value)}" for name, value in part.arguments.items())
        return _plain(f"@{part.name} {arguments}".rstrip(), "yellow")
    if isinstance(part, ToolResult):
        if part.name == "memory":
            return _plain(_value(part.content))
        return _plain(f"{'✗' if part.error else '→'} {_value(part.content)}", "red" if part.error else "blue")
    return _plain(f"[image {part.mime} {part.sha256[:12]}]")


def _value(value: JsonValue) -> str:
    """A value as short readable text: objects as `key=value`, lists with commas."""
    if isinstance(value, dict):
        return " ".join(f"{name}={_value(inner)}" for name, inner in value.items()) or "{}"
    if isinstance(value, list):
        return ", ".join(_value(inner) for inner in value) or "[]"
    return value if isinstance(value, str) else json.dumps(value)


def _outline(name: str, value: JsonValue, depth: int) -> Iterator[str]:
    label = "  " * depth + name.replace("_", " ")
    if isinstance(value, dict) and value:
        yield f"{label}:"
        for inner, deeper in value.items():
            yield from _outline(inner, deeper, depth + 1)
    else:
        yield f"{label}: {_value(value)}"


def _earnings(rewards: Iterable[Reward]) -> dict[int, Text]:
    """What each turn earned, by turn index; seats are named only where several earn. Zeros are left out."""
    paid = [reward for reward in rewards if reward.value]
    several = len({reward.seat for reward in paid}) > 1
    by_turn: dict[int, list[str]] = {}
    for reward in paid:
        name = f"{one_line(reward.seat)} " if several else ""
        by_turn.setdefault(reward.index, []).append(f"{name}{reward.value:+.2f}")
    return {turn: Text("\n".join(parts), "dim") for turn, parts in by_turn.items()}


def _earners(episode: Episode) -> list[str]:
    earned = {reward.seat for reward in episode.rewards}
    return [seat for seat in episode.seats if seat in earned]
