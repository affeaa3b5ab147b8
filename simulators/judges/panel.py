"""The panel: several jurors, both orders, a majority. An `arena.Judge` whose scores are by seat.

A juror reads each contest twice, with the contestants named in either order; if its two answers disagree it has
found a tie. The panel's verdict is what more than half of the jurors found, else a tie. An answer that cannot be
read abstains; if all abstain, that is a tie too, so that confusing the jury wins nothing. Knows no tournament.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from simarena.arena.episodes import Episode
from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen
from simarena.arena.protocols import Verdict
from simarena.arena.specs import EngineSpec, resolve
from simarena.arena.together import together
from simarena.simulators.judges.cases import length, readings
from simarena.simulators.judges.jurors import Choice, EngineJuror, Juror, RuleJuror

TIE = "tie"
ABSTAINED = "abstained"


class Ballot(Frozen):
    """What one juror made of one contest. Producer: the panel. Consumer: the report on judges."""

    episode: str
    juror: str
    seats: tuple[str, str]
    answers: tuple[Choice, Choice]
    """As the seats are named, and with their names in the other order."""
    finding: str
    """A seat, `tie` or `abstained`."""
    lengths: tuple[int, int]
    """Characters each seat said."""
    family: str = ""
    """Of the juror, if a contestant is of it too: it judges its own."""


class Panel:
    """Jurors and the question they are asked.

    A juror is given as an object, or as data: `{"engine": name, "options": {...}, "family": name}` for a language
    model, `{"rule": "package.module:function"}` for code. `families` tells the model family of a contestant by its
    policy, or by its agent if it has none; without it the name itself is searched for the juror's family.

    Raises UsageError for anything else.
    """

    def __init__(
        self,
        question: str,
        jurors: Sequence[Juror | Mapping[str, Any]],
        families: Mapping[str, str] | None = None,
    ) -> None:
        if not jurors:
            raise UsageError("a panel needs at least one juror, got none")
        self._question, self._families = question, dict(families or {})
        self._jurors = [_juror(given) if isinstance(given, Mapping) else given for given in jurors]
        if twice := [name for name, count in Counter(j.name for j in self._jurors).items() if count > 1]:
            raise UsageError(f"jurors need different names, {twice} occur twice: give each a `name`")
        self.ballots: list[Ballot] = []
        """All so far; `report.report` reads them."""

    async def judge(self, episode: Episode) -> Verdict:
        """Scores by seat: 1 for the winner and 0 for the other, or ½ each."""
        ballots = await self.ballot(episode)
        self.ballots += ballots
        seats = ballots[0].seats
        winner = majority(ballot.finding for ballot in ballots)
        scores = {seat: 0.5 if winner == TIE else float(seat == winner) for seat in seats}
        findings = "; ".join(
            f"{b.juror}: {b.finding}{' (judges its own family)' if b.family else ''}" for b in ballots
        )
        return Verdict(scores, findings)

    async def ballot(self, episode: Episode) -> list[Ballot]:
        """What each juror finds, in the order of the panel."""
        if len(episode.seats) != 2:
            raise UsageError(f"a panel compares two seats, {episode.scenario!r} has {sorted(episode.seats)}")
        first, second = episode.seats
        cases = readings(episode, self._question, (first, second))
        answers = await together(juror.choose(case) for juror in self._jurors for case in cases)
        return [
            Ballot(
                episode=episode.id,
                juror=juror.name,
                seats=(first, second),
                answers=(answers[2 * k], answers[2 * k + 1]),
                finding=_finding(answers[2 * k], answers[2 * k + 1], (first, second)),
                lengths=(length(episode, first), length(episode, second)),
                family=juror.family if self._judges_own(juror, episode) else "",
            )
            for k, juror in enumerate(self._jurors)
        ]

    def _judges_own(self, juror: Juror, episode: Episode) -> bool:
        """Whether some contestant is of the juror's family."""
        names = [seat.spec.policy or seat.spec.agent for seat in episode.seats.values()]
        return bool(juror.family) and any(juror.family in self._families.get(name, name) for name in names)


def majority(findings: Iterable[str]) -> str:
    """What more than half of those who did not abstain found; else a tie."""
    votes = Counter(finding for finding in findings if finding != ABSTAINED)
    ahead = [finding for finding, count in votes.items() if 2 * count > votes.total()]
    return ahead[0] if ahead else TIE


def _finding(plain: Choice, turned: Choice, seats: tuple[str, str]) -> str:
    """Both readings as one: in the second, `first` is the seat that the plain order names second."""
    if "unreadable" in (plain, turned):
        return ABSTAINED
    found = {"first": seats[0], "second": seats[1], "tie": TIE}[plain]
    again = {"first": seats[1], "second": seats[0], "tie": TIE}[turned]
    return found if found == again else TIE


def _juror(given: Mapping[str, Any]) -> Juror:
    keys = set(given)
    name = str(given.get("name", ""))
    if "rule" in keys and keys <= {"rule", "name"}:
        return RuleJuror(cast("Any", resolve("judges", str(given["rule"]))), name)
    if "engine" in keys and "family" in keys and keys <= {"engine", "family", "options", "name", "max_tokens"}:
        spec = EngineSpec(engine=str(given["engine"]), options=dict(given.get("options", {})))
        return EngineJuror(spec, str(given["family"]), name, int(given.get("max_tokens", 8)))
    raise UsageError(
        f"a juror is {{rule, name?}} or {{engine, family, options?, name?, max_tokens?}}, got keys {sorted(keys)}"
    )
