"""A row: one conversation as a list shows it, at its newest turn.

A value: a conversation that moves on gets a new row. Knows neither where it comes from nor how it is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["running", "ended", "lost"]
"""`lost`: it was running when its run went away."""
LAST = 160
"""Characters of the last line that a row keeps."""


@dataclass(frozen=True, slots=True)
class Row:
    """One conversation. All texts but `key` and `parent_key` are safe to show."""

    key: str
    """The episode's id as recorded: to ask a source with, never to be shown."""
    id: str
    scenario: str = ""
    seats: Mapping[str, str] = field(default_factory=dict)
    """Seat → agent, shortened: `policy.learner`, `PersonaUser`, `human`, `remote.bob`."""
    learners: tuple[str, ...] = ()
    """Seats that a policy plays."""
    labels: Mapping[str, str] = field(default_factory=dict)
    deal: int = 0
    member: int = 0
    turn: int = 0
    """Turns so far."""
    speaker: str = ""
    kind: str = ""
    last: str = ""
    """The last line on one line, at most `LAST` characters."""
    returns: Mapping[str, float] = field(default_factory=dict)
    """Sum of rewards so far, by seat; seats that earned nothing may be left out."""
    state: State = "running"
    ending: str = ""
    """Empty while it runs."""
    success: bool | None = None
    """None while it runs and where nothing is scored."""
    version: int | None = None
    """Newest policy version that spoke in it; None if no engine did."""
    started: float = 0.0
    """Seconds since the epoch; 0 if nobody knows."""
    updated: float = 0.0
    batch: str = ""
    """The run folder's batch it is recorded in; empty if it is not there yet."""
    parent: str = ""
    """For a fork: `id@turn` of what it went on from."""
    parent_key: str = ""
    credited: str = ""
    """What training did with it: `trained`, `filtered: zero_variance`, ...; empty if it is no training episode."""

    @property
    def persona(self) -> str:
        return self.labels.get("persona", "")

    @property
    def reward(self) -> float | None:
        """Return of the learning seats so far, else of all; None before anybody earned."""
        counted = [value for seat, value in self.returns.items() if not self.learners or seat in self.learners]
        return sum(counted) if counted else None

    @property
    def result(self) -> str:
        """One word: `running`, `lost`, `success`, `failure`, or the ending that was not scored."""
        if self.state != "ended":
            return self.state
        return {True: "success", False: "failure", None: self.ending}[self.success]
