"""Privileged hints: what a critic may read about a conversation that the policy in it may not.

Only what was fixed before the seat's first turn: the labels of the deal, and what others had said among
themselves by then. What came later depends on the seat's own turns, and a baseline that knows it would take
credit away from them.
"""

from simarena.arena.episodes import Episode


def hint(episode: Episode, seat: str) -> str:
    """One text; empty if there is nothing to know."""
    turns = episode.turns_of(seat)
    first = turns[0].index if turns else 0
    unheard = [m.text for m in episode.messages if m.turn < first and not m.audible(seat)]
    labels = [f"{name} {value}" for name, value in sorted(episode.labels.items())]
    return " ".join([*labels, *unheard]).strip()
