"""Swiss: in each round equals meet, nobody meets anybody twice.

An odd number gets a ghost; who draws the ghost has a bye, worth a win. No rematch with the ghost means at most one
bye each. Unmirrored, nobody is first twice more than second.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen
from simarena.arena.seeds import derive
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.formats.pairing import pair_up
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.tally import last_round, meetings

GHOST = ""
"""The opponent of who has a bye."""


class Swiss(Frozen):
    kind: Literal["swiss"] = "swiss"
    rounds: int = Field(ge=1)
    """Rounds to play; about log2 of the number of entrants finds the best, more make ratings narrower."""

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        contest.require_duels(self.kind)
        self._require_room(contest)
        round = last_round(results) + 1
        if round > self.rounds:
            return []
        everyone = [*contest.entrants, *([GHOST] if len(contest.entrants) % 2 else [])]
        met, score = _history(contest, results)
        ahead = {} if contest.mirrored else _seat_balance(contest, results)

        def allowed(one: str, other: str) -> bool:
            return other not in met[one] and ahead.get(one, 0) + ahead.get(other, 0) not in (-2, 2)

        lot = {name: derive(contest.seed, "swiss", round, name) for name in everyone}
        order = sorted(everyone, key=lambda name: (name == GHOST, -score[name], lot[name]))
        pairs = pair_up(order, allowed)
        if pairs is None:
            raise UsageError(f"no round {round} without a rematch: use fewer rounds or format 'round-robin'")
        seated = [_seat(pair, ahead, lot) for pair in pairs if GHOST not in pair]
        return [meeting for pair in seated for meeting in contest.legs(round, pair)]

    def _require_room(self, contest: Contest) -> None:
        """Refuse more rounds than can be paired without a rematch whatever the results are."""
        most = most_rounds(len(contest.entrants), contest.mirrored)
        if self.rounds > most:
            raise UsageError(
                f"format.rounds = {self.rounds}: {len(contest.entrants)} entrants can play {most} Swiss rounds "
                "without a rematch for sure; use fewer, a larger best_of, or format 'round-robin'"
            )


def most_rounds(entrants: int, mirrored: bool) -> int:
    """Rounds that can always be paired: up to half of the field, or a quarter and one where seats must balance
    too.

    After r rounds each of n may still meet n − 1 − r others; `pair_up` is sure to succeed with n/2 of them. Where
    those who were first once more may not meet each other, half of the field is left, and n/4 of it must be free.
    """
    size = entrants + entrants % 2
    return size // 2 if mirrored else size // 4 + 1


def _history(contest: Contest, results: Sequence[Result]) -> tuple[dict[str, set[str]], dict[str, float]]:
    """Whom each has met, and the points so far with a bye as a win."""
    met: dict[str, set[str]] = defaultdict(set)
    earned: dict[str, list[float]] = defaultdict(list)
    for who_points in meetings(results).values():
        one, other = who_points
        met[one].add(other)
        met[other].add(one)
        for name, share in who_points.items():
            earned[name].append(share)
    played = last_round(results)
    score = defaultdict(float, {name: math.fsum(shares) for name, shares in earned.items()})
    for name in contest.entrants:
        if len(met[name]) < played:
            met[name].add(GHOST)
            met[GHOST].add(name)
            score[name] += played - len(earned[name])
    return met, score


def _seat_balance(contest: Contest, results: Sequence[Result]) -> dict[str, int]:
    """Entrant → matches as first side minus matches as second."""
    first, second = (seats[0] for seats in contest.sides.values())
    ahead: dict[str, int] = defaultdict(int)
    for result in results:
        ahead[result.match.seats[first]] += 1
        ahead[result.match.seats[second]] -= 1
    return ahead


def _seat(pair: tuple[str, str], ahead: dict[str, int], lot: dict[str, int]) -> tuple[str, str]:
    """First sits who was first less often; a lot decides among equals."""
    one, other = sorted(pair, key=lambda name: (ahead.get(name, 0), lot[name]))
    return one, other
