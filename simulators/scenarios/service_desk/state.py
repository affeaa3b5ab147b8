"""The state of one call, as a value. Copying it forks the call. Knows no rule."""

from dataclasses import dataclass

from simarena.simulators.scenarios.service_desk.goals import Deal
from simarena.simulators.scenarios.service_desk.policy import Violation
from simarena.simulators.scenarios.service_desk.tools import Desk


@dataclass(frozen=True, slots=True)
class State:
    deal: Deal
    desk: Desk
    mover: str = "user"
    turns: int = 0
    """Turns the assistant has taken."""
    mismatches: int = 0
    violations: tuple[Violation, ...] = ()
    fact: str = ""
    """What the last write says the customer must be told; empty before the first."""
    fact_told: bool = False
    refused: bool = False
    """The assistant has told the customer no."""
    heard: frozenset[str] = frozenset()
    """Names of the facts the customer has said aloud."""
    last: str = ""
    """What the mover answers: `speech`, or the outcome of the last tool call."""
    left: bool = False
    """The customer ended the call."""
