"""The scenario `relay`: one seat sees where to go and may not name it, the other goes and sees nothing.

A signalling game (Lewis, "Convention", 1969) with two legs: the two must come to a code of their own, so neither
seat can be solved while the other keeps to its ways. Owns turn order, views, rewards and the end.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, Draft, Text, View, notice
from simarena.arena.protocols import Scenario, Step
from simarena.arena.specs import AgentSpec
from simarena.simulators.hearing import words
from simarena.simulators.splits import Split

SEATS = SCOUT, RUNNER = "scout", "runner"
PLACES = ("harbour", "market", "mill", "tower", "bridge", "garden", "well", "forge")
SIGNALS = ("ba", "di", "fo", "gu", "ka", "le", "mo", "zu")
NEXT = "the runner must go to the {place}."
SCOUTING = "signal with one of {signals}; naming a place is not heard."
RUNNING = "go to one of {places}."
HIDDEN, RIGHT, WRONG = "...", "right.", "wrong."


@dataclass(frozen=True, slots=True)
class State:
    route: tuple[str, ...]
    """Where to go, leg by leg."""
    reached: tuple[bool, ...] = ()
    signalled: bool = False
    """The scout has spoken in this leg."""


class Relay(Scenario[State]):
    """Options: `places` (2 to 8, as many signals), `legs`; `split` changes nothing, since the places are few.

    Raises UsageError for numbers that cannot be.
    """

    name = "relay"
    seats = SEATS

    def __init__(self, split: Split = "train", places: int = 4, legs: int = 2) -> None:
        if not 2 <= places <= len(PLACES) or legs < 1:
            raise UsageError(f"relay needs 2 to {len(PLACES)} places and at least 1 leg, got {places} and {legs}")
        self.split, self.places, self.signals, self.legs = split, PLACES[:places], SIGNALS[:places], legs

    def deal(self, rng: random.Random) -> State:
        return State(tuple(rng.choice(self.places) for _ in range(self.legs)))

    def to_act(self, state: State) -> frozenset[str]:
        return frozenset((RUNNER if state.signalled else SCOUT,))

    def view(self, state: State, seat: str) -> View:
        """The scout is shown the whole route at once: a view that changed would rewrite what a policy has read."""
        if seat == RUNNER:
            return View(instructions=RUNNING.format(places=" ".join(self.places)))
        route = " ".join(NEXT.format(place=place) for place in state.route)
        return View(instructions=f"{route} {SCOUTING.format(signals=' '.join(self.signals))}")

    def apply(self, state: State, actions: Mapping[str, Action]) -> Step[State]:
        ((seat, action),) = actions.items()
        said = words(action.text)
        if seat == SCOUT:
            heard = " ".join(word if word in self.signals else HIDDEN for word in said) or HIDDEN
            messages = _heard(action, heard)
            return Step(State(state.route, state.reached, signalled=True), messages)
        right = [word for word in said if word in self.places][:1] == [state.route[len(state.reached)]]
        after = State(state.route, (*state.reached, right))
        speech = Draft(seat=RUNNER, kind="speech", parts=(Text(text=" ".join(said) or HIDDEN),))
        messages = (speech, notice(RIGHT if right else WRONG))
        reward = dict.fromkeys(SEATS, right / self.legs)
        if len(after.reached) < self.legs:
            return Step(after, messages, reward)
        arrived = {f"leg_{number}": reached for number, reached in enumerate(after.reached, 1)}
        outcome = dict.fromkeys(SEATS, sum(after.reached) / self.legs)
        return Step(after, messages, reward, ending="finished", checks=arrived, outcome=outcome)

    def cast(self) -> Mapping[str, AgentSpec]:
        """A scripted pair with a code of its own."""
        return {
            SCOUT: AgentSpec(agent="simarena.simulators.scenarios.relay.players:Signaller"),
            RUNNER: AgentSpec(agent="simarena.simulators.scenarios.relay.players:Follower"),
        }

    def state_key(self, state: State, seat: str) -> str:
        """The leg."""
        return str(len(state.reached))

    def secrets(self, state: State, seat: str) -> tuple[str, ...]:
        """The route: the scout's to know."""
        return tuple(NEXT.format(place=place) for place in state.route) if seat == SCOUT else ()

    def lexicon(self) -> tuple[str, ...]:
        texts = (NEXT.format(place=""), SCOUTING.format(signals=""), RUNNING.format(places=""), RIGHT, WRONG)
        return tuple(sorted({*(word for text in texts for word in words(text)), *self.places, *self.signals}))


def _heard(action: Action, heard: str) -> tuple[Draft, ...]:
    """What the scout said, for itself; what of it the runner hears, for the runner."""
    own = tuple(part for part in action.parts if isinstance(part, Text) and part.text.strip())
    kept = Draft(seat=SCOUT, kind="speech", parts=own or (Text(text=HIDDEN),), audience=(SCOUT,))
    return kept, notice(heard, (RUNNER,))
