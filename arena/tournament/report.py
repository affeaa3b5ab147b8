"""The report: one self-contained HTML page on a tournament. A pure function of results, ratings and conversations.

Written for someone who was not there: what was played, who is better and how sure that is, in words first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import starmap

import networkx as nx

from simarena.arena.episodes import Episode
from simarena.arena.page import conversation, page, safe
from simarena.arena.tournament import charts
from simarena.arena.tournament.findings import Findings
from simarena.arena.tournament.results import Result, Standing
from simarena.arena.tournament.tally import cross_table

SHOWN = 26
"""Entrants in the cross-table at most."""
LINES = 8
"""Entrants in the chart of ratings over time at most."""
STEP = "step-"
"""Entrants named so are checkpoints of one run; they get a curve over their number."""


def render(found: Findings) -> str:
    """The page."""
    parts = [
        f"<h1>{safe(found.name)}</h1><p>{safe(found.setting)}</p>",
        f"<ul>{''.join(f'<li>{safe(sentence)}</li>' for sentence in found.words)}</ul>",
        _standings(found),
        _checkpoints(found),
        _reliability(found.reliability),
        _bracket(found.bracket),
        _cross_table(found),
        _over_time(found),
        _surprises(found),
        _faults(found.results),
        f"<h2>Settings</h2><pre>{safe(found.script)}</pre>",
    ]
    return page(found.name, parts, charts.STYLE)


def form(method: str) -> str:
    """How a rating of this method is written."""
    return {"score": ".3f", "openskill": ".1f"}.get(method, ".0f")


def _standings(found: Findings) -> str:
    low = min(row.low for row in found.standings)
    high = max(row.high for row in found.standings)
    how = form(found.method)
    rows = "".join(
        f'<tr><td class="num">{_rank(row)}</td><td>{safe(row.entrant)}</td><td class="num">{row.rating:{how}}</td>'
        f'<td class="num">{row.low:{how}} to {row.high:{how}}</td><td>{charts.whisker(row, low, high)}</td>'
        f'<td class="num">{row.matches}</td><td><span class="by">{safe(_who(found, row.entrant))}</span></td></tr>'
        for row in found.standings
    )
    scale = {
        "score": "The rating is the mean score of a match, from 0 to 1.",
        "bradley-terry": "Ratings are Elo points by Bradley–Terry, 1500 in the middle: 100 points more win 64 of "
        "100 decided matches, 200 win 76.",
        "elo": "Ratings are Elo points in the order of play.",
        "openskill": "Ratings are OpenSkill's mean; a newcomer has 25.",
    }[found.method]
    return (
        '<h2>Standings</h2><div class="wide"><table><tr><th class="num">rank</th><th>entrant</th>'
        '<th class="num">rating</th><th class="num">95 % interval</th><th></th><th class="num">matches</th>'
        "<th>who it is</th></tr>"
        f"{rows}</table></div><p>{scale} A rank such as 2–4 says that the data allow any of these ranks.</p>"
    )


def _who(found: Findings, entrant: str) -> str:
    """Who plays under this name, if the name does not say it."""
    who = found.who.get(entrant, "")
    return "" if who == entrant else who


def _rank(row: Standing) -> str:
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"


def _checkpoints(found: Findings) -> str:
    """Rating against training step, when entrants are checkpoints."""
    steps = {row.entrant: row for row in found.standings if row.entrant.removeprefix(STEP).isdigit()}
    points = sorted((float(name.removeprefix(STEP)), row.rating, row.low, row.high) for name, row in steps.items())
    if len(points) < 2:
        return ""
    anchors = {row.entrant: row.rating for row in found.standings if row.entrant not in steps}
    drawn = charts.curve(points, "steps", form(found.method), anchors)
    return (
        f"<h2>Rating against training step</h2><figure>{drawn}</figure><p>Dashed: anchors, which do not learn.</p>"
    )


def _reliability(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{safe(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{safe(value)}</td>' for value in row.values())}</tr>" for row in rows)
    return (
        f"<h2>Reliability</h2><table><tr>{heads}</tr>{body}</table>"
        "<p>pass^k: the chance that k fresh tries at one deal all succeed.</p>"
    )


def _bracket(graph: "nx.DiGraph[str] | None") -> str:
    return "" if graph is None else f"<h2>Bracket</h2>{charts.bracket(graph)}"


def _cross_table(found: Findings) -> str:
    scored = found.method == "score"
    table = cross_table(found.results, scored)
    names = [row.entrant for row in found.standings if row.entrant in table][:SHOWN]
    if not names:
        return ""
    left = sum(row.entrant in table for row in found.standings) - len(names)
    more = f" The first {SHOWN} are shown." if left else ""
    heading, cells = (
        ("Who scored how much against whom", "The row's mean score a match against the column, from 0 to 1.")
        if scored
        else ("Who beat whom", "Share of points the row took from the column: a win is 1, a tie ½.")
    )
    return f"<h2>{heading}</h2>{charts.cross_table(table, names)}<p>{cells} Empty: they never met.{more}</p>"


def _over_time(found: Findings) -> str:
    chosen = {
        row.entrant: found.over_time[row.entrant] for row in found.standings if row.entrant in found.over_time
    }
    chosen = dict(list(chosen.items())[:LINES])
    if not chosen or max(map(len, chosen.values())) < 2:
        return ""
    drawn = charts.lines(chosen, "matches", form(found.method))
    which = f"The first {len(chosen)} of the final table." if len(chosen) < len(found.standings) else ""
    return f"<h2>Rating against time</h2><figure>{drawn}</figure><p>{which}</p>"


def _surprises(found: Findings) -> str:
    if not found.surprises:
        return ""
    return (
        "<h2>Most surprising matches</h2><p>Open one to read it. One bit is one toss of a coin: 7 happens "
        f"once in 128 matches.</p>{''.join(starmap(_surprise, found.surprises))}"
    )


def _surprise(result: Result, bits: float, episode: Episode | None) -> str:
    heading = f'{safe(_summary(result))} <span class="by">{bits:.1f} bits</span>'
    said = conversation(episode) if episode is not None else ""
    replay = safe(f"simarena replay FOLDER {result.episode}")
    return f"<details><summary>{heading}</summary>{said}<p>{replay}</p></details>"


def _summary(result: Result) -> str:
    scores = result.scores()
    sides = [
        f"{result.match.seats[seats[0]]} ({side}) {scores[side]:g}" for side, seats in result.match.teams().items()
    ]
    return f"round {result.match.round}: {' – '.join(sides)} ({result.ending})"


def _faults(results: Sequence[Result]) -> str:
    """Who forfeited, timed out, broke rules or crashed; and what was nobody's fault."""
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.ending == "void":
            counts["nobody: played again, never scored", result.ending] += 1
        elif result.ending not in ("finished", "capped"):
            counts[result.fault.partition(":")[0], result.ending] += 1
        elif result.ending == "capped":
            counts["both: turn cap, scored as a tie", result.ending] += 1
    if not counts:
        return "<h2>Faults</h2><p>None: every match was played to its end by the rules.</p>"
    rows = "".join(
        f'<tr><td>{safe(who)}</td><td>{safe(kind)}</td><td class="num">{number}</td></tr>'
        for (who, kind), number in sorted(counts.items())
    )
    return (
        f'<h2>Faults</h2><table><tr><th>who</th><th>how</th><th class="num">matches</th></tr>{rows}</table>'
        "<p>A side at fault loses; the others win.</p>"
    )
