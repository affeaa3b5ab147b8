"""Seating: what a recipe may write for a seat, and the names that policies go by. Knows no engine and no agent.

learner, learner:NAME    played by a policy that learns
frozen, frozen:NAME      played by the starting point of a policy, which never changes
remote:NAME              played by any process that serves the lane `remote.NAME`
anything else            an agent by name or `package.module:Factory`
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

LEARNER = "learner"
"""A seat that learns; also the name of the policy where a recipe names none."""
FROZEN, REMOTE = "frozen", "remote"
START = "start"
"""Among `evaluation.anchors`: the policy that the learner of a seat began with."""


class Chair(NamedTuple):
    """Who a recipe puts on a seat."""

    kind: Literal["learner", "frozen", "remote", "agent"]
    name: str
    """Of the policy, the remote lane, or the agent."""


def chair(written: str) -> Chair:
    """What is written for a seat, taken apart."""
    kind, colon, name = written.partition(":")
    if kind == LEARNER:
        return Chair("learner", name or LEARNER)
    if kind == FROZEN:
        return Chair("frozen", name or LEARNER)
    if kind == REMOTE and colon:
        return Chair("remote", name)
    return Chair("agent", written)


def start_of(name: str) -> str:
    """The policy that serves the starting point of a learner."""
    return f"{name}.start"


def home_of(checkpoint: Path, name: str, names: Collection[str]) -> Path:
    """The folder of one learner of these in a checkpoint: the checkpoint itself where it is the only one."""
    return checkpoint / name if len(names) > 1 else checkpoint


def named(metrics: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The metrics of one learner as they are, those of several under `NAME/`."""
    if len(metrics) == 1:
        (only,) = metrics.values()
        return dict(only)
    return {f"{name}/{key}": value for name, row in metrics.items() for key, value in row.items()}
