"""A person at a seat, in the plain terminal: reads what the seat may hear, types what it says.

Implements the Agent protocol; the arena serves it from the process that owns the terminal. Draws on stderr,
so that stdout stays data. What has been shown already is a cache; the record is the observation.
"""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence

from rich.console import Group
from rich.text import Text

from simarena.agents import toolcalls
from simarena.arena.messages import Action, Message, Observation, Tool
from simarena.arena.messages import Text as Said
from simarena.arena.specs import AgentSpec
from simarena.arena.text import one_line, visible
from simarena.tui.briefing import briefing
from simarena.tui.console import narrate
from simarena.tui.transcript import conversation

SPEC = AgentSpec(agent="simarena.tui.human:HumanAgent", lane="human")
"""How a seat is given to the person at this terminal."""

_HELP = """Type what you say and press Enter.
  /brief   show again what you know
  /leave   end the conversation (Ctrl-D does the same)
  /help    this help"""


class Lines:
    """Lines of a file descriptor, read on a thread of their own so that a conversation can go on meanwhile."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self._ended = False

    async def __call__(self) -> str | None:
        """The next line without its end; None at the end of input."""
        while b"\n" not in self._rest and not self._ended:
            chunk = await self._chunk()
            self._rest += chunk
            self._ended = not chunk
        line, end, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace") if line or end else None

    async def _chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        got: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:  # the terminal is gone: the same as the end of input
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_deliver, got, data)

        # A daemon thread: one that waits for a key must not keep the program from ending on Ctrl-C.
        threading.Thread(target=read, daemon=True, name="keyboard").start()
        return await got


def _deliver(waiting: asyncio.Future[bytes], data: bytes) -> None:
    if not waiting.done():
        waiting.set_result(data)


class HumanAgent:
    """Whoever sits at this terminal. One at a time is asked, however many seats the person takes."""

    def __init__(self, lines: Callable[[], Awaitable[str | None]] | None = None) -> None:
        self._lines = lines or Lines()
        self._asking = asyncio.Lock()
        self._shown: dict[tuple[str, str], int] = {}

    async def act(self, observation: Observation) -> Action:
        """Show what is new to this seat and wait for a line. The end of input leaves the conversation."""
        async with self._asking:
            self._show(observation)
            while True:
                self._prompt(observation.seat)
                line = await self._lines()
                if line is None:
                    narrate("")
                    return Action(leave=True)
                if (action := self._understand(line.strip(), observation)) is not None:
                    return action

    def _show(self, observation: Observation) -> None:
        key = (observation.episode, observation.seat)
        if key not in self._shown:
            narrate(Text(f"You are the {one_line(observation.seat)}. /help lists what you can type.", "bold"))
            narrate(Group(briefing(observation.view)), "")
            news = list(observation.messages)  # in a fork somebody else has spoken for this seat before
        else:
            news = _news(observation, self._shown[key])
        if news:
            narrate(conversation(news, sorted({message.seat for message in observation.messages})))
        self._shown[key] = len(observation.messages)

    def _prompt(self, seat: str) -> None:
        sys.stderr.write(f"{one_line(seat)}> ")
        sys.stderr.flush()

    def _understand(self, line: str, observation: Observation) -> Action | None:
        """The action a line asks for; None if it only asked us something."""
        match line:
            case "":
                return None
            case "/leave":
                return Action(leave=True)
            case "/help":
                narrate(Text(_HELP), *map(_usage, observation.view.tools))
            case "/brief":
                narrate(Group(briefing(observation.view)))
            case _ if line.startswith("/"):
                narrate(Text(f"no command {one_line(line)}: /help lists them"))
            case _:
                return _said(line, observation.view.tools)
        return None


def _news(observation: Observation, shown: int) -> list[Message]:
    """Messages not shown yet, without the seat's own words, which the person has just typed."""
    return [
        message
        for message in observation.messages[shown:]
        if message.seat != observation.seat or message.kind not in ("speech", "tool_call", "thought")
    ]


def _said(line: str, tools: Sequence[Tool]) -> Action | None:
    """Speech or tool calls; a call that does not fit its tool is sent back to the person."""
    reply = toolcalls.parse(line, tools)
    if reply.error:
        narrate(Text(one_line(reply.error)))
        return None
    spoken = (Said(text=reply.text),) if reply.text else ()
    return Action(parts=(*spoken, *reply.calls))


def _usage(tool: Tool) -> Text:
    return Text(visible(f"  {toolcalls.signature(tool)}   {tool.description}"))
