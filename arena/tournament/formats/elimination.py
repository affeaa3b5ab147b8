"""Elimination: who has lost once (single) or twice (double) is out; the last one standing wins.

Single elimination, and the upper half of double elimination, is the standard bracket: seeds 1 and 2 can meet in
the final only, byes fall to the top seeds in the first round and nowhere else. In double elimination each round's
losers join the lower half, which is paired afresh each round (best against worst, no rematch where one can be
avoided, an odd one out is who has had the fewest byes). The winner of the lower half must beat the winner of the
upper half twice (bracket reset).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import networkx as nx

from simarena.arena.messages import Frozen
from simarena.arena.seeds import rng
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.formats.pairing import pair_up
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.tally import points

T = TypeVar("T")

EXTRA_LEGS = 2
"""Further deals played when best-of-n ends level; then the better seed goes on."""

Seeding = Literal["listed", "random"]
"""The order of the entrants is their seeding, or it is drawn by lot."""


class _Elimination(Frozen):
    seeding: Seeding = "listed"

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        return self._played(contest, results).due

    def bracket(self, contest: Contest, results: Sequence[Result]) -> "nx.DiGraph[str]":
        """Node: a meeting, with its `round`, `entrants`, `half` and `winner` (empty while open). An edge leads to
        the next meeting of an entrant, its `entrant`, and whether it came there as the winner (`won`)."""
        return self._played(contest, results).graph

    def _played(self, contest: Contest, results: Sequence[Result]) -> "_Bracket":
        contest.require_duels(self.kind)  # type: ignore[attr-defined]
        seeds = list(contest.entrants)
        if self.seeding == "random":
            rng(contest.seed, "seeding").shuffle(seeds)
        bracket = _Bracket(contest, seeds, _margins(results))
        bracket.play(lives=2 if isinstance(self, DoubleElimination) else 1)
        return bracket


class SingleElimination(_Elimination):
    kind: Literal["single-elimination"] = "single-elimination"


class DoubleElimination(_Elimination):
    kind: Literal["double-elimination"] = "double-elimination"


_Margins = dict[tuple[int, frozenset[str]], list[dict[str, float]]]
"""(round, who met) → for each leg, the mean points of each."""


def _margins(results: Sequence[Result]) -> _Margins:
    Legs = dict[str, list[dict[str, float]]]
    legs: dict[tuple[int, frozenset[str]], Legs] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: result.match.id):
        who = frozenset(result.match.seats.values())
        legs[result.match.round, who][result.match.pair].append(dict(points(result)))
    return {
        (round, who): [
            {name: sum(row.get(name, 0.0) for row in rows) / max(1, sum(map(bool, rows))) for name in who}
            for rows in by_leg.values()
        ]
        for (round, who), by_leg in legs.items()
    }


@dataclass
class _Bracket:
    """Plays the results so far through the bracket, as far as they go."""

    contest: Contest
    seeds: list[str]
    margins: _Margins
    due: list[Meeting] = field(default_factory=list)
    """What must be played before the bracket goes on; empty when it is over."""
    graph: "nx.DiGraph[str]" = field(default_factory=nx.DiGraph)
    round: int = 0
    _seed: dict[str, int] = field(default_factory=dict)
    _came_from: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _met: set[frozenset[str]] = field(default_factory=set)
    _byes: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def play(self, lives: int) -> None:
        self._seed = {name: place for place, name in enumerate(self.seeds)}
        upper, lower = slots(self.seeds), list[str]()
        while not self.due and (len(upper) > 1 or (lives == 2 and len(lower) > 1)):
            self.round += 1
            above = [pair for pair in _adjacent(upper) if None not in pair] if len(upper) > 1 else []
            below = self._lower_pairs(lower) if lives == 2 else []
            won = {frozenset(pair): self._meet("upper", *pair) for pair in above}  # type: ignore[arg-type]
            beaten = {frozenset(pair): self._meet("lower", *pair) for pair in below}
            if self.due:
                return
            out = {name for pair, winner in beaten.items() for name in pair - {winner}}
            fallen = {name for pair, winner in won.items() for name in pair - {winner}}
            if len(upper) > 1:
                self._count_byes(upper)
                upper = [won.get(frozenset(pair), pair[0] or pair[1]) for pair in _adjacent(upper)]
            still = (set(lower) | fallen) - out
            lower = [name for name in self.seeds if name in still]
        if not self.due and lives == 2:
            self._final(str(upper[0]), lower[0])

    def _final(self, unbeaten: str, once_beaten: str) -> None:
        """The grand final, and the reset if the winner of the lower half wins it."""
        for _ in range(2):
            self.round += 1
            if self._meet("final", unbeaten, once_beaten) != once_beaten:
                return

    def _meet(self, half: str, one: str, other: str) -> str:
        """The winner; empty, with what is to be played added to `due`, while that is open."""
        if self._seed[other] < self._seed[one]:
            one, other = other, one
        self._met.add(frozenset((one, other)))
        legs = self.margins.get((self.round, frozenset((one, other))), [])
        winner = self._winner(one, other, legs)
        if not winner:
            first = len(legs) + 1
            last = first if legs else (self.contest.best_of + 1) // 2
            self.due += self.contest.legs(self.round, (one, other), range(first, last + 1))
        node = f"r{self.round}/{one}:{other}"
        self.graph.add_node(node, round=self.round, entrants=(one, other), half=half, winner=winner)
        for name in (one, other):
            if name in self._came_from:
                before, as_winner = self._came_from[name]
                self.graph.add_edge(before, node, entrant=name, won=as_winner)
            self._came_from[name] = node, name == winner
        return winner

    def _winner(self, one: str, other: str, legs: list[dict[str, float]]) -> str:
        lead = sum(leg[one] - leg[other] for leg in legs)
        left = self.contest.best_of - len(legs)
        if legs and abs(lead) > max(left, 0):
            return one if lead > 0 else other
        return one if left <= -EXTRA_LEGS else ""  # level for good: the better seed

    def _lower_pairs(self, lower: list[str]) -> list[tuple[str, str]]:
        """Best against worst, rematches only where they cannot be avoided."""
        pool = list(lower)
        if len(pool) % 2:
            free = min(pool, key=lambda name: self._byes[name])
            self._byes[free] += 1
            pool.remove(free)
        half = len(pool) // 2
        folded = [name for pair in zip(pool[:half], reversed(pool), strict=False) for name in pair]
        return pair_up(folded, lambda a, b: frozenset((a, b)) not in self._met) or list(_adjacent(folded))

    def _count_byes(self, upper: Sequence[str | None]) -> None:
        for pair in _adjacent(upper):
            if None in pair:
                self._byes[pair[0] or pair[1] or ""] += 1


def slots(seeds: Sequence[str]) -> list[str | None]:
    """The first round of the standard bracket: neighbours meet, None is a bye; the size is a power of two."""
    order = [0]
    while len(order) < len(seeds):
        order = [place for seed in order for place in (seed, 2 * len(order) - 1 - seed)]
    return [seeds[place] if place < len(seeds) else None for place in order]


def _adjacent(row: Sequence[T]) -> Iterator[tuple[T, T]]:
    return zip(row[::2], row[1::2], strict=True)
