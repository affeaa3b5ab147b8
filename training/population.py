"""The population: who a learner has been and who else it meets, how it does against each, and whom to meet next.

A pure book of names and numbers, the same after a resume. How strong everyone is, the ladder of the tournaments
says; whom to meet and who joins are both read off it. Knows no weights, no arena and no file; `opposition.py`
brings its members to life.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from pydantic import Field

from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen
from simarena.arena.tournament.ratings.cycles import alpha_rank, cyclic
from simarena.arena.tournament.ratings.ladder import Ladder
from simarena.training.config import Rule

DECAY = 0.97
"""What an earlier game counts for after each later one: the learner that played it is gone."""
SIGMAS = 2.0
"""Standard errors by which a pay-off must differ from a draw to count as a win."""


class Member(Frozen):
    """Somebody to meet: a snapshot of a learner, or a scripted agent."""

    name: str
    learner: str
    """Whose seats it can take; where only one seat learns, whom it meets from the others."""
    step: int = 0
    """Of a snapshot."""
    agent: str = ""
    """Of one that is no snapshot: as it is written for a seat."""
    slot: int = 0
    """Of a snapshot: the engine that speaks for it, of those kept for its learner's."""


class Tally(Frozen):
    """Games and the outcomes they had, in [0, 1] each."""

    points: float = 0.0
    games: float = 0.0

    def rate(self, expected: float) -> float:
        """Mean outcome, drawn towards what the ratings expect while there are few games (two such are added)."""
        return (self.points + 2 * expected) / (self.games + 2)

    def after(self, outcome: float, decay: float = 1.0) -> "Tally":
        return Tally(points=decay * self.points + outcome, games=decay * self.games + 1)


class Population(Frozen):
    """All members of a run with their records; methods return what it becomes."""

    members: tuple[Member, ...] = ()
    records: dict[str, Tally] = Field(default_factory=dict)
    """Member → how the present learners have done against it, newer games weighing more."""
    payoff: dict[str, dict[str, Tally]] = Field(default_factory=dict)
    """Member → member → how the first has done against the second."""
    ratings: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Member or present learner → (mu, sigma) on the ladder, from all of these games."""

    def of(self, learner: str) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.learner == learner)

    def joined(self, member: Member, size: int) -> "Population":
        """With one more snapshot, and without the oldest of its learner if there are now more than `size`."""
        snapshots = self._snapshots(member.learner)
        leaving = {one.name for one in snapshots[: max(0, len(snapshots) + 1 - size)]}
        kept = tuple(one for one in self.members if one.name not in leaving)
        taken = {one.slot for one in snapshots if one.name not in leaving}
        member = member.model_copy(update={"slot": min(set(range(size)) - taken)})
        records = {name: tally for name, tally in self.records.items() if name not in leaving}
        payoff = {
            name: {other: tally for other, tally in row.items() if other not in leaving}
            for name, row in self.payoff.items()
            if name not in leaving
        }
        ratings = {name: known for name, known in self.ratings.items() if name not in leaving}
        if member.learner in ratings and not member.agent:  # it is the present learner
            ratings[member.name] = ratings[member.learner]
        return Population(members=(*kept, member), records=records, payoff=payoff, ratings=ratings)

    def ready(self, learner: str, gate: float) -> bool:
        """Whether the present learner is to join: it is expected to beat its newest snapshot at this rate."""
        snapshots = self._snapshots(learner)
        return not snapshots or not gate or self.expected(learner, snapshots[-1]) >= gate

    def _snapshots(self, learner: str) -> list[Member]:
        """Oldest first."""
        return [one for one in self.of(learner) if not one.agent]

    def expected(self, learner: str, member: Member) -> float:
        """Chance in (0, 1), by the ratings alone, that the present learner does better than this member."""
        return Ladder.of(self.ratings).chance(learner, member.name)

    def met(self, member: str, learners: Sequence[str], outcome: float, theirs: float) -> "Population":
        """After one more game of present learners against this member, with the outcomes of both sides."""
        tally = self.records.get(member, Tally()).after(outcome, DECAY)
        ladder = Ladder.of(self.ratings)
        ladder.meet([sorted(set(learners)), [member]], [outcome, theirs])
        return self.model_copy(update={"records": {**self.records, member: tally}, "ratings": ladder.ratings})

    def paid(self, one: str, other: str, outcomes: Sequence[tuple[float, float]]) -> "Population":
        """After games between two members, with the outcomes of both."""
        payoff = {name: dict(row) for name, row in self.payoff.items()}
        ladder = Ladder.of(self.ratings)
        for mine, theirs in outcomes:
            ladder.meet([[one], [other]], [mine, theirs])
            for first, second, outcome in ((one, other, mine), (other, one, theirs)):
                row = payoff.setdefault(first, {})
                row[second] = row.get(second, Tally()).after(outcome)
        return self.model_copy(update={"payoff": payoff, "ratings": ladder.ratings})

    def choose(self, learner: str, rule: Rule, chance: random.Random) -> Member:
        """Whom to meet next among those who can take this learner's seats."""
        members = self.of(learner)
        if not members:
            raise UsageError(f"learner {learner!r} has no population yet")
        ladder = Ladder.of(self.ratings)
        tallies = [self.records.get(member.name, Tally()) for member in members]
        known = [
            Met(member.step, tally.rate(ladder.chance(learner, member.name)), tally.games)
            for member, tally in zip(members, tallies, strict=True)
        ]
        return chance.choices(members, RULES[rule](known))[0]

    def cycles(self) -> tuple[float, Mapping[str, float]]:
        """(share of decided triples that are A > B > C > A, alpha-rank of each member that has met all others).

        A pair is decided if its pay-off is further from a draw than luck explains (`SIGMAS`).
        """
        names = [member.name for member in self.members if len(self.payoff.get(member.name, {})) > 1]
        tallies = [[self.payoff[one].get(other, Tally()) for other in names] for one in names]
        if len(names) < 3:
            return 0.0, {}
        _, share = cyclic(np.array([[_ahead(tally) for tally in row] for row in tallies], dtype=np.float64))
        rates = np.array([[tally.rate(0.5) for tally in row] for row in tallies])
        return share, dict(zip(names, alpha_rank(rates).tolist(), strict=True))


