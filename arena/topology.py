"""Topology: who hears whom in a conversation, as a directed graph. An edge a → b: b hears a.

Knows no scenario; the scenario owns one and the conductor enforces it.
"""

from collections.abc import Iterable

import networkx as nx

from simarena.arena.errors import ScenarioError
from simarena.arena.messages import WORLD


class Topology:
    """Immutable once built. The world (tools, notices) is heard by whom each message names."""

    def __init__(self, seats: Iterable[str], edges: Iterable[tuple[str, str]]) -> None:
        self.graph: nx.DiGraph[str] = nx.DiGraph()
        self.graph.add_nodes_from(seats)
        edges = tuple(edges)
        strangers = {end for edge in edges for end in edge} - set(self.graph)
        if strangers:
            raise ScenarioError(f"topology names unknown seats {sorted(strangers)}; seats: {sorted(self.graph)}")
        self.graph.add_edges_from(edges)
        nx.freeze(self.graph)

    @classmethod
    def everyone(cls, seats: Iterable[str]) -> "Topology":
        """Everyone hears everyone."""
        seats = tuple(seats)
        return cls(seats, ((a, b) for a in seats for b in seats if a != b))

    def hearers(self, speaker: str) -> frozenset[str]:
        """Who can hear this seat; all seats for the world."""
        if speaker == WORLD:
            return frozenset(self.graph)
        return frozenset(self.graph.successors(speaker))

    def audience(self, speaker: str, asked: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The audience a message gets: what was asked for, or all who can hear; None if that is everyone.

        Raises ScenarioError if it asks for a seat that cannot hear the speaker.
        """
        if speaker != WORLD and speaker not in self.graph:
            raise ScenarioError(f"message from unknown seat {speaker!r}; seats: {sorted(self.graph)}")
        can = self.hearers(speaker) | {speaker}
        if asked is None:
            return None if can >= set(self.graph) else tuple(sorted(can))
        if deaf := set(asked) - can:
            raise ScenarioError(f"message from {speaker!r} to {sorted(deaf)}, who cannot hear it")
        return tuple(sorted(set(asked) | ({speaker} if speaker != WORLD else set())))
