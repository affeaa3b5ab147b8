"""A synchronous driver: plays a scenario with agents, without bus or loop."""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from simarena.arena.messages import Action, Draft, Message, Observation
from simarena.arena.protocols import Agent, Scenario, Step
from simarena.arena.seeds import derive, rng


@dataclass
class Played:
    """One finished conversation."""

    states: list[Any]
    messages: list[Message]
    rewards: list[tuple[str, float]]
    """(mover, what the assistant earned), turn by turn."""
    step: Step[Any]
    labels: Mapping[str, str]
    actions: list[Action] = field(default_factory=list)

    @property
    def success(self) -> bool:
        return all(self.step.checks.values())

    def said(self, seat: str) -> list[str]:
        return [message.text for message in self.messages if message.seat == seat and message.kind == "speech"]


def resolve(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the agent waited for something")


def stamp(episode: str, turn: int, drafts: tuple[Draft, ...]) -> list[Message]:
    return [
        Message(episode=episode, id=f"{turn}-{n}", seat=d.seat, kind=d.kind, parts=d.parts, audience=d.audience)
        for n, d in enumerate(drafts, 1)
    ]


def play(scenario: Scenario[Any], agents: Mapping[str, Agent], deal: int, member: int = 0) -> Played:
    state = scenario.deal(rng("deal", scenario.name, deal))
    episode, turn = f"test/{deal}/{member}", 0
    messages = stamp(episode, 0, scenario.opening(state))
    played = Played([state], messages, [], Step(state), scenario.labels(state))
    while played.step.ending is None:
        turn += 1
        (seat,) = scenario.to_act(state)
        observation = Observation(
            episode=episode,
            scenario=scenario.name,
            seat=seat,
            turn=turn,
            seed=derive("test", deal, member, seat),
            view=scenario.view(state, seat),
            messages=tuple(m for m in messages if m.audible(seat)),
        )
        action = resolve(agents[seat].act(observation))
        played.step = scenario.apply(state, {seat: action})
        state = played.step.state
        messages += stamp(episode, turn, played.step.messages)
        played.states.append(state)
        played.actions.append(action)
        played.rewards.append((seat, played.step.rewards.get("assistant", 0.0)))
    return played


@pytest.fixture(name="play")
def _play() -> Any:
    return play


@pytest.fixture(scope="session")
def play_session() -> Any:
    return play
