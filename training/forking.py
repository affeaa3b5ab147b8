"""Forking: plays a step's conversations on from before some of their turns, so that states have a value.

Which states and how often is `credit/forks.py`'s affair; what becomes of the values is the credit rule's.
Continuations that did not finish say nothing about a state and are left out.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.together import together
from simarena.training.credit.forks import State, further, pilots
from simarena.training.credit.rewards import RewardWeights, weighted
from simarena.training.credit.vine import ForkCreditOptions
from simarena.training.groups import Group


@dataclass(frozen=True, slots=True)
class Forks:
    """What was played on."""

    episodes: tuple[Episode, ...]
    values: Mapping[State, Sequence[float]]
    """Returns-to-go by state."""

    def continuations(self) -> dict[tuple[str, str], dict[int, Sequence[float]]]:
        """The values as credit rules read them."""
        found: dict[tuple[str, str], dict[int, Sequence[float]]] = defaultdict(dict)
        for (episode, seat, turn), values in self.values.items():
            found[episode, seat][turn] = values
        return dict(found)

    def metrics(self) -> dict[str, float]:
        return {"forks/played": float(len(self.episodes)), "forks/states": float(len(self.values))}


async def play_on(
    arena: SimulatorArena,
    groups: Sequence[Group],
    options: ForkCreditOptions,
    *,
    scenario: str,
    prefix: str,
    concurrency: int,
) -> Forks:
    """Two rounds: a few continuations of every state asked for, then the budget where they differ.

    `scenario` is the name by which the episodes' rules are found.
    """
    parents = {episode.id: episode for group in groups for episode in group.members}
    room = asyncio.Semaphore(max(1, concurrency // 2))
    values: dict[State, list[float]] = defaultdict(list)
    episodes: list[Episode] = []

    async def explore(state: State, members: int, name: str) -> list[Episode]:
        parent, seat, turn = parents[state[0]], state[1], state[2]
        taken_over = {seat: options.stand_in} if options.stand_in else {}
        before = parent.turns_of(seat)[turn].index - 1
        async with room:
            forks = arena.fork(parent, before, scenario=scenario, seats=taken_over, members=members, prefix=name)
            return sorted([fork async for fork in forks], key=lambda fork: fork.id)

    wanted = pilots(groups, options.forks, opening=bool(options.stand_in))
    for number in range(2):
        states = sorted(wanted)
        name = f"{prefix}-{number}"
        found = await together(explore(state, wanted[state], name) for state in states)
        for state, forks in zip(states, found, strict=True):
            episodes += forks
            finished = [fork for fork in forks if fork.ending == "finished"]
            values[state] += [worth(fork, parents[state[0]], state, options.rewards) for fork in finished]
        wanted = further(values, options.forks)
    return Forks(tuple(episodes), {state: found for state, found in values.items() if found})


def worth(fork: Episode, parent: Episode, state: State, weights: RewardWeights) -> float:
    """What the seat got from the state on; the whole return before its first turn, which has all before it."""
    _, seat, turn = state
    first = parent.turns_of(seat)[turn].index if turn else 0
    paid = weighted(fork, seat, weights)
    return sum(reward.value for reward in paid.rewards if reward.seat == seat and reward.index >= first)
