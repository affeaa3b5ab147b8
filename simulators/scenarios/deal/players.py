"""Scripted hagglers for `deal`: what a seat can say from its own values alone. Know nothing of the other's."""

from itertools import product

from simarena.arena.messages import Action, Observation, say
from simarena.arena.seeds import derive
from simarena.simulators.scenarios.deal.pool import ITEMS, WORTH, Share
from simarena.simulators.scenarios.deal.scenario import claim


class Haggler:
    """Asks for everything at first and for `step` less each turn, down to `least`; takes an offer that is as good.

    Among shares of equal worth to itself it asks for the fewest items, which leaves the other most.
    """

    def __init__(self, step: int = 2, least: int = 5) -> None:
        self._step, self._least = step, least

    async def act(self, observation: Observation) -> Action:
        counts, values = (_numbers(observation, name) for name in ("counts", "values"))
        own = sum(m.seat == observation.seat for m in observation.messages)
        wanted = max(self._least, WORTH - self._step * own)
        offers = [m.text for m in observation.messages if m.kind == "speech" and m.seat != observation.seat]
        theirs = claim(offers[-1]) if offers else None
        if theirs is not None and "at once" not in observation.view.instructions:
            left = tuple(count - number for count, number in zip(counts, theirs, strict=True))
            if min(left) >= 0 and _worth(values, left) >= wanted:
                return say("deal")
        return say(_phrase(_ask(counts, values, wanted)))


class Bold:
    """Claims a share at random, worth at least half to itself: a demonstrator that tries everything."""

    async def act(self, observation: Observation) -> Action:
        counts, values = (_numbers(observation, name) for name in ("counts", "values"))
        good = [share for share in _shares(counts) if 2 * _worth(values, share) >= WORTH]
        chance = derive(observation.seed, observation.turn)
        offered = any(
            claim(m.text) for m in observation.messages if m.kind == "speech" and m.seat != observation.seat
        )
        if offered and chance % 3 == 0:
            return say("deal")
        return say(_phrase(good[chance // 3 % len(good)]))


def _ask(counts: Share, values: Share, wanted: int) -> Share:
    """The cheapest share worth enough, or everything."""
    enough = [share for share in _shares(counts) if _worth(values, share) >= wanted]
    return min(enough, key=lambda share: (_worth(values, share), sum(share), share), default=counts)


def _shares(counts: Share) -> list[Share]:
    return list(product(*(range(count + 1) for count in counts)))


def _phrase(share: Share) -> str:
    taken = " ".join(f"{number} {item}" for number, item in zip(share, ITEMS, strict=True) if number)
    return f"i take {taken or '0 books'}"


def _worth(values: Share, share: Share) -> int:
    return sum(value * number for value, number in zip(values, share, strict=True))


def _numbers(observation: Observation, name: str) -> Share:
    numbers = observation.view.private[name]
    assert isinstance(numbers, list), f"the view of {observation.scenario!r} holds no {name}"
    return tuple(int(str(number)) for number in numbers)
