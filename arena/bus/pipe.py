"""The pipe: every command that does not block travels through one, in call order, in few round trips.

Calls made while a batch is on its way leave together in the next. After a lost connection, commands that
are safe to repeat are sent again, in their order and before anything newer; the others fail, since nobody
can know whether they were carried out. Knows no stream and no reply's shape; raises what redis-py raises.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis import exceptions
from redis.asyncio import Redis

BATCH = 200
"""Calls in one round trip: more gain nothing and make the first of them wait."""
PAUSES = (0.05, 0.2, 0.8)
"""Seconds before each new attempt of commands that are safe to repeat."""

Word = str | bytes | int
Command = tuple[Word, ...]


@dataclass(slots=True)
class _Call:
    commands: tuple[Command, ...]
    repeatable: bool
    reply: "asyncio.Future[list[Any]]"


class Pipe:
    """Sends commands of one event loop over one connection."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._waiting: list[_Call] = []
        self._sender: asyncio.Task[None] | None = None

    async def send(self, *commands: Command, repeatable: bool) -> list[Any]:
        """The raw replies of these commands, carried out in order; raises the first that is an error."""
        reply: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        # Encoded here, so that text which cannot be fails this call and not its whole batch.
        self._waiting.append(_Call(tuple(map(_encoded, commands)), repeatable, reply))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_waiting(), name="bus pipe")
        return await reply

    async def close(self) -> None:
        """Send what waits, then hang up."""
        if self._sender is not None:
            await asyncio.gather(self._sender, return_exceptions=True)
        await self._client.aclose()

    async def _send_waiting(self) -> None:
        while self._waiting:
            # A caller that gave up before its commands left does not want them carried out.
            batch = [call for call in self._waiting[:BATCH] if not call.reply.done()]
            del self._waiting[:BATCH]
            try:
                await self._send(batch)
            except Exception as error:
                _fail(batch, error)

    async def _send(self, batch: list[_Call]) -> None:
        for pause in PAUSES:
            try:
                return _answer(batch, await self._round_trip(batch))
            except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
                _fail([call for call in batch if not call.repeatable], error)
                batch = [call for call in batch if call.repeatable]
                if not batch:
                    return None
            await asyncio.sleep(pause)
        return _answer(batch, await self._round_trip(batch))

    async def _round_trip(self, batch: Sequence[_Call]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for call in batch:
            for command in call.commands:
                pipeline.execute_command(*command)
        return await pipeline.execute(raise_on_error=False)


def _encoded(command: Command) -> Command:
    return tuple(word.encode() if isinstance(word, str) else word for word in command)


def _answer(batch: Sequence[_Call], replies: list[Any]) -> None:
    """Give each caller its own replies, or its own error."""
    rest = iter(replies)
    for call in batch:
        own = [next(rest) for _ in call.commands]
        error = next((reply for reply in own if isinstance(reply, Exception)), None)
        if error is not None:
            _fail([call], error)
        elif not call.reply.done():
            call.reply.set_result(own)


def _fail(calls: Sequence[_Call], error: Exception) -> None:
    for call in calls:
        if not call.reply.done():
            call.reply.set_exception(error)
