"""The agent host: answers turn requests of one lane. Holds many agents and at most one engine.

It acts on all waiting requests at once, so an engine sees them as one batch. Replies first, then
acknowledges: a host that dies in between is asked again, and the second reply is dropped. Knows no
scenario; an agent is a pure function of the request, so any host can go on with any conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable

from simarena.arena import wire
from simarena.arena.bus import Bus, Delivery
from simarena.arena.errors import BusError, PayloadTooLarge, SimArenaError
from simarena.arena.lanes import GRACE, HEARTBEAT
from simarena.arena.messages import Action
from simarena.arena.protocols import Agent, Engine
from simarena.arena.specs import PEOPLE, build_agent

DELIVERIES = 5
"""Times one request is handed to hosts before it goes to the dead letters."""


class AgentHost:
    """One replica of a lane."""

    def __init__(self, bus: Bus, run: str, lane: str, replica: str, *, engine: Engine | None = None) -> None:
        self._bus, self._run, self._lane, self._replica = bus, run, lane, replica
        self._engine = engine
        self._agents: dict[str, Agent] = {}
        self._acting: dict[tuple[str, int, str], asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Serve until cancelled. Starts with what an earlier life of this replica left pending."""
        own = wire.work(self._run, self._lane, self._replica)
        side = [asyncio.create_task(self._heartbeat()), asyncio.create_task(self._adopt())]
        try:
            await self._forever(lambda: self._take_pending(own))
            while True:
                await self._forever(lambda: self._take(own, block=1.0))
        finally:
            tasks = [*side, *self._acting.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _forever(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do it; while the bus is away, wait and do it again."""
        while True:
            try:
                await work()
                return
            except BusError:
                await asyncio.sleep(HEARTBEAT)

    async def _take_pending(self, stream: str) -> None:
        for delivery in await self._bus.pending(stream, wire.GROUP, self._replica):
            self._begin(stream, delivery)

    async def _take(self, stream: str, block: float = 0.0) -> None:
        for delivery in await self._bus.consume(stream, wire.GROUP, self._replica, count=512, block=block):
            self._begin(stream, delivery)

    def _begin(self, stream: str, delivery: Delivery) -> None:
        try:
            request = wire.TurnRequest.model_validate_json(delivery.payload)
        except ValueError:
            request = None
        key = (request.episode, request.turn, request.seat) if request else (delivery.id, 0, "")
        if key in self._acting:
            # Asked again while we still think: the reply on its way answers both.
            task = asyncio.create_task(self._ack(stream, delivery.id))
            key = (delivery.id, 0, "")
        else:
            task = asyncio.create_task(self._answer(stream, delivery.id, request))
        self._acting[key] = task
        task.add_done_callback(lambda _: self._acting.pop(key, None))

    async def _answer(self, stream: str, delivery: str, request: wire.TurnRequest | None) -> None:
        if request is not None:
            reply = await self._act(request)
            await self._forever(lambda: self._reply(request.reply_to, reply))
        await self._ack(stream, delivery)

    async def _reply(self, stream: str, reply: wire.TurnReply) -> None:
        """Send the reply; one that is too large for the bus becomes its agent's fault."""
        try:
            await self._bus.push(stream, reply.model_dump_json().encode())
        except PayloadTooLarge as error:
            fault = reply.model_copy(update={"action": None, "fault": f"its reply is too large: {error}"})
            await self._bus.push(stream, fault.model_dump_json().encode())

    async def _ack(self, stream: str, delivery: str) -> None:
        await self._forever(lambda: self._bus.ack(stream, wire.GROUP, [delivery]))

    async def _act(self, request: wire.TurnRequest) -> wire.TurnReply:
        action: Action | None = None
        fault = ""
        try:
            name = request.spec.model_dump_json()
            if (agent := self._agents.get(name)) is None:
                agent = self._agents[name] = build_agent(request.spec, self._engine)
            acted: object = await agent.act(request.observation)
            if isinstance(acted, Action):
                action = acted
            else:
                fault = f"act of {request.spec.agent!r} returned {type(acted).__name__}, not Action"
        except SimArenaError as error:
            fault = str(error)
        except Exception as error:  # an agent is anyone's code: its failure is data, never ours
            fault = f"{type(error).__name__}: {error}"
        return wire.TurnReply(
            episode=request.episode,
            turn=request.turn,
            seat=request.seat,
            attempt=request.attempt,
            action=action,
            fault=fault,
            kind="simulator" if self._lane == PEOPLE else "agent",
        )

    async def _heartbeat(self) -> None:
        key = wire.heartbeat(self._run, self._lane, self._replica)
        while True:
            await self._forever(lambda: self._bus.put(key, "alive", ttl=GRACE))
            await asyncio.sleep(HEARTBEAT)

    async def _adopt(self) -> None:
        """Take over the requests of replicas of this lane that fell silent."""
        while True:
            await asyncio.sleep(GRACE)
            await self._forever(self._adopt_once)

    async def _adopt_once(self) -> None:
        (names,) = await self._bus.get([wire.hosts(self._run, self._lane)])
        peers = [name for name in (names or "").split(",") if name and name != self._replica]
        signs = await self._bus.get([wire.heartbeat(self._run, self._lane, name) for name in peers])
        for peer in (name for name, sign in zip(peers, signs, strict=True) if sign is None):
            stream = wire.work(self._run, self._lane, peer)
            dead = wire.dead_letters(self._run)
            for delivery in await self._bus.reclaim(
                stream, wire.GROUP, self._replica, idle=GRACE, cap=DELIVERIES, dead=dead
            ):
                self._begin(stream, delivery)
            await self._take(stream)
