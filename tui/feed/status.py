"""Status: how well a feed is connected to its run, and what it had to leave out.

Also says the one line that a person sees when there is nothing, or no longer anything, to follow.
"""

from dataclasses import dataclass
from typing import Literal

from simarena.arena.wire import RunState

Connection = Literal["opening", "recorded", "following", "connected", "silent", "reconnecting", "ended", "lost"]
"""`recorded`: a finished run's files. `following`: files of a run that goes on. `connected`: its bus.
`silent`: its bus is there, the run gives no sign of life.
`reconnecting`: the bus is away. `ended`: the run closed. `lost`: the run's process is gone without a word."""


@dataclass(frozen=True, slots=True)
class Status:
    """A snapshot; texts are safe to show."""

    where: str = ""
    """The run folder, or the address without its password."""
    connection: Connection = "opening"
    lag: float = 0.0
    """Seconds from when the newest line was said to when it was taken in here."""
    rate: float = 0.0
    """Messages a second, over the last seconds."""
    arrived: int = 0
    """Messages taken in so far."""
    dropped: int = 0
    """Moves skipped because this viewer was too slow; rows are right again with their next move."""
    forgotten: int = 0
    """Conversations given up to bound memory; the oldest ended ones go first."""
    run: RunState | None = None
    """Whether a training run that can be asked to pause or stop goes on; None for any other."""
    detail: str = ""
    """What is wrong and what to do, in one line; empty if all is well."""

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return self.connection in ("recorded", "ended", "lost")
