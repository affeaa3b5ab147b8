"""Results by lot: plays a format to its end without an arena, in any order of completion."""

import random
from collections.abc import Callable
from typing import Any

from simarena.arena.seeds import uniform
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.results import Match, Result

Decide = Callable[[Match], float]
"""The first side's score of a match, in [0, 1]; the others share the rest. Below zero: void."""


def by_lot(match: Match) -> float:
    """A win, a tie, a loss or, rarely, a void, by the hash of the match's id."""
    number = uniform("lot", match.id)
    return -1.0 if number < 0.03 else 0.5 if number < 0.2 else float(number < 0.6)


def favourites(match: Match) -> float:
    """The entrant whose name sorts first wins."""
    first, second = match.seats.values()
    return float(first < second)


def result(match: Match, score: float) -> Result:
    if score < 0:
        return Result(match=match, ending="void")
    first, *others = match.seats
    outcome = {first: score, **dict.fromkeys(others, 1.0 - score)}
    return Result(match=match, ending="finished", outcome=outcome)


def contest(entrants: int, **more: Any) -> Contest:
    names = tuple(f"e{number:04}" for number in range(entrants))
    return Contest(entrants=names, **{"sides": {"a": ("a",), "b": ("b",)}, **more})


def play(
    frame: Contest, format: Any, decide: Decide = by_lot, order: int = 0
) -> tuple[list[list[Meeting]], list[Result]]:
    """The meetings of each draw and all results, which come in by the lot `order`."""
    results: list[Result] = []
    draws: list[list[Meeting]] = []
    while drawn := format.draw(frame, results):
        draws.append(drawn)
        assert len(draws) < 200, "the format does not end"
        results += [result(match, decide(match)) for meeting in drawn for match in frame.matches(meeting)]
        random.Random(order).shuffle(results)
    return draws, results


def one_meeting(frame: Contest, results: list[Result]) -> list[Meeting]:
    """A format of one's own: the first two entrants meet once."""
    return [] if results else [Meeting(1, frame.entrants[:2])]
