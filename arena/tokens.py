"""Token records: exactly which ids a policy read and sampled, and with what log-probs.

The rule: nothing sampled is ever tokenised again. A seat's first turn feeds its whole prompt; each later
turn feeds only what was added since its last sampled id, so concatenating turns rebuilds the exact
sequence the model saw. Where that is impossible (a template rewrote history) a new sample starts.
Knows no tokenizer, no model and no torch.
"""

import base64
import math
from array import array
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, model_validator

from simarena.arena.errors import RecordError


def _pack(code: str) -> Any:
    def pack(values: Sequence[float]) -> str:
        return base64.b64encode(array(code, values).tobytes()).decode()

    return pack


def _unpack(code: str) -> Any:
    def unpack(value: Any) -> Any:
        if not isinstance(value, str):
            return tuple(array(code, value)) if code == "f" else tuple(value)
        packed = array(code)
        packed.frombytes(base64.b64decode(value))
        return tuple(packed)

    return unpack


Ids = Annotated[tuple[int, ...], BeforeValidator(_unpack("i")), PlainSerializer(_pack("i"), str, when_used="json")]
"""Token ids; little-endian int32 in base64 as JSON."""
Logprobs = Annotated[
    tuple[float, ...], BeforeValidator(_unpack("f")), PlainSerializer(_pack("f"), str, when_used="json")
]
"""Natural-log probabilities at float32 precision; float32 in base64 as JSON."""

Finish = Literal["stop", "length"]


class Trail(BaseModel):
    """The ids of a seat's current sample so far. Producer: conductor, from records. Consumer: engines."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Ids
    turns: int
    """How many of this seat's chat turns (its own replies) these ids already hold."""


class TurnRecord(BaseModel):
    """The tokens of one turn of one seat. Producer: an engine. Consumers: trail, scorer, `why`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: str
    version: int
    start: bool
    """True when `fed` is a whole prompt: the first turn, or a prefix break."""
    fed: Ids
    """Ids read before sampling: the whole prompt if `start`, else what was added since the last sampled id."""
    sampled: Ids
    """Ids sampled by the policy, the end-of-turn id among them when `finish` is stop."""
    logprobs: Logprobs
    """log p of each sampled id under the sampling distribution, shape [len(sampled)]."""
    finish: Finish
    temperature: float = 1.0

    @model_validator(mode="after")
    def _agree(self) -> "TurnRecord":
        if len(self.sampled) != len(self.logprobs):
            raise RecordError(f"{len(self.sampled)} sampled ids but {len(self.logprobs)} log-probs")
        if wrong := [p for p in self.logprobs if not math.isfinite(p) or p > 1e-6]:
            raise RecordError(f"log-probs must be finite and at most 0, got {wrong[0]!r}")
        return self


class Trajectory(BaseModel):
    """One sample of one seat, as the model saw it: ids with a mask. Derived; never stored.

    All tuples but `turns` have one entry per token; `turn_of[i]` is the index into `turns` for a sampled
    token and -1 elsewhere.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seat: str
    policy: str
    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """True exactly where the policy sampled the id."""
    logprobs: tuple[float, ...]
    """Sampling log-prob where `mask`, else 0."""
    turn_of: tuple[int, ...]
    turns: tuple[int, ...]
    """Positions in the seat's list of turns (0 = its first), one per turn in this sample."""
    versions: tuple[int, ...]
    """Policy version of each turn."""


def trajectories(seat: str, records: Sequence[TurnRecord]) -> tuple[Trajectory, ...]:
    """The samples that a seat's records make up, in order; a new one starts wherever `start` is true."""
    samples: list[list[tuple[int, TurnRecord]]] = []
    for position, record in enumerate(records):
        if record.start or not samples:
            samples.append([])
        samples[-1].append((position, record))
    return tuple(_join(seat, sample) for sample in samples)


def _join(seat: str, sample: list[tuple[int, TurnRecord]]) -> Trajectory:
    ids: list[int] = []
    mask: list[bool] = []
    logprobs: list[float] = []
    turn_of: list[int] = []
    for local, (_, record) in enumerate(sample):
        if record.policy != sample[0][1].policy:
            raise RecordError(f"seat {seat!r} mixes policies {sample[0][1].policy!r} and {record.policy!r}")
        ids += (*record.fed, *record.sampled)
        mask += [False] * len(record.fed) + [True] * len(record.sampled)
        logprobs += [0.0] * len(record.fed) + list(record.logprobs)
        turn_of += [-1] * len(record.fed) + [local] * len(record.sampled)
    return Trajectory(
        seat=seat,
        policy=sample[0][1].policy,
        ids=tuple(ids),
        mask=tuple(mask),
        logprobs=tuple(logprobs),
        turn_of=tuple(turn_of),
        turns=tuple(position for position, _ in sample),
        versions=tuple(record.version for _, record in sample),
    )


def trail(records: Sequence[TurnRecord]) -> Trail | None:
    """The ids that the next turn of this seat must extend; None before its first."""
    if not records:
        return None
    ids: list[int] = []
    for record in records:
        if record.start:
            ids = []
        ids += (*record.fed, *record.sampled)
    return Trail(ids=tuple(ids), turns=len(records))
