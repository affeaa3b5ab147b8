"""A row: one conversation as a list shows it, at its newest turn; made from a glance, its texts made safe.

A value: a conversation that moves on gets a new row. Knows neither where it comes from nor how it is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from simarena.arena.glance import LINE, Glance
from simarena.arena.text import one_line

State = Literal["running", "ended", "lost"]
"""`lost`: it was running when its run went away."""


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
    """The last line on one line, at most `LINE` characters."""
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
    """What became of it in training: `trained`, `filtered(zero_variance)`, ...; empty if it is not from there."""

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


@lru_cache(maxsize=4096)
def short(text: str) -> str:
    """A name or label on one line, safe to show; many rows share them."""
    return one_line(text, 80)


@lru_cache(maxsize=4096)
def _names(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Seats or labels, safe to show; rows that have the same share one mapping."""
    return {short(name): short(value) for name, value in pairs}


@lru_cache(maxsize=256)
def _policies(seats: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(short(seat) for seat, agent in seats if agent.startswith("policy."))


def row_of(glance: Glance, *, batch: str = "", credited: str = "") -> Row:
    """The row of a conversation at a glance."""
    seats, parent = tuple(glance.seats.items()), glance.parent
    return Row(
        key=glance.episode,
        id=one_line(glance.episode, 160),
        scenario=short(glance.scenario),
        seats=_names(seats),
        learners=_policies(seats),
        labels=_names(tuple(glance.labels.items())),
        deal=glance.deal,
        member=glance.member,
        turn=glance.turn,
        speaker=short(glance.seat),
        kind=short(glance.kind),
        last=one_line(glance.line, LINE),
        returns={short(seat): value for seat, value in glance.returns.items()},
        state="running" if glance.ending is None else "ended",
        ending=glance.ending or "",
        success=glance.success,
        version=glance.version,
        started=glance.started,
        updated=glance.updated,
        batch=short(batch),
        parent="" if parent is None else one_line(f"{parent.episode}@{parent.turn}", 160),
        parent_key="" if parent is None else parent.episode,
        credited=credited,
    )
