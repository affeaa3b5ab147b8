"""Every error this project raises on purpose. Knows nothing of who raises or shows them.

SimArenaError
├── UsageError            the caller asked for something that cannot be (exit code 2)
│   ├── UnknownName         a scenario, agent, persona, recipe key ... that does not exist
│   └── MissingExtra        a package that is not installed, with the command that installs it
├── ScenarioError         a scenario broke its contract (wrong shape, unknown seat, mutated state)
├── RecordError           a turn record or episode that contradicts itself
├── BusError              the message bus failed
│   ├── BusUnavailable      no server answers, or it refuses us
│   ├── BusFull             out of memory or over a bound: slow down and try again
│   ├── EntryConflict       an explicit id is taken by a different payload
│   └── PayloadTooLarge     one message over the cap
├── RunFolderError        the run folder cannot be read, written or is in use
└── Fault                 one participant failed in one turn; ends that episode, never the run
    ├── AgentFault          the learning or remote agent
    ├── SimulatorFault      a simulated person
    └── EnvironmentFault    the scenario or the harness: never counted as reward 0
"""

import difflib
from collections.abc import Iterable
from typing import Literal

_SHOWN = 16
"""Known names an error lists at most."""


class SimArenaError(Exception):
    """Base of the family. The message is one line: what is wrong, which value, what to do."""


class UsageError(SimArenaError):
    """The request cannot be carried out as written."""


class UnknownName(UsageError):
    """A name that is not in its table; says the nearest one that is."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        table = sorted(set(known))
        near = difflib.get_close_matches(name, table, n=1, cutoff=0.5)
        shown = [*table[:_SHOWN], "…"] if len(table) > _SHOWN else table or ["none"]
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(shown)}"
        super().__init__(f"unknown {what} {name!r}: {hint}")
        self.what, self.name, self.known = what, name, tuple(table)

    def __reduce__(self) -> tuple[type, tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.what, self.name, self.known)


class MissingExtra(UsageError):
    """Something optional is needed and absent."""

    def __init__(self, what: str, command: str) -> None:
        super().__init__(f"{what} is not installed: run `{command}`")
        self.what, self.command = what, command

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.what, self.command)


class ScenarioError(SimArenaError):
    """A scenario broke its contract; names the scenario and the rule."""


class RecordError(SimArenaError):
    """A record contradicts itself, such as five sampled ids with four log-probs."""


class BusError(SimArenaError):
    """The message bus failed."""


class BusUnavailable(BusError):
    """No server answers at this address, or it refuses us."""


class BusFull(BusError):
    """The server is out of memory or a bound is reached: back-pressure, try again later."""


class EntryConflict(BusError):
    """An explicit entry id is already taken by a different payload: two writers on one stream."""


class PayloadTooLarge(BusError):
    """One payload is over the cap."""


class RunFolderError(SimArenaError):
    """The run folder cannot be read or written, or another process is using it."""


Cause = Literal["forfeit", "timeout", "invalid", "crash"]
"""How a participant failed: it never came, gave no answer in time, said more than is allowed, or broke down."""


class Fault(SimArenaError):
    """One participant failed in one turn. The conductor adds whose turn it was."""

    def __init__(self, message: str, cause: Cause = "crash") -> None:
        super().__init__(message)
        self.cause: Cause = cause
        self.seat = ""


class AgentFault(Fault):
    """The agent on a learning, remote or human seat failed or ran out of time."""


class SimulatorFault(Fault):
    """A simulated person failed."""


class EnvironmentFault(Fault):
    """The scenario or the harness failed."""
