"""A duel for tournament tests: two seats, at once, each says a number; the higher wins, equal is a tie."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simarena.arena.messages import Action, Observation, View, drafts, say
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import uniform


@dataclass(frozen=True)
class Luck:
    bonus: int
    """What the first seat's number is raised by: a deal that favours a seat."""


class Duel(Scenario[Luck]):
    name = "duel"
    seats = ("a", "b")

    def deal(self, rng: random.Random) -> Luck:
        return Luck(rng.randrange(4))

    def to_act(self, state: Luck) -> frozenset[str]:
        return frozenset(self.seats)

    def view(self, state: Luck, seat: str) -> View:
        return View(instructions="say a number")

    def apply(self, state: Luck, actions: Mapping[str, Action]) -> Step[Luck]:
        if BREAKS and BREAKS.pop():
            raise RuntimeError("the table collapsed")
        a, b = (int(actions[seat].text) for seat in self.seats)
        lead = a + state.bonus - b
        share = 0.5 if lead == 0 else float(lead > 0)
        messages = tuple(draft for seat in self.seats for draft in drafts(seat, actions[seat]))
        return Step(state, messages, ending="finished", outcome={"a": share, "b": 1 - share})


BREAKS: list[bool] = []
"""Whether the next duels break down, last first; empty: none does."""


class Fighter:
    """Says a number around its skill."""

    def __init__(self, skill: int = 10, spread: int = 12, pause: float = 0.0) -> None:
        self.skill, self.spread, self.pause = skill, spread, pause

    async def act(self, observation: Observation) -> Action:
        await asyncio.sleep(self.pause)
        return say(str(self.skill + int(self.spread * uniform(observation.seed, observation.turn))))


def lower(case: Any) -> str:
    """A judge's rule that turns the duel around: the lower number is better."""
    said = dict(case.lines)
    first, second = (int(said[label]) for label in case.labels[:2])
    return "tie" if first == second else "first" if first < second else "second"
