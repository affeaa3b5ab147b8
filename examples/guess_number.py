"""A scenario of one's own: one seat thinks of a number, the other guesses. Checked, then played.

python examples/guess_number.py
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from simarena.arena import (
    Action,
    Observation,
    Scenario,
    SimulatorArena,
    Step,
    View,
    check_scenario,
    drafts,
    notice,
    say,
)


@dataclass(frozen=True)
class State:
    number: int
    guesses: int = 0


class GuessNumber(Scenario[State]):
    name = "guess-number"
    seats = ("guesser",)

    def deal(self, rng: random.Random) -> State:
        return State(rng.randint(1, 20))

    def to_act(self, state: State) -> frozenset[str]:
        return frozenset(self.seats)

    def view(self, state: State, seat: str) -> View:
        return View(instructions="guess a number from 1 to 20; you hear whether it is too low or too high.")

    def apply(self, state: State, actions: Mapping[str, Action]) -> Step[State]:
        text = actions["guesser"].text.strip()
        guess = int(text) if text.isascii() and text.isdigit() else 0
        after = replace(state, guesses=state.guesses + 1)
        right = guess == state.number
        answer = "right" if right else "too low" if guess < state.number else "too high"
        told = (*drafts("guesser", actions["guesser"]), notice(answer))
        if not right and after.guesses < 6:
            return Step(after, told)
        score = {"guesser": float(right)}
        return Step(after, told, rewards=score, ending="finished", checks={"found": right}, outcome=score)


class Halving:
    """Guesses the middle of what is left."""

    async def act(self, observation: Observation) -> Action:
        low, high, guess = 1, 20, 10
        for message in observation.messages:
            if message.seat == "guesser":
                guess = int(message.text)
            elif message.text == "too low":
                low = guess + 1
            else:
                high = guess - 1
        return say(str((low + high) // 2))


async def main() -> None:
    check_scenario(GuessNumber())
    async with SimulatorArena() as arena:
        halving = f"{__name__}:Halving"
        async for episode in arena.play(GuessNumber(), seats={"guesser": halving}, deals=range(5)):
            print(episode.id, *(message.text for message in episode.messages), sep="  ")


if __name__ == "__main__":
    asyncio.run(main())
