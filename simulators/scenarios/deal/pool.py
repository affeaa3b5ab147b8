"""The pool: what is divided, what it is worth to whom, and how good a division is. Knows no conversation."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

ITEMS = ("books", "hats", "balls")
WORTH = 10
"""What the whole pool is worth to each seat, so that no seat starts richer."""
Share = tuple[int, ...]
"""How many of each item, in the order of `ITEMS`."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The counts of the items and each seat's private values, in the order of the seats."""

    counts: Share
    values: tuple[Share, Share]

    def worth(self, seat: int, share: Share) -> int:
        """What a share is worth to a seat, from 0 to WORTH."""
        return sum(value * number for value, number in zip(self.values[seat], share, strict=True))

    def rest(self, share: Share) -> Share:
        return tuple(count - number for count, number in zip(self.counts, share, strict=True))

    def holds(self, share: Share) -> bool:
        return all(0 <= number <= count for number, count in zip(share, self.counts, strict=True))

    def shares(self) -> Iterator[Share]:
        """Every share there can be, as of the first seat."""
        yield from product(*(range(count + 1) for count in self.counts))

    def efficient(self, first: Share, second: Share) -> bool:
        """Pareto efficiency: no other division is better for one seat and not worse for the other."""
        mine, theirs = self.worth(0, first), self.worth(1, second)
        others = ((self.worth(0, share), self.worth(1, self.rest(share))) for share in self.shares())
        return not any(a >= mine and b >= theirs and (a, b) != (mine, theirs) for a, b in others)

    def envy_free(self, first: Share, second: Share) -> bool:
        """Neither seat would rather have the other's share."""
        return self.worth(0, first) >= self.worth(0, second) and self.worth(1, second) >= self.worth(1, first)


def draw(rng: random.Random) -> Pool:
    """1 to 3 of each item, and values that make the whole pool worth WORTH to each seat, not the same to both."""
    while True:
        counts = tuple(rng.randint(1, 3) for _ in ITEMS)
        worths = [
            values for values in product(range(WORTH + 1), repeat=len(ITEMS)) if _total(values, counts) == WORTH
        ]
        if len(worths) > 1:
            first, second = rng.sample(worths, 2)
            return Pool(counts, (first, second))


def _total(values: Share, counts: Share) -> int:
    return sum(value * count for value, count in zip(values, counts, strict=True))