def _ahead(tally: Tally) -> int:
    if not tally.games:
        return 0
    gap = tally.points / tally.games - 0.5
    return int(math.copysign(1, gap)) if abs(gap) > SIGMAS * 0.5 / math.sqrt(tally.games) else 0


class Met(NamedTuple):
    """What is known of meeting one member."""

    step: int
    rate: float
    """Chance that the present learner does better."""
    games: float
    """Behind it, beside the ratings; older ones count less."""


Weigh = Callable[[Sequence[Met]], list[float]]


def _latest(known: Sequence[Met]) -> list[float]:
    """The newest snapshot; a scripted agent where there is none."""
    newest = max(one.step for one in known)
    return [float(one.step == newest) for one in known]


def _uniform(known: Sequence[Met]) -> list[float]:
    """Everyone equally often: fictitious self-play (Heinrich et al. 2015)."""
    return [1.0] * len(known)


def _prioritised(known: Sequence[Met]) -> list[float]:
    """Whom it loses to, f(p) = (1 − p)²: prioritised fictitious self-play (Vinyals et al. 2019)."""
    return [(1 - one.rate) ** 2 + 1e-6 for one in known]


def _uncertain(known: Sequence[Met]) -> list[float]:
    """Whom it might beat or not, by the variance of the estimated rate: even matches, and those hardly played."""
    return [one.rate * (1 - one.rate) / (one.games + 3) for one in known]


def _exploiter(known: Sequence[Met]) -> list[float]:
    """The one member it does worst against, until that is no longer so."""
    return [float(one.rate == min(other.rate for other in known)) for one in known]


RULES: dict[Rule, Weigh] = {
    "latest": _latest,
    "uniform": _uniform,
    "prioritised": _prioritised,
    "uncertain": _uncertain,
    "exploiter": _exploiter,
}
