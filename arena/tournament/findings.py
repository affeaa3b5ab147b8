"""Findings: everything a report on a tournament says, gathered from its results. Knows no HTML.

The statistics are imported where they are used, since they load numpy and scipy.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import networkx as nx

from simarena.arena.episodes import Episode
from simarena.arena.text import one_line
from simarena.arena.tournament.contest import Contest
from simarena.arena.tournament.formats import DoubleElimination, SingleElimination
from simarena.arena.tournament.results import Result, Standing
from simarena.arena.tournament.script import Entrant, Script

if TYPE_CHECKING:
    from simarena.arena.tournament.ratings.bradley_terry import Strengths
    from simarena.arena.tournament.ratings.table import Table

CUTS = 16
"""Points of the ratings over time."""
SURPRISES = 8
"""Matches shown as most surprising."""
TROUBLED = 3
"""Entrants of whose faults the words tell."""
MANY = 400
"""Entrants beyond which cycles are not counted: triples grow with the cube."""


@dataclass(frozen=True)
class Findings:
    """All that the page shows. Producer: the session."""

    name: str
    setting: str
    """What was played, in one line."""
    who: Mapping[str, str]
    """Entrant → who plays under that name, in a few words."""
    script: str
    """The resolved script, to read."""
    method: str
    standings: Sequence[Standing]
    words: Sequence[str]
    results: Sequence[Result]
    over_time: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Entrant → (matches played by all, rating)."""
    reliability: Sequence[Mapping[str, str]] = ()
    """Rows on success and pass^k, where one side plays alone."""
    surprises: Sequence[tuple[Result, float, Episode | None]] = ()
    """Most surprising matches with their bits and what was said."""
    bracket: "nx.DiGraph[str] | None" = None


def find(
    script: Script,
    contest: Contest,
    results: Sequence[Result],
    stopped: str,
    rate: Callable[[Sequence[Result], bool], "Table"],
    episode: Callable[[Result], Episode | None],
) -> Findings:
    """Gather what there is to say. `rate` makes a table of results, fast or exact; `episode` finds a
    conversation."""
    table = rate(results, False)
    alone = len(contest.sides) == 1
    bracket = _bracket(script, contest, results)
    strengths = None if alone else table.strengths or _strengths(contest, results)
    return Findings(
        name=script.name,
        setting=_setting(script, contest, results, stopped),
        who={name: _described(entrant) for name, entrant in script.entrants.items()},
        script=_written(script),
        method=table.method,
        standings=table.standings,
        words=[*_champion(bracket), *table.words, *_cycles(results, strengths), *_troubles(results)],
        results=results,
        over_time=_over_time(results, rate),
        reliability=_reliability(results) if alone else (),
        surprises=_surprises(results, strengths, episode),
        bracket=bracket,
    )


def _setting(script: Script, contest: Contest, results: Sequence[Result], stopped: str) -> str:
    rounds = len({result.match.round for result in results})
    return " · ".join(
        [
            script.scenario.name,
            script.format.kind,
            f"{len(contest.entrants)} entrants",
            f"{len(results)} matches in {rounds} {'round' if rounds == 1 else 'rounds'}",
            *(["every deal played from all seats"] if contest.mirrored and len(contest.sides) > 1 else []),
            *([f"stopped early: {stopped}"] if stopped else []),
        ]
    )


def _described(entrant: Entrant) -> str:
    """The agent's own name, without the package it is in, and its options; of a path the last two parts."""
    short = entrant.agent.rpartition(":")[2] if ":" in entrant.agent else "/".join(entrant.agent.split("/")[-2:])
    options = ", ".join(f"{name} = {json.dumps(value)}" for name, value in entrant.options.items())
    return one_line(f"{short}, {options}" if options else short, 60)


def _written(script: Script) -> str:
    """The script as one would write it, without what is as it is by default."""
    data = script.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({**data, "format": {"kind": script.format.kind, **data["format"]}}, indent=2)


def _strengths(contest: Contest, results: Sequence[Result]) -> "Strengths":
    from simarena.arena.tournament.ratings.bradley_terry import strengths

    return strengths(results, entrants=contest.entrants, intervals="sandwich")


def _cycles(results: Sequence[Result], strengths: "Strengths | None") -> list[str]:
    if strengths is None or not 3 <= len(strengths.estimate.entrants) <= MANY:
        return []
    from simarena.arena.tournament.ratings.cycles import cycles

    return [cycles(results, strengths).words]


def _over_time(
    results: Sequence[Result], rate: Callable[[Sequence[Result], bool], "Table"]
) -> dict[str, list[tuple[float, float]]]:
    """Entrant → (matches played by all, rating), at cuts of the schedule."""
    cuts = sorted({len(results) * cut // CUTS for cut in range(1, CUTS + 1)} - {0})
    lines: dict[str, list[tuple[float, float]]] = {}
    for cut in cuts:
        for row in rate(results[:cut], True).standings:
            if row.matches:
                lines.setdefault(row.entrant, []).append((float(cut), row.rating))
    return lines


def _reliability(results: Sequence[Result]) -> list[dict[str, str]]:
    from simarena.arena.tournament.ratings.scores import success

    return [
        {
            "entrant": row.entrant,
            "success": f"{row.rate.value:.0%} [{row.rate.low:.0%}, {row.rate.high:.0%}]",
            **{
                f"pass^{k}": f"{e.value:.0%} [{e.low:.0%}, {e.high:.0%}]" for k, e in row.pass_hat.items() if k > 1
            },
            "deals": str(row.tasks),
            "tries": str(row.trials),
        }
        for row in success(results)
    ]


def _surprises(
    results: Sequence[Result], strengths: "Strengths | None", episode: Callable[[Result], Episode | None]
) -> list[tuple[Result, float, Episode | None]]:
    bits: Mapping[str, float] = strengths.surprise if strengths is not None else {}
    known = [result for result in results if result.match.id in bits]
    known.sort(key=lambda result: (-bits[result.match.id], result.match.id))
    return [(result, bits[result.match.id], episode(result)) for result in known[:SURPRISES]]


def _champion(bracket: "nx.DiGraph[str] | None") -> list[str]:
    if bracket is None:
        return []
    final = max(bracket.nodes.values(), key=lambda node: int(node["round"]))
    return [f"{final['winner']} wins the bracket."] if final["winner"] else []


def _troubles(results: Sequence[Result]) -> list[str]:
    """Who lost matches by faults, most first, with an example: a table of crashes says nothing about strength."""
    by_entrant: dict[str, list[Result]] = {}
    for result in results:
        if result.fault and result.ending != "void":
            by_entrant.setdefault(result.fault.partition(":")[0], []).append(result)
    worst = sorted(by_entrant.items(), key=lambda item: (-len(item[1]), item[0]))
    words = [
        f"{who} lost {len(faults)} matches by its own fault, such as {faults[0].ending}: "
        f"{one_line(faults[0].fault.partition(': ')[2], 120)}."
        for who, faults in worst[:TROUBLED]
    ]
    more = len(worst) - TROUBLED
    return [*words, f"{more} more entrants lost matches by their own fault."] if more > 0 else words


def _bracket(script: Script, contest: Contest, results: Sequence[Result]) -> "nx.DiGraph[str] | None":
    if isinstance(script.format, SingleElimination | DoubleElimination):
        return script.format.bracket(contest, results)
    return None
