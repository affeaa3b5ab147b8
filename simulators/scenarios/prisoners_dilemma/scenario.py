"""The scenario `prisoners-dilemma`: two seats choose at once, round after round, to cooperate or to defect.

Owns payoffs, noise, what each seat sees and the end. Both learn both moves after every round; talk is not passed
on, so moves are the only language. Knows no strategy.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, Draft, View, notice
from simarena.arena.protocols import Scenario, Step
from simarena.simulators.splits import SPLITS, Split

ROW, COLUMN = "row", "column"
COOPERATE, DEFECT = "C", "D"
PAYOFFS: Mapping[tuple[str, str], int] = {("C", "C"): 3, ("C", "D"): 0, ("D", "C"): 5, ("D", "D"): 1}
"""(own move, other's move) → points (Axelrod 1980)."""
TEMPTATION = 5
_MOVE = re.compile(r"\b(cooperate|defect)\b", re.IGNORECASE)
_WORDS = {COOPERATE: "cooperate", DEFECT: "defect"}


@dataclass(frozen=True)
class State:
    flips: Mapping[str, frozenset[int]]
    """By seat: rounds in which noise turns the move around."""
    moves: Mapping[str, str]
    """By seat: one letter a round, C or D, as carried out."""
    legible: bool = True

    @property
    def played(self) -> int:
        return len(self.moves[ROW])


class PrisonersDilemma(Scenario[State]):
    """Options: `rounds`; `noise`, the chance that a move comes out as the other one; `split` (the same game).

    Raises UsageError for rounds below 1, noise outside [0, 1] or an unknown split.
    """

    name = "prisoners-dilemma"
    seats = (ROW, COLUMN)

    def __init__(self, rounds: int = 50, noise: float = 0.0, split: Split = "train") -> None:
        if split not in SPLITS:
            raise UsageError(f"unknown split {split!r}: one of {', '.join(SPLITS)}")
        if rounds < 1 or not 0 <= noise <= 1:
            raise UsageError(f"rounds = {rounds} must be at least 1, noise = {noise} in [0, 1]")
        self.rounds, self.noise = rounds, noise

    def deal(self, rng: random.Random) -> State:
        flips = {
            seat: frozenset(k for k in range(self.rounds) if rng.random() < self.noise) for seat in self.seats
        }
        return State(flips, dict.fromkeys(self.seats, ""))

    def opening(self, state: State) -> tuple[Draft, ...]:
        return (notice("round 1: cooperate or defect?"),)

    def to_act(self, state: State) -> frozenset[str]:
        return frozenset(self.seats)

    def view(self, state: State, seat: str) -> View:
        """`own` and `other` hold all moves so far, one letter a round."""
        own, other = state.moves[seat], state.moves[_other(seat)]
        return View(
            instructions=(
                f"you are {seat}. each round both choose at once: both cooperate, 3 points each; both defect, "
                "1 each; one defects, 5 for it and 0 for the other. say cooperate or defect. make many points."
            ),
            private={"own": own, "other": other},
        )

    def apply(self, state: State, actions: Mapping[str, Action]) -> Step[State]:
        asked = {seat: read_move(actions[seat].text) for seat in self.seats}
        done = {
            seat: _carried_out(asked[seat] or DEFECT, state.played in state.flips[seat]) for seat in self.seats
        }
        after = replace(
            state,
            moves={seat: state.moves[seat] + done[seat] for seat in self.seats},
            legible=state.legible and all(asked.values()),
        )
        told = ", ".join(f"{seat} {_WORDS[done[seat]]}s" for seat in self.seats)
        unclear = tuple(
            notice("no move could be read: that counts as defect. say cooperate or defect.", (seat,))
            for seat in self.seats
            if not asked[seat]
        )
        points = {seat: PAYOFFS[done[seat], done[_other(seat)]] for seat in self.seats}
        messages = (*unclear, notice(f"round {after.played}: {told}"))
        rewards = {seat: value / (TEMPTATION * self.rounds) for seat, value in points.items()}
        if after.played < self.rounds:
            return Step(after, messages, rewards)
        outcome = {seat: score(after, seat) / (TEMPTATION * self.rounds) for seat in self.seats}
        return Step(after, messages, rewards, "finished", {"legible": after.legible}, outcome)

    def state_key(self, state: State, seat: str) -> str:
        """The last two rounds, own move first."""
        own, other = state.moves[seat][-2:], state.moves[_other(seat)][-2:]
        return "/".join(a + b for a, b in zip(own, other, strict=True)) or "start"

    def lexicon(self) -> tuple[str, ...]:
        texts = [self.view(self.deal(random.Random(0)), seat).instructions for seat in self.seats]
        texts += ["round cooperates defects no move could be read that counts as"]
        words = {word for text in texts for word in re.findall(r"[a-z']+|[0-9]+|[^\w\s]", text)}
        return tuple(sorted(words | {str(k) for k in range(1, self.rounds + 1)}))


def read_move(text: str) -> str:
    """C or D from words; "" if there is neither or both."""
    named = {match.lower() for match in _MOVE.findall(text)}
    return {"cooperate": COOPERATE, "defect": DEFECT}[named.pop()] if len(named) == 1 else ""


def score(state: State, seat: str) -> int:
    """Points so far."""
    return sum(PAYOFFS[pair] for pair in zip(state.moves[seat], state.moves[_other(seat)], strict=True))


def _other(seat: str) -> str:
    return COLUMN if seat == ROW else ROW


def _carried_out(move: str, flipped: bool) -> str:
    return move if not flipped else DEFECT if move == COOPERATE else COOPERATE
