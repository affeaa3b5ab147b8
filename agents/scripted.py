"""Scripted agents: fixed lines and an echo, for tests, examples and anchors.

Both are pure functions of the observation: how far they are is counted from what they have already said.
Know no engine.
"""

from collections.abc import Sequence

from simarena.agents import toolcalls
from simarena.arena.messages import Action, Observation, Text


class Lines:
    """Says its lines in order, one a turn, tool calls in the `@name value` syntax; then repeats the last."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = tuple(lines) or ("",)

    async def act(self, observation: Observation) -> Action:
        own = (m for m in observation.messages if m.seat == observation.seat and m.kind in ("speech", "tool_call"))
        turns = len({message.turn for message in own})
        reply = toolcalls.parse(self._lines[min(turns, len(self._lines) - 1)], observation.view.tools)
        said = (Text(text=reply.text),) if reply.text or not reply.calls else ()
        return Action(parts=(*said, *reply.calls))


class Echo:
    """Repeats what another seat said last."""

    async def act(self, observation: Observation) -> Action:
        heard = [m.text for m in observation.messages if m.kind == "speech" and m.seat != observation.seat]
        return Action(parts=(Text(text=heard[-1] if heard else ""),))
