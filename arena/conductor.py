"""The conductor: plays conversations. Asks who acts, shows each what it may see, carries the turns over
the bus, and keeps the record.

Owns: turn order, stamping, audiences, deadlines, endings. Does not know: what a scenario means, how an
agent thinks, what is trained. It is the only writer of a conversation's stream.
"""

import asyncio
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue, ValidationError

from simarena.arena.bus import Bus
from simarena.arena.episodes import Ending, Episode, Reward, Seat, Turn
from simarena.arena.errors import (
    AgentFault,
    BusUnavailable,
    EnvironmentFault,
    Fault,
    ScenarioError,
    SimArenaError,
    SimulatorFault,
    UsageError,
)
from simarena.arena.forks import Beginning
from simarena.arena.glance import earned, newest
from simarena.arena.lanes import Lanes
from simarena.arena.messages import Action, Draft, Limits, Message, Observation, Text, ToolResult, View
from simarena.arena.post import Post
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import cards, derive
from simarena.arena.specs import AgentSpec
from simarena.arena.together import together
from simarena.arena.tokens import TurnRecord, trail
from simarena.arena.topology import Topology
from simarena.arena.wire import TurnReply

ENDING_OF: dict[type[Fault], Ending] = {
    AgentFault: "agent_fault",
    SimulatorFault: "simulator_fault",
    EnvironmentFault: "environment_fault",
}


@dataclass(frozen=True, slots=True)
class Job:
    """One conversation to play."""

    id: str
    scenario: Scenario[Any]
    options: Mapping[str, JsonValue]
    seats: Mapping[str, AgentSpec]
    deal: int
    member: int
    seed: int
    limits: Limits
    chance: str = ""
    """The name that the seats' seeds are drawn from; empty: its id."""
    beginning: Beginning | None = None
    """For a fork: what it goes on from."""


@dataclass(slots=True)
class _Stage:
    """The record of a conversation while it runs."""

    job: Job
    topology: Topology
    state: Any
    messages: list[Message] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    rewards: list[Reward] = field(default_factory=list)
    glance: dict[str, Any] = field(default_factory=dict)
    """What does not change in what viewers are told."""
    index: int = 0
    writing: asyncio.Task[None] | None = None
    waiting: float = 0.0
    attempts: int = 0

    def records(self, seat: str) -> list[TurnRecord]:
        """Token records of whoever sits there now."""
        fork = self.job.beginning
        after = fork.parent.turn if fork is not None and seat in fork.retold else 0
        own = (turn for turn in self.turns if turn.seat == seat and turn.index > after)
        return [turn.record for turn in own if turn.record is not None]

    def heard(self, seat: str) -> tuple[Message, ...]:
        """What the seat may hear: all that was audible to it, but for the thoughts of a predecessor."""
        fork = self.job.beginning
        before = fork.parent.turn if fork is not None and seat in fork.recast else -1
        audible = (message for message in self.messages if message.audible(seat))
        return tuple(m for m in audible if m.kind != "thought" or m.turn > before)


