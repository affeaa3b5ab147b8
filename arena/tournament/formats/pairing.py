"""Pairing: a perfect matching of an ordered list in which forbidden pairs do not occur and neighbours are
preferred.

Greedy from the top, then alternating paths for who is left. Fast for a thousand, where a general blossom algorithm
in Python takes minutes. Knows no format.
"""

from collections import deque
from collections.abc import Callable, Sequence

Allowed = Callable[[str, str], bool]


def pair_up(order: Sequence[str], allowed: Allowed) -> list[tuple[str, str]] | None:
    """Pairs of an even number of names, each in the given order, the list by its first; None if none is found.

    Where everyone may meet at least half of the others it always finds one: if u and v are left over, and each is
    allowed at least n/2 of the n − 2 who are paired, then some pair (a, b) allows u with a and v with b (Ore's
    argument, 1960), which is a path of three steps.
    """
    mate = _greedy(order, allowed)
    for free in order:
        if free not in mate and not _augment(free, order, mate, allowed):
            return None
    place = {name: index for index, name in enumerate(order)}
    return [(name, mate[name]) for name in order if place[name] < place[mate[name]]]


def _greedy(order: Sequence[str], allowed: Allowed) -> dict[str, str]:
    mate: dict[str, str] = {}
    waiting = list(order)
    while waiting:
        first = waiting.pop(0)
        partner = next((name for name in waiting if allowed(first, name)), None)
        if partner is not None:
            waiting.remove(partner)
            mate[first], mate[partner] = partner, first
    return mate


def _augment(free: str, order: Sequence[str], mate: dict[str, str], allowed: Allowed) -> bool:
    """Re-pair along a shortest alternating path from `free` to another who is left over."""
    paths = deque([[free]])
    reached = {free}
    while paths:
        path = paths.popleft()
        on_path = set(path)
        for name in order:
            if name in on_path or not allowed(path[-1], name):
                continue
            partner = mate.get(name)
            if partner is None:
                path.append(name)
                for one, other in zip(path[::2], path[1::2], strict=True):
                    mate[one], mate[other] = other, one
                return True
            if partner not in reached and partner not in on_path:
                reached.add(partner)
                paths.append([*path, name, partner])
    return False
