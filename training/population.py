"""The population: who a learner has been and who else it meets, how it does against each, and whom to meet next.

A pure book of names and numbers, the same after a resume. Knows no weights, no arena and no file; `opposition.py`
brings its members to life.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from pydantic import Field

from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen
from simarena.arena.tournament.ratings.cycles import alpha_rank, cyclic
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


class Tally(Frozen):
    """Games and the outcomes they had, in [0, 1] each."""

    points: float = 0.0
    games: float = 0.0

    @property
    def rate(self) -> float:
        """Mean outcome, drawn towards ½ while there are few games (one of each is added)."""
        return (self.points + 1) / (self.games + 2)

    def after(self, outcome: float, decay: float = 1.0) -> "Tally":
        return Tally(points=decay * self.points + outcome, games=decay * self.games + 1)


class Population(Frozen):
    """All members of a run with their records; methods return what it becomes."""

    members: tuple[Member, ...] = ()
    records: dict[str, Tally] = Field(default_factory=dict)
    """Member → how the present learners have done against it, newer games weighing more."""
    payoff: dict[str, dict[str, Tally]] = Field(default_factory=dict)
    """Member → member → how the first has done against the second."""

    def of(self, learner: str) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.learner == learner)

    def joined(self, member: Member, size: int) -> "Population":
        """With one more snapshot, and without the oldest of its learner if there are now more than `size`."""
        snapshots = [one for one in self.of(member.learner) if not one.agent]
        leaving = {one.name for one in snapshots[: max(0, len(snapshots) + 1 - size)]}
        kept = tuple(one for one in self.members if one.name not in leaving)
        records = {name: tally for name, tally in self.records.items() if name not in leaving}
        payoff = {
            name: {other: tally for other, tally in row.items() if other not in leaving}
            for name, row in self.payoff.items()
            if name not in leaving
        }
        return Population(members=(*kept, member), records=records, payoff=payoff)

    def met(self, member: str, outcome: float) -> "Population":
        """After one more game of a present learner against this member, with the learner's outcome."""
        tally = self.records.get(member, Tally()).after(outcome, DECAY)
        return self.model_copy(update={"records": {**self.records, member: tally}})

    def paid(self, one: str, other: str, outcomes: Sequence[tuple[float, float]]) -> "Population":
        """After games between two members, with the outcomes of both."""
        payoff = {name: dict(row) for name, row in self.payoff.items()}
        for mine, theirs in outcomes:
            for first, second, outcome in ((one, other, mine), (other, one, theirs)):
                row = payoff.setdefault(first, {})
                row[second] = row.get(second, Tally()).after(outcome)
        return self.model_copy(update={"payoff": payoff})

    def choose(self, learner: str, rule: Rule, chance: random.Random) -> Member:
        """Whom to meet next among those who can take this learner's seats."""
        members = self.of(learner)
        if not members:
            raise UsageError(f"learner {learner!r} has no population yet")
        weights = RULES[rule](members, self.records)
        return chance.choices(members, weights)[0]

    def cycles(self) -> tuple[float, Mapping[str, float]]:
        """(share of decided triples that are A > B > C > A, alpha-rank of each member that has met all others).

        A pair is decided if its pay-off is further from a draw than luck explains (`SIGMAS`).
        """
        names = [member.name for member in self.members if len(self.payoff.get(member.name, {})) > 1]
        tallies = [[self.payoff[one].get(other, Tally()) for other in names] for one in names]
        if len(names) < 3:
            return 0.0, {}
        _, share = cyclic(np.array([[_ahead(tally) for tally in row] for row in tallies], dtype=np.float64))
        rates = np.array([[tally.rate if tally.games else 0.5 for tally in row] for row in tallies])
        return share, dict(zip(names, alpha_rank(rates).tolist(), strict=True))


def _ahead(tally: Tally) -> int:
    if not tally.games:
        return 0
    gap = tally.points / tally.games - 0.5
    return int(math.copysign(1, gap)) if abs(gap) > SIGMAS * 0.5 / math.sqrt(tally.games) else 0


Weigh = Callable[[Sequence[Member], Mapping[str, Tally]], list[float]]


def _latest(members: Sequence[Member], records: Mapping[str, Tally]) -> list[float]:
    """The newest snapshot; a scripted agent where there is none."""
    newest = max(member.step for member in members)
    return [float(member.step == newest) for member in members]


def _uniform(members: Sequence[Member], records: Mapping[str, Tally]) -> list[float]:
    """Everyone equally often: fictitious self-play (Heinrich et al. 2015)."""
    return [1.0] * len(members)


def _prioritised(members: Sequence[Member], records: Mapping[str, Tally]) -> list[float]:
    """Whom it loses to, f(p) = (1 − p)²: prioritised fictitious self-play (Vinyals et al. 2019)."""
    return [(1 - _rate(member, records)) ** 2 + 1e-6 for member in members]


def _uncertain(members: Sequence[Member], records: Mapping[str, Tally]) -> list[float]:
    """Whom it might beat or not, by the variance of the estimated rate: even matches, and those hardly played."""
    games = [records.get(member.name, Tally()).games for member in members]
    rates = [_rate(member, records) for member in members]
    return [rate * (1 - rate) / (count + 3) for rate, count in zip(rates, games, strict=True)]


def _exploiter(members: Sequence[Member], records: Mapping[str, Tally]) -> list[float]:
    """The one member it does worst against, until that is no longer so."""
    rates = [_rate(member, records) for member in members]
    return [float(rate == min(rates)) for rate in rates]


def _rate(member: Member, records: Mapping[str, Tally]) -> float:
    return records.get(member.name, Tally()).rate


RULES: dict[Rule, Weigh] = {
    "latest": _latest,
    "uniform": _uniform,
    "prioritised": _prioritised,
    "uncertain": _uncertain,
    "exploiter": _exploiter,
}
