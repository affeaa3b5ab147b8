"""The conductor: plays conversations. Asks who acts, shows each what it may see, carries the turns over
the bus, and keeps the record.

Owns: turn order, stamping, audiences, deadlines, endings. Does not know: what a scenario means, how an
agent thinks, what is trained. It is the only writer of a conversation's stream.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from simarena.arena.bus import Bus
from simarena.arena.episodes import Ending, Episode, Reward, Seat, Turn
from simarena.arena.errors import AgentFault, EnvironmentFault, Fault, ScenarioError, SimulatorFault, UsageError
from simarena.arena.lanes import Lanes
from simarena.arena.messages import Action, Draft, Limits, Message, Observation, Text, ToolResult
from simarena.arena.post import Post
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import derive, rng
from simarena.arena.specs import AgentSpec
from simarena.arena.tokens import TurnRecord, trail
from simarena.arena.topology import Topology

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


@dataclass(slots=True)
class _Stage:
    """The record of a conversation while it runs."""

    job: Job
    topology: Topology
    state: Any
    messages: list[Message] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    rewards: list[Reward] = field(default_factory=list)
    index: int = 0
    writing: asyncio.Task[None] | None = None
    waiting: float = 0.0
    attempts: int = 0

    def records(self, seat: str) -> list[TurnRecord]:
        return [turn.record for turn in self.turns if turn.seat == seat and turn.record is not None]


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
        began = time.monotonic()
        ending, fault, step = "cancelled", "", Step(None)
        deal = rng("deal", job.scenario.name, job.deal)
        stage = _Stage(job, job.scenario.topology(), job.scenario.deal(deal))
        try:
            async with asyncio.timeout(job.limits.episode_seconds):
                await self._post.open_conversation(job.id)
                ending, step = await self._converse(stage)
        except Fault as error:
            ending, fault = ENDING_OF[type(error)], str(error)
        except TimeoutError:
            ending, fault = "environment_fault", f"no end after {job.limits.episode_seconds:g} s"
        episode = Episode(
            id=job.id,
            scenario=job.scenario.name,
            options=dict(job.options),
            deal=job.deal,
            member=job.member,
            seats={seat: _seat(spec, stage.records(seat)) for seat, spec in job.seats.items()},
            labels=dict(job.scenario.labels(stage.state)),
            messages=tuple(stage.messages),
            turns=tuple(stage.turns),
            rewards=tuple(stage.rewards),
            checks=dict(step.checks) if ending == "finished" else {},
            outcome=dict(step.outcome) if ending == "finished" else {},
            ending=ending,
            fault=fault,
            timings={
                "total": time.monotonic() - began,
                "waiting": stage.waiting,
                "attempts": float(stage.attempts),
            },
        )
        if stage.writing is not None:
            await stage.writing
        await self._post.close_conversation(episode)
        return episode

    async def _converse(self, stage: _Stage) -> tuple[Ending, Step[Any]]:
        scenario, limits = stage.job.scenario, stage.job.limits
        with _scenario_faults(scenario):
            self._tell(stage, scenario.opening(stage.state))
        while True:
            if self._cancelled:
                return "cancelled", Step(stage.state)
            if len(stage.turns) >= limits.turns:
                return "turn_cap", Step(stage.state)
            with _scenario_faults(scenario):
                seats = sorted(scenario.to_act(stage.state))
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
        actions = await asyncio.gather(*(self._ask_one(stage, seat) for seat in seats))
        return dict(zip(seats, actions, strict=True))

    async def _ask_one(self, stage: _Stage, seat: str) -> Action:
        job = stage.job
        with _scenario_faults(job.scenario):
            view = job.scenario.view(stage.state, seat)
        observation = Observation(
            episode=job.id,
            scenario=job.scenario.name,
            seat=seat,
            turn=stage.index,
            seed=derive(job.seed, job.scenario.name, job.id, seat),
            view=view,
            messages=tuple(message for message in stage.messages if message.audible(seat)),
            trail=trail(stage.records(seat)),
            max_tokens=job.limits.turn_tokens,
        )
        asked = time.monotonic()
        reply, attempts = await self._post.ask(job.seats[seat], observation, job.limits)
        stage.waiting += time.monotonic() - asked
        stage.attempts += attempts
        if reply.action is None:
            kinds = {"agent": AgentFault, "simulator": SimulatorFault, "environment": EnvironmentFault}
            raise kinds[reply.kind](f"seat {seat!r}: {reply.fault}")
        if len(reply.action.text) > job.limits.message_chars:
            raise AgentFault(
                f"seat {seat!r} said {len(reply.action.text)} characters; the limit is {job.limits.message_chars}"
            )
        return reply.action

    async def _note(self, stage: _Stage, actions: Mapping[str, Action]) -> bool:
        """Record the turns and what each mover keeps to itself; true if one was cut off by its token limit."""
        private: list[Draft] = []
        for seat, action in actions.items():
            with _scenario_faults(stage.job.scenario):
                key = stage.job.scenario.state_key(stage.state, seat)
            stage.turns.append(Turn(index=stage.index, seat=seat, state_key=key, record=action.record))
            if action.thought:
                private.append(_to_self(seat, Text(text=action.thought)))
            if action.memory is not None:
                private.append(_to_self(seat, ToolResult(name="memory", content=action.memory)))
        self._tell(stage, tuple(private))
        return any(action.record is not None and action.record.finish == "length" for action in actions.values())

    async def _apply(self, stage: _Stage, actions: Mapping[str, Action]) -> Step[Any]:
        scenario = stage.job.scenario
        bare = {
            seat: Action(parts=action.parts, leave=action.leave) if _has_private(action) else action
            for seat, action in actions.items()
        }
        with _scenario_faults(scenario):
            step = scenario.apply(stage.state, bare)
            _expect(scenario, isinstance(step, Step), f"apply returned {type(step).__name__}, not Step")
            strangers = (set(step.rewards) | set(step.outcome)) - set(stage.job.seats)
            _expect(scenario, not strangers, f"rewards or outcome for unknown seats {sorted(strangers)}")
        stage.state = step.state
        for seat, value in step.rewards.items():
            stage.rewards.append(Reward(index=stage.index, seat=seat, value=float(value)))
        self._tell(stage, step.messages)
        return step

    def _tell(self, stage: _Stage, drafts: tuple[Draft, ...]) -> None:
        """Stamp drafts, enforce who may hear them, record them and put them on the conversation's stream."""
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
            stage.writing = asyncio.create_task(self._post.publish(fresh, stage.writing))


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
