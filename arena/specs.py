"""Specs: how agents, scenarios and engines are named, so that any process can build them.

A name is either `package.module:Factory` or one registered by an installed package under the entry-point
groups `simarena.scenarios`, `simarena.agents` and `simarena.engines`. The arena never imports a concrete one by
itself.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, JsonValue

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.messages import Frozen

if TYPE_CHECKING:
    from simarena.arena.protocols import Agent, Engine, Scenario

PEOPLE = "people"
"""The lane of scripted agents: simulated users, adversaries, bots."""


class AgentSpec(Frozen):
    """An agent as data: what to build, with which options, and which hosts' lane serves it."""

    agent: str
    options: dict[str, JsonValue] = Field(default_factory=dict)
    lane: str = PEOPLE
    """Hosts of this lane answer its turns: `people`, `policy.<name>`, `remote.<name>` or `human`."""

    @property
    def policy(self) -> str | None:
        """The named policy behind it, or None for an agent that is not served by an engine."""
        return self.lane.removeprefix("policy.") if self.lane.startswith("policy.") else None

    @property
    def short(self) -> str:
        """A name for lists: the lane of a policy, a person or a remote agent, else the factory's own name."""
        return self.agent.rpartition(":")[2] if self.lane == PEOPLE else self.lane

    @classmethod
    def of_policy(cls, name: str, **options: JsonValue) -> "AgentSpec":
        """A seat played by the policy of this name."""
        return cls(agent="policy", options=options, lane=f"policy.{name}")

    @classmethod
    def of_remote(cls, name: str) -> "AgentSpec":
        """A seat played by any process that reads lane `remote.<name>` on the bus."""
        return cls(agent=f"remote:{name}", lane=f"remote.{name}")


class EngineSpec(Frozen):
    """An engine as data; built once per host of its policy's lane."""

    engine: str
    options: dict[str, JsonValue] = Field(default_factory=dict)
    replicas: int = Field(default=1, ge=1)


@functools.cache
def table(kind: str) -> Mapping[str, str]:
    """Registered short names of this kind (`scenarios`, `agents`, `engines`) → `module:Factory`."""
    return {point.name: point.value for point in metadata.entry_points(group=f"simarena.{kind}")}


def resolve(kind: str, name: str) -> Callable[..., Any]:
    """The factory behind a name. Raises UnknownName or UsageError with what is wrong."""
    path = table(kind).get(name, name)
    module, colon, attribute = path.partition(":")
    if not (colon and module and attribute):
        raise UnknownName(kind.removesuffix("s"), name, table(kind))
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise UsageError(f"cannot load {kind.removesuffix('s')} {name!r}: no module {error.name!r}") from None
    except ImportError as error:
        raise UsageError(f"cannot load {kind.removesuffix('s')} {name!r}: {error}") from None
    except AttributeError:
        raise UsageError(f"cannot load {name!r}: module {module!r} has no {attribute!r}") from None
    return cast("Callable[..., Any]", factory)


def _build(kind: str, name: str, options: Mapping[str, Any]) -> Any:
    factory = resolve(kind, name)
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        raise UsageError(f"{kind.removesuffix('s')} {name!r} does not take these options: {error}") from None
    return factory(**options)


def build_scenario(name: str, options: Mapping[str, Any] | None = None) -> "Scenario[Any]":
    return cast("Scenario[Any]", _build("scenarios", name, options or {}))


def build_engine(spec: EngineSpec) -> "Engine":
    return cast("Engine", _build("engines", spec.engine, spec.options))


def build_agent(spec: AgentSpec, engine: "Engine | None" = None) -> "Agent":
    """The agent; a factory that has an `engine` parameter gets the lane's engine."""
    options: dict[str, Any] = dict(spec.options)
    if engine is not None and "engine" in inspect.signature(resolve("agents", spec.agent)).parameters:
        options["engine"] = engine
    return cast("Agent", _build("agents", spec.agent, options))
