"""SimulatorArena: the facade. Opens a bus, hosts and a conductor, and plays conversations.

    async with SimulatorArena(backend="inproc") as arena:
        async for episode in arena.play("service-desk", deals=range(64), group=8):
            ...

Knows how the parts are wired; knows nothing of what they do.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Literal

from pydantic import JsonValue

from simarena.arena import wire
from simarena.arena.backends import Backend
from simarena.arena.bus import Bus, connect
from simarena.arena.collector import rarely
from simarena.arena.conductor import Conductor, Job
from simarena.arena.episodes import Episode
from simarena.arena.errors import BusError, UsageError
from simarena.arena.faults import Faults, FaultyBus, crash_hosts
from simarena.arena.forks import beginning
from simarena.arena.host import AgentHost
from simarena.arena.messages import Limits
from simarena.arena.post import FORGOTTEN_SECONDS
from simarena.arena.presence import Presence
from simarena.arena.protocols import Engine, Scenario
from simarena.arena.specs import AgentSpec, EngineSpec, build_scenario

Seating = Mapping[str, AgentSpec | str]
"""Seat → who plays it."""


class SimulatorArena:
    """An open arena; use it as an async context manager."""

    def __init__(
        self,
        backend: Literal["inproc", "ray"] = "inproc",
        *,
        bus: str | None = None,
        seed: int = 0,
        policies: Mapping[str, EngineSpec] | None = None,
        people: int = 1,
        limits: Limits | None = None,
        run: str | None = None,
        faults: Faults | None = None,
    ) -> None:
        """`bus` is a URL (`memory://`, `auto`, `redis://` ...); None takes what the backend needs.

        `people` is the number of hosts for scripted agents; `run` the key prefix on the bus;
        `faults` a schedule of bad luck for drills.
        """
        if backend not in ("inproc", "ray"):
            raise UsageError(f"unknown backend {backend!r}: known: inproc, ray")
        if backend == "ray" and (bus or "").startswith("memory:"):
            raise UsageError("backend 'ray' needs a bus that other processes reach: bus = 'auto' or a Redis URL")
        self.run = run or secrets.token_hex(4)
        self.seed = seed
        self.limits = limits or Limits()
        self._kind = backend
        self._bus_url = bus or ("memory://" if backend == "inproc" else "auto")
        self._policies, self._people = dict(policies or {}), people
        self._faults = faults
        self._bus: Bus | None = None
        self._backend: Backend | None = None
        self._conductor: Conductor | None = None
        self._collecting = rarely()
        self._presence: Presence | None = None
        self._guests: list[asyncio.Task[None]] = []
        self._guest_hosts: list[tuple[str, str]] = []

    async def __aenter__(self) -> "SimulatorArena":
        self._bus = await connect(self._bus_url)
        self._collecting.__enter__()
        if self._faults is not None:
            self._bus = FaultyBus(self._bus, self._faults)
        try:
            self._backend = _backend(self._kind, self._bus, self.run)
            await self._backend.start(self._policies, self._people)
            self._conductor = Conductor(self._bus, self.run)
            await self._conductor.start()
            self._presence = Presence(self._bus, self.run)
            await self._presence.start()
            if self._faults is not None:
                drill = crash_hosts(self._backend, self._backend.hosts(), self._faults)
                self._guests.append(asyncio.create_task(drill, name="crashes"))
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with AsyncExitStack() as last:  # what comes later is done even if what comes before fails
            if self._bus is not None:
                last.push(self._collecting)
                last.push_async_callback(self._bus.close)
                last.push_async_callback(self._sweep, self._bus)
            if self._presence is not None:
                last.push_async_callback(self._presence.stop)
            if self._backend is not None:
                last.push_async_callback(self._backend.stop)
            if self._conductor is not None:
                last.push_async_callback(self._conductor.stop)
            for guest in self._guests:
                guest.cancel()
            await asyncio.gather(*self._guests, return_exceptions=True)

    async def _sweep(self, bus: Bus) -> None:
        """Forget what the hosts read: on a server that outlives the run it would stay for ever."""
        hosts = [*(self._backend.hosts() if self._backend is not None else ()), *self._guest_hosts]
        keys = {wire.hosts(self.run, lane) for lane, _ in hosts}
        for key in (wire.work, wire.heartbeat):
            keys |= {key(self.run, lane, replica) for lane, replica in hosts}
        with suppress(BusError):
            await bus.expire(sorted(keys), FORGOTTEN_SECONDS)

    @property
    def bus(self) -> Bus:
        assert self._bus is not None, "the arena is not open: use `async with`"
        return self._bus

    @property
    def backend(self) -> Backend:
        assert self._backend is not None, "the arena is not open: use `async with`"
        return self._backend

    async def play(
        self,
        scenario: str | Scenario[Any],
        *,
        options: Mapping[str, JsonValue] | None = None,
        seats: Seating | Callable[[int], Seating] | None = None,
        deals: Iterable[int],
        group: int = 1,
        concurrency: int = 64,
        prefix: str = "play",
        limits: Limits | None = None,
    ) -> AsyncIterator[Episode]:
        """Play `group` episodes of each deal, `concurrency` at a time; yields them as they end.

        Limits left out are the arena's own; seats left out are cast by the scenario, and `seats` may be a function
        from the deal to who plays it. Ids are `prefix/deal/member`; equal seeds and ids give equal episodes.
        Raises UsageError for unknown names and seats, ScenarioError for a broken scenario.
        """
        assert self._conductor is not None, "the arena is not open: use `async with`"
        if group < 1 or concurrency < 1:
            raise UsageError(f"group = {group} and concurrency = {concurrency}: both must be at least 1")
        options = dict(options or {})
        rules = build_scenario(scenario, options) if isinstance(scenario, str) else scenario
        if not callable(seats):
            self._cast(rules, seats or {})  # so that a mistake is told before anything is played
        jobs = (
            Job(f"{prefix}/{deal}/{member}", rules, options, cast, deal, member, self.seed, limits or self.limits)
            for deal in deals
            for cast in (self._cast(rules, seats(deal) if callable(seats) else seats or {}),)
            for member in range(group)
        )
        async for episode in _pooled(self._conductor, jobs, concurrency):
            yield episode

    async def fork(
        self,
        episode: Episode,
        turn: int,
        *,
        scenario: str | Scenario[Any] | None = None,
        seats: Mapping[str, AgentSpec | str] | None = None,
        members: int = 1,
        fresh: bool = True,
        concurrency: int = 64,
        prefix: str = "fork",
    ) -> AsyncIterator[Episode]:
        """Go on from where a recorded episode stood after `turn` (0: after its opening), `members` times.

        Seats left out keep who sat there. Chance is fresh for each; with `fresh=False` the seats keep the seeds
        they had, so that under the same seed of the arena the same agents go on as they did. `scenario` None
        builds the recorded one. Yields episodes of their own, linked by `parent`; ids are
        `prefix/episode@turn/member`. Raises UsageError, and RecordError if the record cannot be replayed.
        """
        assert self._conductor is not None, "the arena is not open: use `async with`"
        if members < 1 or concurrency < 1:
            raise UsageError(f"members = {members} and concurrency = {concurrency}: both must be at least 1")
        if members > 1 and not fresh:
            raise UsageError(f"members = {members} without fresh chance would all be the same: use one")
        known = scenario if scenario is not None else episode.scenario
        rules = build_scenario(known, episode.options) if isinstance(known, str) else known
        cast = cast_seats(rules, {**{name: seat.spec for name, seat in episode.seats.items()}, **(seats or {})})
        self._require_policies(cast)
        start = beginning(rules, episode, turn, cast)
        chance = "" if fresh else episode.chance or episode.id
        jobs = (
            Job(
                id=f"{prefix}/{episode.id}@{turn}/{member}",
                scenario=rules,
                options=episode.options,
                seats=cast,
                deal=episode.deal,
                member=member,
                seed=self.seed,
                limits=self.limits,
                chance=chance,
                beginning=start,
            )
            for member in range(members)
        )
        async for forked in _pooled(self._conductor, jobs, concurrency):
            yield forked

    def _cast(self, rules: Scenario[Any], seats: Seating) -> dict[str, AgentSpec]:
        """Who sits where, all of them to be had here."""
        cast = cast_seats(rules, seats)
        self._require_policies(cast)
        return cast

    def _require_policies(self, cast: Mapping[str, AgentSpec]) -> None:
        """Refuse a policy that nobody here serves: its seat would be waited for in vain."""
        served = {*self._policies, *(lane.removeprefix("policy.") for lane, _ in self._guest_hosts)}
        for seat, spec in cast.items():
            if spec.policy is not None and spec.policy not in served:
                raise UsageError(
                    f"seat {seat!r} is played by policy {spec.policy!r}, which this arena does not serve: "
                    f"give an engine for it in `policies` (it has {sorted(self._policies)})"
                )

    async def publish(self, policy: str, version: int, weights: Any) -> None:
        """Give a policy new weights; every turn asked for afterwards is played by this version."""
        await self.backend.publish(policy, version, weights)

    async def host(self, lane: str, engine: Engine | None = None) -> None:
        """Serve a lane from this process, such as `human`, beside the backend's hosts."""
        self._guest_hosts.append((lane, "here"))
        await self.bus.put(wire.hosts(self.run, lane), "here")
        guest = AgentHost(self.bus, self.run, lane, "here", engine=engine)
        self._guests.append(asyncio.create_task(guest.serve(), name=f"host {lane}/here"))

    def cancel(self) -> None:
        """End every running conversation at its next turn with `cancelled`."""
        if self._conductor is not None:
            self._conductor.cancel()


