"""The scenario `deal`: two seats divide a few items that are worth different things to them, by talking.

The task of Lewis et al. 2017 (arXiv 1706.05125), with our own items and words. Turn by turn (an offer, a
counter-offer or `deal`), or both at once (claims that must fit together). Owns turn order, views, rewards and the
end.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, Draft, Text, View, notice
from simarena.arena.protocols import Scenario, Step
from simarena.arena.specs import AgentSpec
from simarena.simulators.hearing import words
from simarena.simulators.scenarios.deal.pool import ITEMS, WORTH, Pool, Share, draw
from simarena.simulators.splits import Split, split_of

SEATS = FIRST, SECOND = "first", "second"
Mode = Literal["turns", "simultaneous"]
POOL = "there are {books} books, {hats} hats and {balls} balls."
VALUES = "to you a book is worth {books}, a hat {hats}, a ball {balls}."
HOW = {
    "turns": "say what you take, such as i take 2 books 1 hats, or say deal to accept the last offer.",
    "simultaneous": "both say at once what they take, such as i take 2 books 1 hats; if it fits it is a deal.",
}
AGREED, BROKEN, CLASH = "it is a deal.", "no deal.", "that is too much."
_CLAIM = re.compile(r"(\d+)\s+(book|hat|ball)s?\b")
_ACCEPT = frozenset({"deal", "accept", "agreed", "yes"})


@dataclass(frozen=True, slots=True)
class State:
    pool: Pool
    mover: int = 0
    turns: int = 0
    """Turns taken, or rounds where both speak at once."""
    offer: Share | None = None
    """What the seat that spoke last would take; None if it made no offer that can be accepted."""


class Deal(Scenario[State]):
    """Options: `split`, `mode` (`turns` or `simultaneous`), `rounds` (turns of each seat).

    Raises UsageError for a mode or number of rounds that cannot be.
    """

    name = "deal"
    seats = SEATS

    def __init__(self, split: Split = "train", mode: Mode = "turns", rounds: int = 4) -> None:
        if mode not in get_args(Mode) or rounds < 1:
            raise UsageError(f"deal needs mode 'turns' or 'simultaneous' and a round, got {mode!r} and {rounds}")
        self.split, self.mode, self.rounds = split, mode, rounds

    def deal(self, rng: random.Random) -> State:
        """A pool of the split; whoever may begin is drawn too."""
        while True:
            pool = draw(rng)
            if split_of(str(pool)) == self.split:
                return State(pool, mover=rng.randrange(2))

    def to_act(self, state: State) -> frozenset[str]:
        return frozenset(SEATS) if self.mode == "simultaneous" else frozenset((SEATS[state.mover],))

    def view(self, state: State, seat: str) -> View:
        counts, values = state.pool.counts, state.pool.values[SEATS.index(seat)]
        told = (_filled(POOL, counts), _filled(VALUES, values), HOW[self.mode])
        return View(instructions=" ".join(told), private={"counts": list(counts), "values": list(values)})

    def apply(self, state: State, actions: Mapping[str, Action]) -> Step[State]:
        said = tuple(_speech(seat, action) for seat, action in sorted(actions.items()))
        if self.mode == "simultaneous":
            return self._together(state, actions, said)
        ((seat, action),) = actions.items()
        offer = claim(action.text)
        after = replace(state, mover=1 - state.mover, turns=state.turns + 1, offer=_valid(state.pool, offer))
        if offer is None and state.offer is not None and _ACCEPT & set(words(action.text)):
            theirs = state.offer
            mine = state.pool.rest(theirs)
            return self._end(after, said, (mine, theirs) if seat == FIRST else (theirs, mine))
        return self._end(after, said, None) if after.turns >= 2 * self.rounds else Step(after, said)

    def _together(self, state: State, actions: Mapping[str, Action], said: tuple[Draft, ...]) -> Step[State]:
        claims = [_valid(state.pool, claim(actions[seat].text)) for seat in SEATS]
        after = replace(state, turns=state.turns + 1)
        first, second = claims
        if first is not None and second is not None:
            total = tuple(a + b for a, b in zip(first, second, strict=True))
            if state.pool.holds(total):
                return self._end(after, said, (first, second))
        if after.turns >= self.rounds:
            return self._end(after, said, None)
        return Step(after, (*said, notice(CLASH)))

    def _end(self, after: State, said: tuple[Draft, ...], division: tuple[Share, Share] | None) -> Step[State]:
        pool = after.pool
        worth = [pool.worth(seat, division[seat]) / WORTH for seat in (0, 1)] if division else [0.0, 0.0]
        checks = {
            "agreed": division is not None,
            "efficient": division is not None and pool.efficient(*division),
            "envy_free": division is not None and pool.envy_free(*division),
        }
        shares = dict(zip(SEATS, worth, strict=True))
        messages = (*said, notice(AGREED if division else BROKEN))
        return Step(after, messages, shares, ending="finished", checks=checks, outcome=shares)

    def cast(self) -> Mapping[str, AgentSpec]:
        """Scripted hagglers unless the caller seats others."""
        return dict.fromkeys(SEATS, AgentSpec(agent="simarena.simulators.scenarios.deal.players:Haggler"))

    def labels(self, state: State) -> Mapping[str, str]:
        return {"pool": " ".join(map(str, state.pool.counts)), "split": self.split, "mode": self.mode}

    def state_key(self, state: State, seat: str) -> str:
        """How far the talk is, and whether there is an offer to accept."""
        return f"{state.turns}/{state.offer is not None}"

    def secrets(self, state: State, seat: str) -> tuple[str, ...]:
        """What things are worth to it."""
        return (_filled(VALUES, state.pool.values[SEATS.index(seat)]).rstrip("."),)

    def lexicon(self) -> tuple[str, ...]:
        texts = (POOL, VALUES, *HOW.values(), AGREED, BROKEN, CLASH, *ITEMS, *_ACCEPT)
        spoken = {word for text in texts for word in words(re.sub(r"\{\w+\}", " ", text))}
        return tuple(sorted(spoken | {str(number) for number in range(WORTH + 1)}))


def claim(text: str) -> Share | None:
    """What a text says its speaker takes; items it leaves out are not taken. None if it names no item."""
    found = _CLAIM.findall(text.lower())
    if not found:
        return None
    taken = {f"{item}s": int(number[:3]) for number, item in found}
    return tuple(taken.get(item, 0) for item in ITEMS)


def _valid(pool: Pool, share: Share | None) -> Share | None:
    return share if share is not None and pool.holds(share) else None


def _filled(text: str, share: Share) -> str:
    return text.format(**dict(zip(ITEMS, share, strict=True)))


def _speech(seat: str, action: Action) -> Draft:
    parts = tuple(part for part in action.parts if isinstance(part, Text) and part.text.strip())
    return Draft(seat=seat, kind="speech", parts=parts or (Text(text="..."),))
