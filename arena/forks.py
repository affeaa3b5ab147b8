"""Forks: takes a recorded episode back to one of its turns, from where it can go on.

A scenario is a function of (options, deal, actions), so carrying out the recorded actions again rebuilds its
state exactly; what they say and earn this time is held against the record. Knows no agent, bus or file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simarena.arena.episodes import Episode, Parent, Reward, Turn
from simarena.arena.errors import RecordError, UsageError
from simarena.arena.messages import Action, Message
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import cards
from simarena.arena.specs import AgentSpec
from simarena.arena.topology import Topology


@dataclass(frozen=True, slots=True)
class Beginning:
    """How far a fork has come before it is played: its parent's record up to a turn, and the state there."""

    parent: Parent
    state: Any
    messages: tuple[Message, ...]
    """As the parent holds them; the fork stamps them with its own id."""
    turns: tuple[Turn, ...]
    rewards: tuple[Reward, ...]
    recast: frozenset[str]
    """Seats that somebody else takes over: they have heard what the seat heard, and know nothing of its mind."""
    retold: frozenset[str]
    """Seats whose token trail is of another policy: they read the conversation anew."""


def beginning(scenario: Scenario[Any], episode: Episode, turn: int, seats: Mapping[str, AgentSpec]) -> Beginning:
    """The episode as it stood after `turn` (0: after the opening), with `seats` at the table from there on.

    Raises UsageError for a turn there is nothing to go on from, RecordError where the rules no longer do what
    they did when it was recorded.
    """
    last = max((one.index for one in episode.turns), default=0) - (episode.ending == "length_cap")
    if not 0 <= turn <= last:
        raise UsageError(f"episode {episode.id!r} has no turn {turn} to fork after: give one from 0 to {last}")
    before = {name: seat.spec for name, seat in episode.seats.items()}
    if gained := sorted(set(seats) - set(before)):
        raise _changed(episode, 0, f"nobody sat at {', '.join(gained)}")
    state, topology = scenario.deal(cards(scenario.name, episode.deal)), scenario.topology()
    told = [message for message in episode.messages if message.turn == 0]
    _agree(episode, 0, told, _drafted(topology, scenario.opening(state)), {}, {})
    for index in range(1, turn + 1):
        step = _again(scenario, episode, state, topology, index)
        state = step.state
        if step.ending is not None:
            raise UsageError(f"episode {episode.id!r} is over with turn {index}: fork after an earlier one")
    return Beginning(
        parent=Parent(episode=episode.id, turn=turn, digest=episode.digest()),
        state=state,
        messages=tuple(message for message in episode.messages if message.turn <= turn),
        turns=tuple(one for one in episode.turns if one.index <= turn),
        rewards=tuple(reward for reward in episode.rewards if reward.index <= turn),
        recast=frozenset(name for name, spec in seats.items() if before[name].agent != spec.agent),
        retold=frozenset(name for name, spec in seats.items() if before[name] != spec),
    )


def _again(scenario: Scenario[Any], episode: Episode, state: Any, topology: Topology, index: int) -> Step[Any]:
    """One recorded turn carried out once more."""
    moves = [turn for turn in episode.turns if turn.index == index]
    actions = {turn.seat: Action(parts=turn.parts, leave=turn.leave) for turn in moves}
    if scenario.to_act(state) != set(actions):
        raise _changed(episode, index, f"it is {sorted(scenario.to_act(state))} to act, not {sorted(actions)}")
    try:
        step = scenario.apply(state, actions)
    except Exception as error:
        raise _changed(episode, index, f"its rules raise {type(error).__name__}: {error}") from error
    said = [message for message in episode.messages if message.turn == index]
    own = len(said) - len(step.messages)  # before what the rules made of it is what the movers kept to themselves
    if own < 0 or any(message.kind != "thought" or message.seat not in actions for message in said[:own]):
        raise _changed(episode, index, "other messages come of it")
    paid = {reward.seat: reward.value for reward in episode.rewards if reward.index == index}
    _agree(episode, index, said[own:], _drafted(topology, step.messages), paid, dict(step.rewards))
    return step


def _drafted(topology: Topology, drafts: Any) -> list[tuple[Any, ...]]:
    return [(d.seat, d.kind, d.parts, topology.audience(d.seat, d.audience)) for d in drafts]


def _agree(
    episode: Episode,
    index: int,
    told: list[Message],
    again: list[tuple[Any, ...]],
    paid: Mapping[str, float],
    earned: Mapping[str, float],
) -> None:
    if [(m.seat, m.kind, m.parts, m.audience) for m in told] != again:
        raise _changed(episode, index, "other messages come of it")
    if paid != earned:
        raise _changed(episode, index, f"it earns {dict(earned)}, not {dict(paid)}")


def _changed(episode: Episode, index: int, what: str) -> RecordError:
    return RecordError(
        f"episode {episode.id!r} cannot be replayed: at turn {index} {what}; scenario {episode.scenario!r} has "
        "changed since it was recorded, or these are not its rules"
    )
