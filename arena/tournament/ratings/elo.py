"""Elo, for those who expect it: one pass over the results in the order they were played.

The last matches weigh most and the order matters, so it suits a field that changes, and is no estimate of a
fixed strength: prefer `bradley_terry`. Errors reweigh the pairs and replay the pass. Knows no other method.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from simarena.arena.tournament.ratings.bradley_terry import CENTRE
from simarena.arena.tournament.ratings.estimates import Estimate
from simarena.arena.tournament.results import Result

K_FACTOR = 24.0
"""Points won for beating an equal are half of this."""
_REPLICATES = 400


def elo(results: Sequence[Result], *, entrants: Iterable[str] = (), seed: int = 0) -> Estimate:
    """Ratings after the last result; each match of s sides counts as its pairs of sides at K / (s − 1)."""
    names = tuple(sorted({*entrants, *(e for r in results for e in r.match.seats.values())}))
    place = {name: k for k, name in enumerate(names)}
    pairs = {pair: k for k, pair in enumerate(dict.fromkeys(r.match.pair for r in results))}
    weights = np.random.default_rng(seed).exponential(size=(len(pairs), _REPLICATES + 1))
    weights[:, 0] = 1.0  # column 0 is the rating itself, the rest are its replicates
    ratings = np.full((len(names), _REPLICATES + 1), CENTRE)
    for result in results:
        scores, teams = result.scores(), result.match.teams()
        members = {side: [place[result.match.seats[seat]] for seat in seats] for side, seats in teams.items()}
        before = {side: ratings[rows].mean(axis=0) for side, rows in members.items()}
        pace = K_FACTOR / max(len(scores) - 1, 1) * weights[pairs[result.match.pair]]
        for a, b in combinations(scores, 2):
            won = 0.5 + 0.5 * np.sign(round(scores[a] - scores[b], 9))
            change = pace * (won - 1 / (1 + 10 ** ((before[b] - before[a]) / 400)))
            for side, sign in ((a, 1), (b, -1)):
                for row in members[side]:
                    ratings[row] += sign * change
    return Estimate(names, ratings[:, 0], ratings[:, 1:].T)
