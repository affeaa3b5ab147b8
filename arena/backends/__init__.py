"""Backends: where hosts live. The conductor and host code is the same in both.

`inproc` runs hosts as tasks of this event loop; `ray` runs each as an actor. A backend knows lanes,
replicas and engines; it knows nothing of turns or scenarios.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from simarena.arena.specs import EngineSpec


class Backend(Protocol):
    """Starts and stops the hosts of one run, and hands them new weights."""

    async def start(self, policies: Mapping[str, EngineSpec], people: int) -> None:
        """Start one host per replica of every policy and `people` hosts for scripted agents."""
        ...

    def hosts(self) -> list[tuple[str, str]]:
        """(lane, replica) of every host."""
        ...

    async def publish(self, policy: str, version: int, weights: Any) -> None:
        """Give every replica of the policy these weights; returns when all of them serve the version."""
        ...

    async def kill(self, lane: str, replica: str) -> None:
        """Kill one host at once, as a crash would; the backend brings it back. For fault drills."""
        ...

    async def stop(self) -> None: ...
