"""A tournament in lines of text: standings with intervals, cross-table, matches. Pure; brackets are next door."""

from collections.abc import Iterator, Sequence

import networkx as nx
from rich.text import Text

from simarena.arena.text import one_line
from simarena.arena.tournament.results import Result
from simarena.tui.feed.rows import Row
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


def crosses(graph: "nx.DiGraph[str]", names: Sequence[str], width: int) -> list[Text]:
    """Who took how much from whom, in percent of their matches; read along the row. Against as many as fit."""
    against = names[: max(1, (width - _NAME - 6) // 5)]
    numbers = "".join(f"{i:>5}" for i in range(1, len(against) + 1))
    more = f" and {len(names) - len(against)} more" if len(against) < len(names) else ""
    lines = [Text(f" {'':>3} {f'against{more}':<{_NAME}}{numbers}", "muted")]
    for i, one in enumerate(names, 1):
        line = Text.assemble((f" {i:>3} ", "muted"), one_line(one, _NAME).ljust(_NAME))
        for other in against:
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


def match_heading() -> Text:
    return Text(f"   {'round':>5}  {'who':<44}{'ending':<10}", "muted")


def running(row: Row) -> Text:
    """One match that is being played: how far it is, and what was said last."""
    text = Text.assemble((" ● ", "key"), (f"{'now':>5}  ", "muted"))
    who = Text("  ").join(Text(one_line(name, 16)) for name in playing(row))
    who.truncate(43, overflow="ellipsis", pad=True)
    return text.append_text(who).append(f" turn {row.turn:<5}", "muted").append(row.last, "muted")


def playing(row: Row) -> tuple[str, ...]:
    """The entrants of a match, from the name of its conversation: `r1/ada:alan/1a/7/0`."""
    parts = row.key.split("/")
    return tuple(parts[1].split(":")) if len(parts) > 2 else (row.id,)


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
