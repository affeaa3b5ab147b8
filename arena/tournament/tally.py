"""Tallies: points from results. A win is 1, a tie ½, a loss 0; sums are exact, so no order of results matters.

What formats and cross-tables count; ratings are fitted elsewhere. Void results give nobody anything.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

import networkx as nx

from simarena.arena.tournament.results import Result

Meetings = dict[tuple[int, frozenset[str]], dict[str, float]]
"""(round, who met) → points per match of each, in [0, 1]; all zero where every match was void."""


def points(result: Result) -> Mapping[str, float]:
    """Entrant → points of one match: the share of opposing sides it beat, a tie counting half.

    Alone it gets its own outcome. Empty if void.
    """
    scores = result.scores()
    who = {side: result.match.seats[seats[0]] for side, seats in result.match.teams().items()}
    if len(scores) == 1:
        return {who[side]: score for side, score in scores.items()}
    return {who[side]: _beaten(scores, side) for side in scores}


def _beaten(scores: Mapping[str, float], side: str) -> float:
    """The share of the other sides that this one beat, a tie counting half."""
    others = [score for other, score in scores.items() if other != side]
    return sum(_won(scores[side], score) for score in others) / len(others)


def _won(own: float, other: float) -> float:
    """1, ½ or 0; differences in the tenth digit are those of adding up seats, not of play."""
    lead = round(own - other, 9)
    return (lead > 0) + (lead == 0) / 2


def last_round(results: Iterable[Result]) -> int:
    """The number of the last round with a result; 0 before the first."""
    return max((result.match.round for result in results), default=0)


def undrawn(rounds: int, results: Iterable[Result]) -> range:
    """The rounds, counted from 1, after the last with a result: what a format draws that waits for none."""
    return range(last_round(results) + 1, rounds + 1)


def meetings(results: Iterable[Result]) -> Meetings:
    """Who met in which round, and their mean points there."""
    earned: dict[tuple[int, frozenset[str]], list[Mapping[str, float]]] = defaultdict(list)
    for result in results:
        earned[result.match.round, frozenset(result.match.seats.values())].append(points(result))
    return {
        (round, who): {entrant: _mean([row[entrant] for row in rows if row]) for entrant in who}
        for (round, who), rows in earned.items()
    }


def cross_table(results: Iterable[Result], scored: bool = False) -> "nx.DiGraph[str]":
    """Edge a → b: `points` that a took from b and the `matches` they played, summed over all meetings.

    `scored`: a's own outcomes against b instead, where how much one gets counts and not who gets more.
    """
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        scores, teams = result.scores(), result.match.teams()
        for one in scores:
            for other in scores:
                if one != other:
                    pair = result.match.seats[teams[one][0]], result.match.seats[teams[other][0]]
                    took[pair].append(scores[one] if scored else _won(scores[one], scores[other]))
    graph: nx.DiGraph[str] = nx.DiGraph()
    for (one, other), shares in sorted(took.items()):
        graph.add_edge(one, other, points=math.fsum(shares), matches=len(shares))
    return graph


def _mean(numbers: list[float]) -> float:
    return math.fsum(numbers) / len(numbers) if numbers else 0.0
