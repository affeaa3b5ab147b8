"""Who can hear whom in a scenario, and how much was said from seat to seat.

What can be heard is the scenario's own topology where it is a registered one; else what was heard. Pure but for
looking the scenario up. Knows no widget.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import networkx as nx

from simarena.arena.errors import SimArenaError
from simarena.arena.messages import WORLD
from simarena.arena.specs import build_scenario, table
from simarena.tui.feed.opened import Opened
from simarena.tui.widgets.graph import Edge, Traffic


def topology(scenario: str, seats: Iterable[str]) -> "nx.DiGraph[str] | None":
    """The scenario's topology; None for one that is not registered here, or that has other seats.

    A name such as `package.module:Class` is not followed: looking at a run must not import what it names.
    """
    if scenario not in table("scenarios"):
        return None
    try:
        graph: nx.DiGraph[str] = build_scenario(scenario).topology().graph
    except SimArenaError:
        return None
    return graph if set(graph) >= set(seats) else None


def traffic(conversations: Iterable[Opened], graph: "nx.DiGraph[str] | None") -> dict[Edge, Traffic]:
    """What was said, by (speaker, hearer); tools and notices are said by the world."""
    counts: dict[Edge, Traffic] = {}
    for opened in conversations:
        for line in opened.lines:
            if line.kind == "thought":
                continue
            words = len(line.text.split())
            for hearer in _hearers(line.seat, line.audience, opened.row.seats, graph):
                known = counts.get((line.seat, hearer), Traffic())
                counts[line.seat, hearer] = replace(
                    known,
                    messages=known.messages + 1,
                    words=known.words + words,
                    private=known.private + (line.audience is not None),
                )
    return counts


def heard(seats: Iterable[str], counts: Mapping[Edge, Traffic]) -> "nx.DiGraph[str]":
    """A graph of what was heard, where nothing else is known."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(seats)
    graph.add_edges_from((a, b) for a, b in counts if a != WORLD)
    return graph


def _hearers(
    speaker: str, audience: tuple[str, ...] | None, seats: Iterable[str], graph: "nx.DiGraph[str] | None"
) -> list[str]:
    if audience is not None:
        return [seat for seat in audience if seat != speaker]
    if graph is not None and speaker in graph:
        return list(graph.successors(speaker))
    return [seat for seat in seats if seat != speaker]
