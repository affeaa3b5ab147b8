"""The wire: keys and envelopes of the bus protocol, which any process in any language may speak.

All payloads are one JSON object in the stream field `d`. `docs/bus.md` describes the same for readers
without Python. Knows the names of streams, not how they are stored.
"""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from simarena.arena.glance import Glance
from simarena.arena.messages import Action, Frozen, Observation
from simarena.arena.specs import AgentSpec

GROUP = "hosts"
"""The consumer group on every work stream."""


def work(run: str, lane: str, replica: str) -> str:
    """Stream of turn requests for one host of a lane."""
    return f"sa:{run}:w:{lane}:{replica}"


def replies(run: str, conductor: str) -> str:
    """Stream on which one conductor hears replies."""
    return f"sa:{run}:r:{conductor}"


def conversation(run: str, episode: str) -> str:
    """Stream of one conversation's messages; one writer, entry ids are message ids."""
    return f"sa:{run}:c:{episode}"


def pointers(run: str) -> str:
    """Trimmed stream of pointers for viewers."""
    return f"sa:{run}:ev"


def heartbeat(run: str, lane: str, replica: str) -> str:
    """Key that exists while a host of this lane lives."""
    return f"sa:{run}:h:{lane}:{replica}"


def hosts(run: str, lane: str) -> str:
    """Key holding the comma-separated replica names of a lane that some process serves."""
    return f"sa:{run}:lane:{lane}"


def runs() -> str:
    """Trimmed stream on which every run of this bus is announced."""
    return "sa:runs"


def alive(run: str) -> str:
    """Key that says `open` while the run lives, and `closed` for a while after."""
    return f"sa:{run}:alive"


def bulletin(run: str) -> str:
    """Trimmed stream of what a run tells of its training, for viewers without its folder."""
    return f"sa:{run}:b"


def orders(run: str) -> str:
    """Trimmed stream of what people who watch ask of a training run."""
    return f"sa:{run}:o"


def dead_letters(run: str) -> str:
    return f"sa:{run}:dead"


class Announcement(Frozen):
    """Tells viewers of a run. Producer: the arena."""

    run: str
    started: float
    """Seconds since the epoch."""


class TurnRequest(Frozen):
    """Asks a host for one turn. Producer: the conductor. Consumer: an agent host or a remote agent."""

    episode: str
    turn: int
    seat: str
    attempt: int = 0
    reply_to: str
    spec: AgentSpec
    observation: Observation


FaultKind = Literal["agent", "simulator", "environment"]


class TurnReply(Frozen):
    """Answers one request; the first answer to (episode, turn, seat) counts, later ones are dropped."""

    episode: str
    turn: int
    seat: str
    attempt: int = 0
    action: Action | None = None
    fault: str = ""
    """One line on why there is no action."""
    kind: FaultKind = "agent"


class Pointer(Glance):
    """Tells viewers that a conversation moved on, and all of it at a glance. Producer: the conductor."""

    number: int
    """Counts the run's pointers from 1: a gap tells a viewer how many it missed."""
    message: str = ""
    """Id of the newest message."""
    earned: dict[str, float] = Field(default_factory=dict)
    """What the newest turn earned, by seat."""
    checks: dict[str, bool] = Field(default_factory=dict)
    """The outcome's named checks, with the ending."""


Asked = Literal["pause", "resume", "stop"]
RunState = Literal["running", "pausing", "paused", "stopping"]
"""`pausing` and `stopping` until the step that is under way is done."""


class Order(Frozen):
    """Asks a training run to pause, to resume or to stop, after the step that is under way. Producer: a viewer.
    Consumer: the trainer."""

    ask: Asked


class Bulletin(Frozen):
    """Tells viewers of training: what the run is, one row of its metrics, or its state. Producer: the trainer."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    facts: dict[str, JsonValue] | None = None
    """The run's `name` and resolved `recipe`."""
    row: dict[str, float] | None = None
    """`step` and numbers by name, as in metrics.jsonl; those that are none are the strings `NaN`, `Infinity`."""
    state: RunState | None = None
    """Whether it goes on, when that has changed."""