def cast_seats(scenario: Scenario[Any], seats: Mapping[str, AgentSpec | str]) -> dict[str, AgentSpec]:
    """Who sits where: what the caller says, else the scenario's own cast."""
    if unknown := set(seats) - set(scenario.seats):
        raise UsageError(
            f"scenario {scenario.name!r} has no seat {sorted(unknown)}: it has {list(scenario.seats)}"
        )
    given = {seat: AgentSpec(agent=spec) if isinstance(spec, str) else spec for seat, spec in seats.items()}
    full = {**scenario.cast(), **given}
    if empty := [seat for seat in scenario.seats if seat not in full]:
        raise UsageError(f"nobody sits at {empty} of {scenario.name!r}: give an agent for it in `seats`")
    return full


def _backend(kind: str, bus: Bus, run: str) -> Backend:
    if kind == "inproc":
        from simarena.arena.backends.inproc import InprocBackend

        return InprocBackend(bus, run)
    from simarena.arena.backends.ray import RayBackend

    return RayBackend(bus, run, bus.url)


async def _pooled(conductor: Conductor, jobs: Iterator[Job], concurrency: int) -> AsyncIterator[Episode]:
    """Episodes as they end, with at most `concurrency` running or waiting to be taken."""
    ended: asyncio.Queue[asyncio.Task[Episode]] = asyncio.Queue()
    running: set[asyncio.Task[Episode]] = set()

    def begin() -> None:
        for job in jobs:
            task = asyncio.create_task(conductor.play(job), name=job.id)
            running.add(task)
            task.add_done_callback(ended.put_nowait)
            return

    try:
        for _ in range(concurrency):
            begin()
        while running:
            task = await ended.get()
            running.discard(task)
            begin()
            yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