class Conductor:
    """Plays any number of conversations at once on one event loop."""

    def __init__(self, bus: Bus, run: str, name: str = "0") -> None:
        self._post = Post(bus, run, name, Lanes(bus, run))
        self._cancelled = False
        self._playing: set[str] = set()

    async def start(self) -> None:
        await self._post.start()

    async def stop(self) -> None:
        await self._post.stop()

    def cancel(self) -> None:
        """End every conversation at its next turn with `cancelled`."""
        self._cancelled = True

    async def play(self, job: Job) -> Episode:
        """Play one conversation to its end. Faults end it and are recorded; ScenarioError is raised."""
        if job.id in self._playing:
            raise UsageError(f"episode {job.id!r} is being played already: give this play another prefix")
        self._playing.add(job.id)
        try:
            return await self._play(job)
        finally:
            self._playing.discard(job.id)

    async def _play(self, job: Job) -> Episode:
        stage = _opened(job)
        try:
            episode = await self._act_out(stage)
            await self._close(stage, episode)
        finally:
            if stage.writing is not None:
                stage.writing.cancel()
        return episode

    async def _act_out(self, stage: _Stage) -> Episode:
        """The conversation, however it ends."""
        began, limits = time.monotonic(), stage.job.limits
        ending: Ending = "cancelled"
        fault = Fault("")
        step: Step[Any] = Step(None)
        try:
            async with asyncio.timeout(limits.episode_seconds):
                await self._post.open_conversation(stage.job.id)
                ending, step = await self._converse(stage)
        except Fault as error:
            ending, fault = ENDING_OF[type(error)], error
        except TimeoutError:
            ending, fault = "environment_fault", Fault(f"no end after {limits.episode_seconds:g} s")
        return _recorded(stage, ending, fault, step, time.monotonic() - began)

    async def _close(self, stage: _Stage, episode: Episode) -> None:
        """Write what is left of the record on the bus and tell how it ended."""
        seconds = stage.job.limits.episode_seconds
        try:
            async with asyncio.timeout(seconds):
                if stage.writing is not None:
                    await stage.writing
                await self._post.close_conversation(episode)
        except TimeoutError:
            raise BusUnavailable(
                f"the bus has not taken the end of episode {episode.id!r} for {seconds:g} s: see that its server "
                "is up and has memory left"
            ) from None

    async def _converse(self, stage: _Stage) -> tuple[Ending, Step[Any]]:
        scenario, limits = stage.job.scenario, stage.job.limits
        with _scenario_faults(scenario):
            stage.glance = _glance(stage)
            if stage.job.beginning is None:
                self._tell(stage, scenario.opening(stage.state))
            elif stage.messages:
                glance = stage.glance | _progress(stage, stage.messages)
                stage.writing = asyncio.create_task(self._post.publish(stage.messages[:], glance, None))
        while True:
            if self._cancelled:
                return "cancelled", Step(stage.state)
            if len(stage.turns) >= limits.turns:
                return "turn_cap", Step(stage.state)
            with _scenario_faults(scenario):
                acting = scenario.to_act(stage.state)
                _expect(scenario, isinstance(acting, set | frozenset), f"to_act returned {acting!r}, not a set")
                seats = sorted(acting)
                _expect(scenario, bool(seats), "nobody is to act and the scenario is not over")
                _expect(scenario, set(seats) <= set(stage.job.seats), f"unknown seats to act: {seats}")
            stage.index += 1
            actions = await self._ask(stage, seats)
            clipped = await self._note(stage, actions)
            if clipped and limits.clipped == "end":
                return "length_cap", Step(stage.state)
            step = await self._apply(stage, actions)
            if step.ending is not None:
                return step.ending, step

    async def _ask(self, stage: _Stage, seats: list[str]) -> dict[str, Action]:
        """Every mover's action for this turn, asked for at once."""
        if len(seats) == 1:
            return {seats[0]: await self._ask_one(stage, seats[0])}
        return dict(zip(seats, await together(self._ask_one(stage, seat) for seat in seats), strict=True))

    async def _ask_one(self, stage: _Stage, seat: str) -> Action:
        job = stage.job
        with _scenario_faults(job.scenario):
            view = job.scenario.view(stage.state, seat)
            _expect(job.scenario, isinstance(view, View), f"view returned {type(view).__name__}, not View")
        observation = Observation(
            episode=job.id,
            scenario=job.scenario.name,
            seat=seat,
            turn=stage.index,
            seed=derive(job.seed, job.scenario.name, job.chance or job.id, seat),
            view=view,
            messages=stage.heard(seat),
            trail=trail(stage.records(seat)),
            max_tokens=job.limits.turn_tokens,
        )
        asked = time.monotonic()
        try:
            reply, attempts = await self._post.ask(job.seats[seat], observation, job.limits)
            stage.waiting += time.monotonic() - asked
            stage.attempts += attempts
            return _allowed(seat, reply, job.limits)
        except (AgentFault, SimulatorFault) as fault:
            fault.seat = seat
            raise

    async def _note(self, stage: _Stage, actions: Mapping[str, Action]) -> bool:
        """Record the turns and what each mover keeps to itself; true if one was cut off by its token limit."""
        private: list[Draft] = []
        for seat, action in actions.items():
            with _scenario_faults(stage.job.scenario):
                key = stage.job.scenario.state_key(stage.state, seat)
            done = {"parts": action.parts, "leave": action.leave, "record": action.record}
            stage.turns.append(Turn(index=stage.index, seat=seat, state_key=key, **done))
            if action.thought:
                private.append(_to_self(seat, Text(text=action.thought)))
            if action.memory is not None:
                private.append(_to_self(seat, ToolResult(name="memory", content=action.memory)))
        self._tell(stage, tuple(private), quietly=True)
        return any(action.record is not None and action.record.finish == "length" for action in actions.values())

    async def _apply(self, stage: _Stage, actions: Mapping[str, Action]) -> Step[Any]:
        scenario = stage.job.scenario
        bare = {
            seat: Action(parts=action.parts, leave=action.leave) if _has_private(action) else action
            for seat, action in actions.items()
        }
        with _scenario_faults(scenario):
            step = scenario.apply(stage.state, bare)
            _check_step(scenario, step)
            stage.state = step.state
            for seat, value in step.rewards.items():
                parts = dict(step.parts.get(seat, {}))
                stage.rewards.append(Reward(index=stage.index, seat=seat, value=float(value), parts=parts))
            self._tell(stage, step.messages)
        return step

    def _tell(self, stage: _Stage, drafts: tuple[Draft, ...], quietly: bool = False) -> None:
        """Stamp drafts, enforce who may hear them, record them and put them on the conversation's stream; viewers
        are pointed at the newest, unless `quietly`: then what follows in the same turn does that."""
        last = stage.messages[-1] if stage.messages else None
        sequence = int(last.id.partition("-")[2]) if last is not None and last.turn == stage.index else 0
        fresh: list[Message] = []
        call: str | None = None
        for draft in drafts:
            sequence += 1
            message = Message(
                episode=stage.job.id,
                id=f"{stage.index}-{sequence}",
                seat=draft.seat,
                kind=draft.kind,
                parts=draft.parts,
                audience=stage.topology.audience(draft.seat, draft.audience),
                time=time.time(),
                cause=call if draft.kind == "tool_result" else None,
            )
            call = message.id if draft.kind == "tool_call" else call
            fresh.append(message)
        stage.messages += fresh
        if fresh:
            # The next turn does not wait for viewers; the task is awaited before the conversation closes.
            glance = None if quietly else stage.glance | _progress(stage, fresh)
            stage.writing = asyncio.create_task(self._post.publish(fresh, glance, stage.writing))


