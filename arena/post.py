"""The post: carries turn requests and replies between one conductor and the hosts, over the bus.

At least once out, at most once in: a request may be asked again, the first reply to it counts. A bus that
is full or away is waited for. Knows envelopes and streams, not what a turn means.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from simarena.arena import glance as glances
from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.episodes import Episode
from simarena.arena.errors import (
    AgentFault,
    BusError,
    BusFull,
    BusUnavailable,
    EnvironmentFault,
    PayloadTooLarge,
    RecordError,
    SimulatorFault,
)
from simarena.arena.lanes import HEARTBEAT, Lanes
from simarena.arena.messages import Limits, Message, Observation
from simarena.arena.specs import PEOPLE, AgentSpec

KEPT_POINTERS = 10_000
"""Newest pointers kept for viewers."""
KEPT_SECONDS = 60.0
"""Seconds a finished conversation stays on the bus; the run folder is the record."""

FORGOTTEN_SECONDS = 5.0
"""Seconds after which streams that nobody reads any more are gone. Deleting one at once would make a read that is
still blocked on it make it anew."""

_Key = tuple[str, int, str]


class Post:
    """One conductor's mailbox."""

    def __init__(self, bus: Bus, run: str, conductor: str, lanes: Lanes) -> None:
        self._bus, self._run, self._lanes = bus, run, lanes
        self._inbox = wire.replies(run, conductor)
        self._waiting: dict[_Key, asyncio.Future[wire.TurnReply]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._pointed = 0
        self._open: set[str] = set()
        """Conversations on the bus that will not be forgotten by themselves yet."""

    async def start(self) -> None:
        self._reader = asyncio.create_task(self._listen(), name="post")

    async def stop(self) -> None:
        """Stop listening, and let the bus forget everything that this conductor wrote."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        with contextlib.suppress(BusError):
            await self._bus.expire([self._inbox], FORGOTTEN_SECONDS)
            streams = [wire.conversation(self._run, episode) for episode in sorted(self._open)]
            await self._bus.expire([wire.pointers(self._run), *streams], KEPT_SECONDS)

    async def ask(self, spec: AgentSpec, seen: Observation, limits: Limits) -> tuple[wire.TurnReply, int]:
        """The reply to this observation and how often it was asked for.

        Asks again after a share of `turn_seconds`, in case the request was lost with its host or the bus.
        Raises AgentFault, or SimulatorFault for a simulated person, at the deadline; EnvironmentFault for a
        conversation that has outgrown what the bus carries.
        """
        key = (seen.episode, seen.turn, seen.seat)
        loop = asyncio.get_running_loop()
        future = self._waiting[key] = loop.create_future()
        patience, deadline = limits.turn_seconds / limits.attempts, loop.time() + limits.turn_seconds
        try:
            for attempt in range(limits.attempts):
                replica = await self._lanes.pick(spec.lane, seen.episode, seen.seat, deadline)
                request = wire.TurnRequest(
                    episode=seen.episode,
                    turn=seen.turn,
                    seat=seen.seat,
                    attempt=attempt,
                    reply_to=self._inbox,
                    spec=spec,
                    observation=seen,
                )
                payload = request.model_dump_json().encode()
                stream = wire.work(self._run, spec.lane, replica)
                try:
                    await self._patiently(lambda s=stream, p=payload: self._bus.push(s, p))  # type: ignore[misc]
                except PayloadTooLarge as error:
                    raise EnvironmentFault(
                        f"seat {seen.seat!r} has heard more than a request can carry ({error}): "
                        "lower limits.turns or limits.message_chars"
                    ) from None
                try:
                    async with asyncio.timeout(patience):
                        return await asyncio.shield(future), attempt + 1
                except TimeoutError:
                    continue
            fault = SimulatorFault if spec.lane == PEOPLE else AgentFault
            raise fault(f"seat {seen.seat!r} did not answer within {limits.turn_seconds:g} s", "timeout")
        finally:
            del self._waiting[key]

    async def open_conversation(self, episode: str) -> None:
        """Clear what an earlier playing of the same id left on the bus: this one is its only writer."""
        self._open.add(episode)
        await self._patiently(lambda: self._bus.delete([wire.conversation(self._run, episode)]))

    async def publish(
        self, messages: Sequence[Message], glance: Mapping[str, Any] | None, after: asyncio.Task[None] | None
    ) -> None:
        """Append messages to their conversation, once `after` has written the earlier ones, and point viewers
        at the newest if there is a `glance`. In order: a stream takes no entry that comes before its last."""
        if after is not None:
            await after
        stream = wire.conversation(self._run, messages[0].episode)
        for message in messages:
            await self._append(stream, message)
        if glance is not None:
            await self._point({"message": messages[-1].id, **glance})

    async def close_conversation(self, episode: Episode) -> None:
        """Tell viewers how it ended and let the bus forget it after a while."""
        last = episode.messages[-1].id if episode.messages else ""
        glance = {**glances.of(episode).model_dump(), "message": last, "checks": episode.checks}
        stream = wire.conversation(self._run, episode.id)
        await asyncio.gather(
            self._point(glance),
            self._patiently(lambda: self._bus.expire([stream], KEPT_SECONDS)),
        )
        self._open.discard(episode.id)

    async def _append(self, stream: str, message: Message) -> None:
        payload = message.model_dump_json().encode()
        await self._patiently(lambda: self._bus.append(stream, message.id, payload))

    async def _point(self, glance: Mapping[str, Any]) -> None:
        self._pointed += 1
        pointer = wire.Pointer(number=self._pointed, **glance)
        payload = pointer.model_dump_json(exclude_defaults=True).encode()
        await self._patiently(lambda: self._bus.push(wire.pointers(self._run), payload, keep=KEPT_POINTERS))

    async def _patiently(self, send: Callable[[], Awaitable[object]]) -> None:
        """Send; while the bus is full or away, wait and send again. The caller's deadline bounds the wait."""
        pause = HEARTBEAT / 10
        while True:
            try:
                await send()
                return
            except (BusFull, BusUnavailable):
                await asyncio.sleep(pause)
                pause = min(2 * pause, 4 * HEARTBEAT)

    async def _listen(self) -> None:
        while True:
            try:
                got = await self._bus.consume(self._inbox, wire.GROUP, "conductor", count=500, block=1.0)
                for delivery in got:
                    self._deliver(delivery.payload)
                if got:
                    await self._bus.ack(self._inbox, wire.GROUP, [delivery.id for delivery in got])
            except BusError:
                await asyncio.sleep(HEARTBEAT)

    def _deliver(self, payload: bytes) -> None:
        reply = _parse(payload)
        if reply is None:
            return
        future = self._waiting.get((reply.episode, reply.turn, reply.seat))
        if future is not None and not future.done():
            future.set_result(reply)


def _parse(payload: bytes) -> wire.TurnReply | None:
    """The reply; one that names its turn but is otherwise malformed is its agent's fault; else None."""
    try:
        return wire.TurnReply.model_validate_json(payload)
    except (ValueError, RecordError) as error:
        why = str(error).splitlines()[0]
    try:
        data = json.loads(payload)
        return wire.TurnReply(
            episode=data["episode"], turn=data["turn"], seat=data["seat"], fault=f"malformed reply: {why}"
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
