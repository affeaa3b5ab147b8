"""Lanes: which hosts are alive, and which of them serves a conversation's seat.

A seat of a conversation stays with one replica (rendezvous hashing over the live ones), so that its cache
stays warm; when a replica dies only its own conversations move. Knows no agents and no scenario.
"""

import asyncio

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.errors import AgentFault, BusError, EnvironmentFault
from simarena.arena.seeds import derive
from simarena.arena.specs import PEOPLE

HEARTBEAT = 0.5
"""Seconds between signs of life."""
GRACE = 6 * HEARTBEAT
"""Seconds after which a silent host counts as dead."""


class Lanes:
    """One conductor's view of the hosts of its run, refreshed while anyone asks."""

    def __init__(self, bus: Bus, run: str) -> None:
        self._bus, self._run = bus, run
        self._live: dict[str, tuple[str, ...]] = {}
        self._asked_at: dict[str, float] = {}

    async def live(self, lane: str) -> tuple[str, ...]:
        """Replicas of the lane that gave a sign of life lately; at most one heartbeat old."""
        now = asyncio.get_running_loop().time()
        if now - self._asked_at.get(lane, -GRACE) < HEARTBEAT and self._live.get(lane):
            return self._live[lane]
        self._asked_at[lane] = now
        (names,) = await self._bus.get([wire.hosts(self._run, lane)])
        replicas = tuple(name for name in (names or "").split(",") if name)
        signs = await self._bus.get([wire.heartbeat(self._run, lane, name) for name in replicas])
        self._live[lane] = tuple(name for name, sign in zip(replicas, signs, strict=True) if sign is not None)
        return self._live[lane]

    async def pick(self, lane: str, episode: str, seat: str, deadline: float) -> str:
        """The replica for this seat; waits for one until `deadline` on the loop's clock.

        Then raises AgentFault for a guest's lane, EnvironmentFault for one that the run itself must keep alive.
        """
        while True:
            try:
                live = await self.live(lane)
            except BusError:
                live = ()
            if live:
                return max(live, key=lambda replica: derive(replica, episode, seat))
            if asyncio.get_running_loop().time() >= deadline:
                ours = lane == PEOPLE or lane.startswith("policy.")
                fault = EnvironmentFault if ours else AgentFault
                raise fault(f"no host serves lane {lane!r}: start one, or check its log", "forfeit")
            await asyncio.sleep(HEARTBEAT / 5)
