"""Hosts as Ray actors: many agents per actor, one engine per actor, weights through the object store.

A killed actor is restarted by Ray, which also calls its `serve` again; it then takes the newest weights
from the vault and goes on with what it left pending. Nothing of a turn travels by Ray call.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
os.environ.setdefault("RAY_AUTH_MODE", "token")
# Workers at the usual niceness of 15 starve on a machine where anything else runs.
os.environ.setdefault("RAY_worker_niceness", "0")

import ray

from simarena.arena import wire
from simarena.arena.bus import Bus, connect
from simarena.arena.collector import rarely
from simarena.arena.errors import SimArenaError, UsageError
from simarena.arena.host import AgentHost
from simarena.arena.protocols import Engine
from simarena.arena.specs import PEOPLE, EngineSpec, build_engine

OBJECT_STORE_BYTES = 300 * 1024 * 1024
STOP_SECONDS = 5.0
THREADS = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "TOKENIZERS_PARALLELISM": "false"}
"""Two torch threads in one process lose on a busy machine; parallelism comes from processes."""


def ensure_ray() -> bool:
    """Connect to Ray: the cluster named by RAY_ADDRESS, else a private local one. True if we started it."""
    if ray.is_initialized():
        return False
    address = os.environ.get("RAY_ADDRESS", "local")
    local = {} if address != "local" else {"object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
    ray.init(
        address=address,
        log_to_driver=False,
        configure_logging=False,
        runtime_env={"env_vars": THREADS},
        **local,
    )
    return True


class Vault:
    """Holds a reference to the newest weights of each policy, for hosts that start late or again."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[int, int, list[Any]]] = {}

    def put(self, policy: str, number: int, version: int, boxed: list[Any]) -> None:
        self._newest[policy] = (number, version, boxed)

    def get(self, policy: str) -> tuple[int, int, list[Any]] | None:
        return self._newest.get(policy)


class HostActor:
    """An AgentHost in a process of its own."""

    def __init__(self, url: str, run: str, lane: str, replica: str, engine: str) -> None:
        """`engine` is an EngineSpec as JSON, or empty: Ray cannot restart an actor whose arguments are objects."""
        self._where = (url, run, lane, replica)
        self._spec = EngineSpec.model_validate_json(engine) if engine else None
        self._engine: Engine | None = None
        self._updating = asyncio.Lock()
        self._number = 0
        self._serving: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Serve until stopped. Called again by Ray after a restart."""
        url, run, lane, replica = self._where
        if self._build() is not None:
            newest = await ray.get_actor(_vault(run)).get.remote(lane.removeprefix("policy."))
            if newest is not None:
                await self.update(*newest)
        bus = await connect(url)
        with rarely():
            self._serving = asyncio.create_task(AgentHost(bus, run, lane, replica, engine=self._engine).serve())
            await asyncio.gather(self._serving, return_exceptions=True)
        await bus.close()

    async def stop(self) -> None:
        """End `serve`."""
        if self._serving is not None:
            self._serving.cancel()

    async def ready(self) -> SimArenaError | None:
        """Builds the engine and tries the bus, which the host may reach from another machine.

        What we raise on purpose is returned, since Ray would print it as a crash.
        """
        try:
            self._build()
            await (await connect(self._where[0])).close()
        except SimArenaError as error:
            return error
        return None

    def _build(self) -> Engine | None:
        if self._spec is not None and self._engine is None:
            self._engine = build_engine(self._spec)
        return self._engine

    async def update(self, number: int, version: int, boxed: list[Any]) -> None:
        """Take new weights. Idempotent: what was published before those it has, by `number`, changes nothing.

        The version itself may go back, after a rollback. One at a time, since a restarted actor takes those of the
        vault while newer ones may be on their way.
        """
        engine = self._build()
        assert engine is not None, "only policies are published, and their hosts have an engine"
        async with self._updating:
            if number > self._number:
                (weights,) = boxed
                if isinstance(weights, ray.ObjectRef):
                    weights = await weights
                await engine.update_weights(version, weights)
                self._number = number


class RayBackend:
    """One actor per host."""

    def __init__(self, bus: Bus, run: str, url: str) -> None:
        self._bus, self._run, self._url = bus, run, url
        self._actors: dict[tuple[str, str], Any] = {}
        self._serving: list[Any] = []
        self._vault: Any = None
        self._published = 0
        self._ours = False

    async def start(self, policies: Mapping[str, EngineSpec], people: int) -> None:
        self._ours = ensure_ray()
        self._vault = ray.remote(Vault).options(num_cpus=0, name=_vault(self._run)).remote()
        for name, spec in policies.items():
            await self._open(f"policy.{name}", spec.replicas, spec)
        await self._open(PEOPLE, people, None)
        for error in await asyncio.gather(*(actor.ready.remote() for actor in self._actors.values())):
            if error is not None:
                raise error
        self._serving = [actor.serve.remote() for actor in self._actors.values()]

    def hosts(self) -> list[tuple[str, str]]:
        return list(self._actors)

    async def publish(self, policy: str, version: int, weights: Any) -> None:
        actors = [actor for (lane, _), actor in self._actors.items() if lane == f"policy.{policy}"]
        if not actors:
            known = sorted({lane.removeprefix("policy.") for lane, _ in self._actors if lane != PEOPLE})
            raise UsageError(f"no policy {policy!r} in this arena: it has {known}")
        boxed = [weights if isinstance(weights, ray.ObjectRef) else ray.put(weights)]
        self._published += 1
        news = (self._published, version, boxed)
        await self._vault.put.remote(policy, *news)
        await asyncio.gather(*(actor.update.remote(*news) for actor in actors))

    async def kill(self, lane: str, replica: str) -> None:
        ray.kill(self._actors[lane, replica], no_restart=False)

    async def stop(self) -> None:
        try:
            with contextlib.suppress(ray.exceptions.RayError, TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await asyncio.gather(*(actor.stop.remote() for actor in self._actors.values()))
                    await asyncio.gather(*self._serving)
        finally:  # also when a second Ctrl-C cuts the farewell short
            for actor in [*self._actors.values(), self._vault]:
                if actor is not None:
                    ray.kill(actor)
            if self._ours:
                ray.shutdown()

    async def _open(self, lane: str, replicas: int, spec: EngineSpec | None) -> None:
        names = [str(i) for i in range(replicas)]
        await self._bus.put(wire.hosts(self._run, lane), ",".join(names))
        # Replicas go to different nodes where there are several; Ray would fill the first one.
        actor = ray.remote(HostActor).options(
            num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD"
        )
        for name in names:
            engine = spec.model_dump_json() if spec else ""
            self._actors[lane, name] = actor.remote(self._url, self._run, lane, name, engine)


def _vault(run: str) -> str:
    return f"simarena-vault-{run}"
