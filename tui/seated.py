"""A person at a seat of the screen: what the seat may hear goes out through a door, what it says comes in.

Implements the Agent protocol; the arena serves it from the process that owns the terminal. One person, one door:
whoever opened it last is asked. Draws nothing.
"""

import asyncio
from collections.abc import Callable

from simarena.agents import toolcalls
from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, Observation, Text
from simarena.arena.specs import AgentSpec

SPEC = AgentSpec(agent="simarena.tui.seated:Seated", lane="human")
"""How a seat is given to the person at this screen."""


class Door:
    """Between a conversation and a screen. `asked` is called with each observation that waits for an action."""

    def __init__(self, asked: Callable[[Observation], None]) -> None:
        self._asked = asked
        self._turns = asyncio.Lock()
        self._answer: asyncio.Future[Action] | None = None
        self.observation: Observation | None = None
        """What waits for an action; None while nothing does."""

    async def ask(self, observation: Observation) -> Action:
        """Wait for what the person does. One seat at a time is asked, however many the person takes."""
        async with self._turns:
            self.observation = observation
            self._answer = asyncio.get_running_loop().create_future()
            self._asked(observation)
            try:
                return await self._answer
            finally:
                self.observation = self._answer = None

    def say(self, line: str) -> None:
        """Speak, or call a tool (`@name key=value`). Raises UsageError for a call that does not fit."""
        assert self.observation is not None, "nobody waits for a word"
        reply = toolcalls.parse(line, self.observation.view.tools)
        if reply.error:
            raise UsageError(reply.error)
        spoken = (Text(text=reply.text),) if reply.text else ()
        self._give(Action(parts=(*spoken, *reply.calls)))

    def leave(self) -> None:
        """Ask to end the conversation."""
        self._give(Action(leave=True))

    def _give(self, action: Action) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(action)


_open: list[Door] = []
"""The door that is open, if one is."""


def open_door(asked: Callable[[Observation], None]) -> Door:
    """Open the door; one opened before is closed by that."""
    _open[:] = [Door(asked)]
    return _open[0]


class Seated:
    """Whoever sits at this screen."""

    async def act(self, observation: Observation) -> Action:
        if not _open:
            raise UsageError(f"nobody sits at seat {observation.seat!r}: open the Seat screen of `simarena watch`")
        return await _open[0].ask(observation)
