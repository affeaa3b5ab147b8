"""Hosts as tasks of this event loop: for tests, debugging, small runs and virtual time. No Ray."""

import asyncio
from collections.abc import Mapping
from typing import Any

from simarena.arena import wire
from simarena.arena.bus import Bus
from simarena.arena.errors import UsageError
from simarena.arena.host import AgentHost
from simarena.arena.protocols import Engine
from simarena.arena.specs import PEOPLE, EngineSpec, build_engine


class InprocBackend:
    """One task per host; engines are shared by the replicas of a policy, since they share the process."""

    def __init__(self, bus: Bus, run: str) -> None:
        self._bus, self._run = bus, run
        self._engines: dict[str, Engine] = {}
        self._hosts: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def start(self, policies: Mapping[str, EngineSpec], people: int) -> None:
        for name, spec in policies.items():
            self._engines[name] = build_engine(spec)
            await self._open(f"policy.{name}", spec.replicas)
        await self._open(PEOPLE, people)

    def hosts(self) -> list[tuple[str, str]]:
        return list(self._hosts)

    async def publish(self, policy: str, version: int, weights: Any) -> None:
        if policy not in self._engines:
            raise UsageError(f"no policy {policy!r} in this arena: it has {sorted(self._engines)}")
        await self._engines[policy].update_weights(version, weights)

    async def kill(self, lane: str, replica: str) -> None:
        task = self._hosts[lane, replica]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self._spawn(lane, replica)

    async def stop(self) -> None:
        for task in self._hosts.values():
            task.cancel()
        await asyncio.gather(*self._hosts.values(), return_exceptions=True)

    async def _open(self, lane: str, replicas: int) -> None:
        names = [str(i) for i in range(replicas)]
        await self._bus.put(wire.hosts(self._run, lane), ",".join(names))
        for name in names:
            self._spawn(lane, name)

    def _spawn(self, lane: str, replica: str) -> None:
        engine = self._engines.get(lane.removeprefix("policy."))
        host = AgentHost(self._bus, self._run, lane, replica, engine=engine)
        self._hosts[lane, replica] = asyncio.create_task(host.serve(), name=f"host {lane}/{replica}")
