"""Forks: from which states conversations are played on, and how often. Pure; whoever plays them is elsewhere.

The budget goes where the outcome is uncertain: first two continuations from each of a few turns spread over
every episode, then the rest to the states whose continuations differed most.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import Field

from simarena.arena.messages import Frozen
from simarena.training.groups import Group

PILOT = 2
"""Continuations of a state in the first round; fewer say nothing about spread."""
State = tuple[str, str, int]
"""Episode, seat, and which of the seat's turns is next."""


class ForkOptions(Frozen):
    """How much is played to value states."""

    states: int = Field(default=2, gt=0)
    """Turns of each episode from before which conversations are played on."""
    budget: int = Field(default=64, ge=0)
    """Continuations of one step beyond the first two of each state."""
    most: int = Field(default=8, ge=PILOT)
    """Continuations of one state."""


def pilots(groups: Sequence[Group], options: ForkOptions, opening: bool) -> dict[State, int]:
    """The first round. `opening` asks for the state before a seat's first turn as well."""
    return {
        (episode.id, group.seat, turn): PILOT
        for group in groups
        for episode in group.members
        for turn in spread(len(episode.turns_of(group.seat)), options.states, opening)
    }


def spread(turns: int, count: int, opening: bool) -> list[int]:
    """Up to `count` of the turns 1 … turns − 1, evenly, and turn 0 if asked for."""
    later = range(1, turns)
    chosen = (
        later if len(later) <= count else [later[(2 * n + 1) * len(later) // (2 * count)] for n in range(count)]
    )
    return [*([0] if opening and turns else []), *chosen]


def further(found: Mapping[State, Sequence[float]], options: ForkOptions) -> dict[State, int]:
    """The second round: one at a time to the state whose mean is least sure, σ / √n, while there is budget."""
    extra: Counter[State] = Counter()
    spreads = {state: _variance(values) for state, values in found.items() if len(values) >= 2}

    def doubt(state: State) -> float:
        return spreads[state] / (len(found[state]) + extra[state])

    for _ in range(options.budget):
        open_states = [s for s in spreads if spreads[s] > 0 and len(found[s]) + extra[s] < options.most]
        if not open_states:
            break
        extra[max(sorted(open_states), key=doubt)] += 1
    return dict(extra)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
