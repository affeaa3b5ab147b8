"""Simulated tournaments with known strengths, ties, seat advantage and pairs that share their luck."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import ndtr

from simarena.arena.tournament.results import Match, Result


def name(number: int) -> str:
    return f"p{number:03d}"


def result(first: str, second: str, score: float, pair: str = "", number: int = 0, **more: object) -> Result:
    """One match of two seats; `score` is the first's: 1 won, 0.5 tied, 0 lost."""
    match = Match(id=f"{pair}/{number}", seats={"a": first, "b": second}, pair=pair or f"{number}", deal=number)
    return Result.model_validate(
        {"match": match, "ending": "finished", "outcome": {"a": score, "b": 1 - score}, **more}
    )


def ranking(order: Sequence[str], number: int = 0) -> Result:
    """A match of as many seats as entrants, s0 won by the first, and so on."""
    match = Match(id=f"{number}", seats={f"s{k}": e for k, e in enumerate(order)}, pair=f"{number}", deal=number)
    places = {f"s{k}": 1 - k / len(order) for k in range(len(order))}
    return Result(match=match, ending="finished", outcome=places)


def one_sided(deal: int, trial: int, solved: bool, entrant: str = "e") -> Result:
    """One trial of one task; all entrants share its deal."""
    match = Match(id=f"{entrant}/{deal}/{trial}", seats={"assistant": entrant}, pair=f"{deal}", deal=deal)
    return Result(match=match, ending="finished", outcome={"assistant": float(solved)})


def round_robin(
    strengths: Sequence[float],
    chance: np.random.Generator,
    *,
    rounds: int = 1,
    seat: float = 0.4,
    tie: float = -0.5,
    luck: float = 0.6,
) -> list[Result]:
    """Every two meet in `rounds` mirrored pairs, by Davidson's model in logits.

    `seat` is what seat a is worth over seat b, `tie` the log of the tie parameter, `luck` in [0, 1] how much of a
    match is decided by the deal that both matches of a pair share. It leaves each match's own odds untouched.
    """
    results = []
    meetings = [(i, j, r) for r in range(rounds) for i in range(len(strengths)) for j in range(i)]
    for i, j, r in meetings:
        own, shared = chance.normal(size=2), chance.normal()
        drawn = ndtr(np.sqrt(luck) * shared + np.sqrt(1 - luck) * own)
        for mirror, (a, b) in enumerate(((i, j), (j, i))):
            score = _played(strengths[a] + seat, strengths[b], tie, drawn[mirror])
            results.append(result(name(a), name(b), score, f"{r}/{i}-{j}", mirror))
    return results


def swiss(strengths: Sequence[float], chance: np.random.Generator, rounds: int) -> list[Result]:
    """Mirrored pairs of neighbours by points so far, ties in points broken by lot; rematches may happen."""
    points, results = np.zeros(len(strengths)), []
    for r in range(rounds):
        order = sorted(range(len(strengths)), key=lambda i: (-points[i], chance.random()))
        for i, j in zip(order[::2], order[1::2], strict=True):
            for mirror, (a, b) in enumerate(((i, j), (j, i))):
                score = _played(strengths[a] + 0.4, strengths[b], -0.5, chance.random())
                results.append(result(name(a), name(b), score, f"{r}/{i}-{j}", mirror))
                points[a] += score
                points[b] += 1 - score
    return results


def _played(first: float, second: float, tie: float, drawn: float) -> float:
    weights = np.exp([first, (first + second) / 2 + tie, second])
    won, tied, _ = np.cumsum(weights / weights.sum())
    return 1.0 if drawn < won else 0.5 if drawn < tied else 0.0


def shuffled(results: Iterable[Result], seed: int) -> list[Result]:
    given = list(results)
    return [given[k] for k in np.random.default_rng(seed).permutation(len(given))]
