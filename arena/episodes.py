"""Episodes: the complete record of one conversation, and what each seat earned in it.

Serialises to one JSON line. Its digest covers everything but wall time, so equal seeds give equal digests
in any backend, after a killed host, and on replay. Knows no bus, no file and no scenario.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from simarena.arena.errors import Cause, RecordError
from simarena.arena.messages import Frozen, Message, Text, ToolCall
from simarena.arena.specs import AgentSpec
from simarena.arena.tokens import Trajectory, TurnRecord, trajectories

Ending = Literal[
    "finished",
    "turn_cap",
    "length_cap",
    "agent_fault",
    "simulator_fault",
    "environment_fault",
    "cancelled",
]
"""Exactly one reason. Only `finished` is scored; the caps are truncations; the rest is nobody's reward."""

TRUNCATED: frozenset[Ending] = frozenset({"turn_cap", "length_cap"})
FAULTY: frozenset[Ending] = frozenset({"agent_fault", "simulator_fault", "environment_fault", "cancelled"})


class Seat(Frozen):
    """Who sat where."""

    spec: AgentSpec
    version: int | None = None
    """Policy version at the first turn; None for seats without an engine."""


class Turn(Frozen):
    """One seat's move, in the order the scenario applied it."""

    index: int
    """Turn number within the episode, shared by all seats; simultaneous movers share an index."""
    seat: str
    state_key: str = ""
    """The scenario's abstraction of the state this turn was taken in (GiGPO groups by it)."""
    parts: tuple[Text | ToolCall, ...] = ()
    """What the seat did, as the scenario was given it: with the deal, this replays the episode."""
    leave: bool = False
    """Asked to end the conversation."""
    record: TurnRecord | None = None


class Reward(Frozen):
    """What a seat earned when turn `index` was applied, whoever moved in it."""

    index: int
    seat: str
    value: float
    parts: dict[str, float] = Field(default_factory=dict)
    """The value by name, where the scenario says what it was for; the parts sum to it."""


class Parent(Frozen):
    """What a fork went on from."""

    episode: str
    turn: int
    """The last turn the two have in common."""
    digest: str
    """The parent's digest: a fork is of exactly that record."""


class Episode(Frozen):
    """Producer: the conductor. Consumers: the trainer, the run folder, viewers, tournaments."""

    id: str
    scenario: str
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The scenario's options; with `deal` they rebuild the initial state exactly."""
    deal: int
    member: int = 0
    """Which of the group's episodes of this deal."""
    chance: str = ""
    """The name its seats' seeds are drawn from; empty: its id. A fork may share its parent's."""
    parent: Parent | None = None
    """For a fork: its first turns, and what was said and earned in them, are this episode's."""
    seats: dict[str, Seat]
    labels: dict[str, str] = Field(default_factory=dict)
    """Named by the scenario for reports: persona, task, ..."""
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    rewards: tuple[Reward, ...] = ()
    checks: dict[str, bool] = Field(default_factory=dict)
    """The outcome's named checks; empty unless `finished`."""
    outcome: dict[str, float] = Field(default_factory=dict)
    """Raw, unshaped result per seat in [0, 1]; filters look at this, never at shaped rewards."""
    ending: Ending
    fault: str = ""
    """One line on what failed, for faulty endings."""
    fault_seat: str = ""
    """Whose turn failed; empty where it was nobody's, such as a fault of the scenario."""
    fault_cause: Cause | None = None
    """How that seat failed."""
    timings: dict[str, float] = Field(default_factory=dict)
    """Wall seconds by name (`total`, `waiting`) and counts that depend on luck (`attempts`); not hashed."""

    @model_validator(mode="after")
    def _agree(self) -> "Episode":
        unknown = {t.seat for t in self.turns} | {r.seat for r in self.rewards} | set(self.outcome)
        unknown |= {self.fault_seat} - {""}
        if unknown - set(self.seats):
            raise RecordError(f"episode {self.id!r} names unknown seats {sorted(unknown - set(self.seats))}")
        if self.ending != "finished" and (self.checks or self.outcome):
            raise RecordError(f"episode {self.id!r} ended by {self.ending!r} but carries an outcome")
        return self

    @property
    def success(self) -> bool:
        """Finished with every check passed, and at least one to pass."""
        return self.ending == "finished" and bool(self.checks) and all(self.checks.values())

    def turns_of(self, seat: str) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.seat == seat)

    def returns(self, seat: str) -> float:
        """Sum of this seat's rewards."""
        return sum(reward.value for reward in self.rewards if reward.seat == seat)

    def turn_rewards(self, seat: str) -> tuple[float, ...]:
        """Rewards by this seat's own turns, shape [turns]: what came at or after a turn and before its next.

        Anything earned before the seat's first turn is credited to the first.
        """
        earned = [0.0] * len(self.turns_of(seat))
        for position, reward in self._credited(seat):
            earned[position] += reward.value
        return tuple(earned)

    def turn_parts(self, seat: str) -> tuple[dict[str, float], ...]:
        """`turn_rewards` by name, for the rewards that name their parts, shape [turns]."""
        named: tuple[dict[str, float], ...] = tuple({} for _ in self.turns_of(seat))
        for position, reward in self._credited(seat):
            for name, value in reward.parts.items():
                named[position][name] = named[position].get(name, 0.0) + value
        return named

    def _credited(self, seat: str) -> Iterator[tuple[int, Reward]]:
        """This seat's rewards, each with the position of the turn of its own that it belongs to."""
        indices = [turn.index for turn in self.turns_of(seat)]
        for reward in self.rewards:
            if reward.seat == seat and indices:
                yield max((i for i, index in enumerate(indices) if index <= reward.index), default=0), reward

    def records_of(self, seat: str) -> tuple[TurnRecord, ...]:
        """Token records of this seat's turns; raises RecordError if some turn has none."""
        records = tuple(turn.record for turn in self.turns_of(seat))
        if any(record is None for record in records):
            raise RecordError(
                f"seat {seat!r} of episode {self.id!r} has turns without token records, so it cannot learn: "
                f"play it by an engine that samples here, such as 'transformers'"
            )
        return tuple(record for record in records if record is not None)

    def trajectories_of(self, seat: str) -> tuple[Trajectory, ...]:
        return trajectories(seat, self.records_of(seat))

    def digest(self) -> str:
        """sha256 over everything but wall time, as hex."""
        data = self.model_dump(mode="json", exclude={"timings": True, "messages": {"__all__": {"time"}}})
        return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