def _allowed(seat: str, reply: TurnReply, limits: Limits) -> Action:
    """The action of a reply. Raises the fault it reports, or AgentFault for one that is too long."""
    if reply.action is None:
        kinds = {"agent": AgentFault, "simulator": SimulatorFault, "environment": EnvironmentFault}
        raise kinds[reply.kind](f"seat {seat!r}: {reply.fault}")
    if (size := _size(reply.action)) > limits.message_chars:
        raise AgentFault(f"seat {seat!r} said {size} characters; the limit is {limits.message_chars}", "invalid")
    return reply.action


def _check_step(scenario: Scenario[Any], step: Step[Any]) -> None:
    _expect(scenario, isinstance(step, Step), f"apply returned {type(step).__name__}, not Step")
    strangers = (set(step.rewards) | set(step.outcome)) - set(scenario.seats)
    _expect(scenario, not strangers, f"rewards or outcome for unknown seats {sorted(strangers)}")
    finite = all(isinstance(value, int | float) and math.isfinite(value) for value in step.rewards.values())
    _expect(scenario, finite, f"rewards must be finite numbers, got {dict(step.rewards)}")
    for seat, parts in step.parts.items():
        value, total = step.rewards.get(seat, 0.0), math.fsum(parts.values())
        _expect(
            scenario, abs(total - value) < 1e-9, f"the parts {dict(parts)} of a reward of {value} sum to {total}"
        )
    over = step.ending in (None, "finished")
    _expect(scenario, over, f"it ended with {step.ending!r}; a scenario ends with 'finished'")


def _opened(job: Job) -> _Stage:
    """The stage before the first message. Raises ScenarioError: without a deal there is nothing to record."""
    try:
        if job.beginning is not None:
            return _forked(job, job.beginning)
        state = job.scenario.deal(cards(job.scenario.name, job.deal))
        return _Stage(job, job.scenario.topology(), state)
    except SimArenaError:
        raise
    except Exception as error:
        what = f"deal {job.deal} raised {type(error).__name__}: {error}"
        raise ScenarioError(f"scenario {job.scenario.name!r} broke its contract: {what}") from error


