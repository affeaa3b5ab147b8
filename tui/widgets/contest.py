"""A tournament in lines of text: standings with intervals, cross-table, bracket, matches. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
from rich.text import Text

from simarena.arena.text import one_line
from simarena.arena.tournament.results import Result
from simarena.tui.scoreboard import Table

_NAME = 18
"""Columns of an entrant's name."""


def standings(table: Table, width: int) -> list[Text]:
    """One line each, best first: rank, rating, and where it may lie."""
    rows = table.standings
    room = max(8, width - _NAME - 36)
    low, high = min((row.low for row in rows), default=0.0), max((row.high for row in rows), default=1.0)
    lines = [Text(f" {'rank':>6}  {'entrant':<{_NAME}}{'rating':>8}  {'95 % interval':<{room}}  matches", "muted")]
    for row in rows:
        rank = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        line = Text.assemble((f" {rank:>6}  ", "muted"), one_line(row.entrant, _NAME).ljust(_NAME))
        line.append(f"{table.number(row.rating):>8}  ", "strong")
        line.append_text(_whisker(row.low, row.rating, row.high, low, high, room))
        lines.append(line.append(f"  {row.matches:>7,}", "muted"))
    return lines


def _whisker(low: float, middle: float, high: float, least: float, most: float, width: int) -> Text:
    """An interval on the common scale, its estimate as a dot."""
    span = (most - least) or 1.0
    left, dot, right = (round((value - least) / span * (width - 1)) for value in (low, middle, high))
    text = Text()
    for x in range(width):
        if x == dot:
            text.append("●", "key")
        else:
            text.append("━" if left <= x <= right else "─", "muted" if left <= x <= right else "faint")
    return text


def crosses(graph: "nx.DiGraph[str]", names: Sequence[str]) -> list[Text]:
    """Who took how much from whom, in percent of their matches; read along the row."""
    lines = [
        Text(f" {'':>3} {'against':<{_NAME}}" + "".join(f"{i:>5}" for i in range(1, len(names) + 1)), "muted")
    ]
    for i, one in enumerate(names, 1):
        line = Text.assemble((f" {i:>3} ", "muted"), one_line(one, _NAME).ljust(_NAME))
        for other in names:
            line.append_text(_share(graph, one, other))
        lines.append(line)
    return lines


def _share(graph: "nx.DiGraph[str]", one: str, other: str) -> Text:
    if one == other:
        return Text("    ·", "faint")
    if not graph.has_edge(one, other):
        return Text("     ")
    edge = graph.edges[one, other]
    share = edge["points"] / edge["matches"]
    return Text(f"{share * 100:>5.0f}", "good" if share > 0.5 else ("bad" if share < 0.5 else "muted"))


def bracket(graph: "nx.DiGraph[str]") -> list[Text]:
    """The meetings of each round; who went on is marked."""
    rounds: dict[int, list[Mapping[str, Any]]] = {}
    for node in graph:
        meeting: Mapping[str, Any] = graph.nodes[node]
        rounds.setdefault(int(meeting["round"]), []).append(meeting)
    lines: list[Text] = []
    for number in sorted(rounds):
        lines.append(Text(f" round {number}", "muted"))
        lines += [Text("   ").append_text(_meeting(one)) for one in rounds[number]]
    return lines


def _meeting(meeting: Mapping[str, Any]) -> Text:
    entrants, winner = meeting["entrants"], meeting.get("winner") or ""
    text = Text()
    for i, name in enumerate(entrants):
        text.append(" – " if i else "", "faint")
        text.append(one_line(str(name), _NAME), "good" if name == winner else ("muted" if winner else "plain"))
    return text


def match_heading() -> Text:
    return Text(f"   {'round':>5}  {'who':<44}{'ending':<10}", "muted")


def match(result: Result) -> Text:
    """One match that was played: who took what, and how it ended."""
    fine = result.ending == "finished"
    text = Text.assemble(
        (" ✓ " if fine else " ‖ ", "good" if fine else "warn"), (f"{result.match.round:>5}  ", "muted")
    )
    who = Text("  ").join(_side(result, seat, name) for seat, name in result.match.seats.items())
    who.truncate(43, overflow="ellipsis", pad=True)
    text.append_text(who).append(f" {result.ending:<10}", "muted" if fine else "warn")
    return text.append(one_line(result.fault, 80), "muted")


def _side(result: Result, seat: str, name: str) -> Text:
    value = result.outcome.get(seat)
    ink = "muted" if value is None or value == 0.5 else ("good" if value > 0.5 else "bad")
    return Text.assemble(one_line(name, 16), " ", ("–" if value is None else f"{value:g}", ink))


def words(table: Table) -> Iterator[Text]:
    """What the table means, in the sentences it came with."""
    for word in table.words:
        yield Text(f" {word}", "muted")