def _forked(job: Job, fork: Beginning) -> _Stage:
    """The stage of a fork where its parent stood."""
    messages = [message.model_copy(update={"episode": job.id}) for message in fork.messages]
    turns, rewards = list(fork.turns), list(fork.rewards)
    return _Stage(job, job.scenario.topology(), fork.state, messages, turns, rewards, index=fork.parent.turn)


def _recorded(stage: _Stage, ending: Ending, fault: Fault, step: Step[Any], seconds: float) -> Episode:
    """The episode. Raises ScenarioError if what the scenario gave for it has the wrong shape."""
    job = stage.job
    finished = ending == "finished"
    try:
        return Episode(
            id=job.id,
            scenario=job.scenario.name,
            options=dict(job.options),
            deal=job.deal,
            member=job.member,
            chance=job.chance,
            parent=job.beginning.parent if job.beginning is not None else None,
            seats={seat: _seat(spec, stage.records(seat)) for seat, spec in job.seats.items()},
            labels=dict(job.scenario.labels(stage.state)),
            messages=tuple(stage.messages),
            turns=tuple(stage.turns),
            rewards=tuple(stage.rewards),
            checks=dict(step.checks) if finished else {},
            outcome=dict(step.outcome) if finished else {},
            ending=ending,
            fault=str(fault),
            fault_seat=fault.seat,
            fault_cause=fault.cause if fault.seat else None,
            timings={"total": seconds, "waiting": stage.waiting, "attempts": float(stage.attempts)},
        )
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"]))
        what = f"{where} = {wrong['input']!r}: {wrong['msg']}"
        raise ScenarioError(f"scenario {job.scenario.name!r} broke its contract: {what}") from None


def _glance(stage: _Stage) -> dict[str, Any]:
    """What viewers are told with every move and what does not change."""
    job = stage.job
    return {
        "episode": job.id,
        "scenario": job.scenario.name,
        "seats": {seat: spec.short for seat, spec in job.seats.items()},
        "labels": dict(job.scenario.labels(stage.state)),
        "deal": job.deal,
        "member": job.member,
        "started": time.time(),
        "parent": job.beginning.parent if job.beginning is not None else None,
    }


def _progress(stage: _Stage, fresh: list[Message]) -> dict[str, Any]:
    """What viewers are told of the newest move."""
    records = (turn.record for turn in reversed(stage.turns) if turn.record is not None)
    return {
        **newest(fresh),
        "turn": stage.index,
        "returns": earned((reward.seat, reward.value) for reward in stage.rewards),
        "earned": {reward.seat: reward.value for reward in stage.rewards if reward.index == stage.index},
        "version": next((record.version for record in records), None),
    }


def _size(action: Action) -> int:
    """Characters of everything the action puts on record: what it says and calls, thinks and remembers."""
    data = [call.arguments for call in action.calls] + ([] if action.memory is None else [action.memory])
    return len(action.text) + len(action.thought) + sum(len(json.dumps(part)) for part in data)


def _seat(spec: AgentSpec, records: list[TurnRecord]) -> Seat:
    return Seat(spec=spec, version=records[0].version if records else None)


def _to_self(seat: str, part: Text | ToolResult) -> Draft:
    return Draft(seat=seat, kind="thought", parts=(part,), audience=(seat,))


def _has_private(action: Action) -> bool:
    return action.record is not None or bool(action.thought) or action.memory is not None


def _expect(scenario: Scenario[Any], holds: bool, otherwise: str) -> None:
    if not holds:
        raise ScenarioError(f"scenario {scenario.name!r} broke its contract: {otherwise}")


class _scenario_faults:
    """Turns an exception inside a scenario into an EnvironmentFault; a broken contract stays an error."""

    def __init__(self, scenario: Scenario[Any]) -> None:
        self._name = scenario.name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, ScenarioError | Fault):
            raise EnvironmentFault(f"scenario {self._name!r}: {type(error).__name__}: {error}") from error
