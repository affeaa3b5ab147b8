"""Results as choices: the design matrix behind Bradley–Terry, Plackett–Luce and Davidson's ties.

A ranking is a sequence of choices: who is first, who is first of the rest, and so on. Sides that tie are chosen
together. Each choice is a multinomial logit whose alternatives are the sets of sides that could have been next
(Firth, Kosmidis & Turner 2019, "Davidson–Luce model for multi-item choice with ties"); with two sides it is
Bradley–Terry with Davidson's (1970) ties. Owns that mapping; knows no estimation.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from simarena.arena.errors import UsageError
from simarena.arena.tournament.results import Result

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ALTERNATIVES = 4096
"""Most alternatives one choice may have: 2^12, twelve sides that can all tie."""
_SAME = 1e-9
"""Outcomes closer than this are a tie."""


@dataclass(frozen=True)
class Parameters:
    """The columns: strengths, then seats, covariates and tie sizes, all in logits."""

    entrants: tuple[str, ...]
    seats: tuple[str, ...]
    """Empty where every match has one seat or all seats have one name."""
    covariates: tuple[str, ...]
    ties: tuple[int, ...]
    """Sizes of ties that occur, from 2 upwards without gaps."""

    @property
    def size(self) -> int:
        return len(self.entrants) + len(self.seats) + len(self.covariates) + len(self.ties)

    @property
    def seat_columns(self) -> slice:
        return slice(len(self.entrants), len(self.entrants) + len(self.seats))

    @property
    def covariate_columns(self) -> slice:
        return slice(self.seat_columns.stop, self.seat_columns.stop + len(self.covariates))


@dataclass(frozen=True)
class Choices:
    """All choices of a tournament, S of them with A alternatives in all, in C clusters."""

    parameters: Parameters
    features: sparse.csr_array
    """[A, parameters]."""
    starts: Ints
    """[S]: where each choice's alternatives begin."""
    chosen: Ints
    """[S]: the row that was chosen."""
    cluster: Ints
    """[S]: which mirrored pair it belongs to."""
    result: Ints
    """[S]: which result it belongs to, counted over `results`."""
    results: tuple[Result, ...]
    """Those that carry information: scored, with two or more sides."""
    scales: Mapping[str, float]
    """Covariate → the value that counts as 1: the standard deviation of differences within matches."""

    @property
    def clusters(self) -> int:
        return int(self.cluster.max(initial=-1)) + 1

    @cached_property
    def by_parameter(self) -> sparse.csr_array:
        """[parameters, A]: the features transposed."""
        return self.features.T.tocsr()

    @cached_property
    def owner(self) -> Ints:
        """[A]: the choice each alternative belongs to."""
        sizes = np.diff(np.append(self.starts, self.features.shape[0]))
        return np.repeat(np.arange(len(self.starts)), sizes)


def choices(results: Sequence[Result], entrants: Iterable[str] = (), covariates: Sequence[str] = ()) -> Choices:
    """The design of these results; `entrants` adds some that have not played.

    Raises UsageError where a covariate is missing or a tie is too wide to enumerate.
    """
    contests = tuple(
        sorted((r for r in results if len(r.scores()) > 1), key=lambda r: (r.match.pair, r.match.id))
    )  # sums of floats in one order, so that the order of play cannot show in the last digit
    seats = sorted({seat for result in contests for seat in result.match.seats})
    parameters = Parameters(
        entrants=tuple(sorted({*entrants, *(e for r in results for e in r.match.seats.values())})),
        seats=tuple(seats) if len(seats) > 1 else (),
        covariates=tuple(covariates),
        ties=tuple(range(2, max((len(tier) for r in contests for tier in tiers(r)), default=1) + 1)),
    )
    scales = {name: _scale(name, contests) for name in covariates}
    return _assemble(contests, parameters, scales)


def tiers(result: Result) -> list[tuple[str, ...]]:
    """Sides from first to last, those with equal scores together."""
    scores = result.scores()
    ordered = sorted(scores, key=lambda side: -scores[side])
    found: list[tuple[str, ...]] = []
    for side in ordered:
        if found and abs(scores[found[-1][0]] - scores[side]) < _SAME:
            found[-1] = (*found[-1], side)
        else:
            found.append((side,))
    return found


def _assemble(contests: tuple[Result, ...], parameters: Parameters, scales: Mapping[str, float]) -> Choices:
    column = {name: place for place, name in enumerate(_labels(parameters))}
    pairs = {pair: number for number, pair in enumerate(dict.fromkeys(r.match.pair for r in contests))}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    starts: list[int] = []
    chosen: list[int] = []
    of_result: list[int] = []
    height = 0
    for number, result in enumerate(contests):
        sides = {side: _side(result, seats, column, scales) for side, seats in result.match.teams().items()}
        for remaining, tier in _stages(result):
            starts.append(height)
            of_result.append(number)
            for alternative in _alternatives(remaining, parameters.ties, result.match.id):
                if set(alternative) == set(tier):
                    chosen.append(height)
                for place, value in _row(alternative, sides, column).items():
                    rows.append(height)
                    columns.append(place)
                    values.append(value)
                height += 1
    return Choices(
        parameters=parameters,
        features=sparse.csr_array((values, (rows, columns)), shape=(height, parameters.size), dtype=np.float64),
        starts=np.array(starts, dtype=np.int64),
        chosen=np.array(chosen, dtype=np.int64),
        cluster=np.array([pairs[contests[number].match.pair] for number in of_result], dtype=np.int64),
        result=np.array(of_result, dtype=np.int64),
        results=contests,
        scales=scales,
    )


def _labels(parameters: Parameters) -> Iterator[tuple[str, str | int]]:
    yield from (("entrant", name) for name in parameters.entrants)
    yield from (("seat", name) for name in parameters.seats)
    yield from (("covariate", name) for name in parameters.covariates)
    yield from (("tie", size) for size in parameters.ties)


Row = dict[int, float]
Columns = Mapping[tuple[str, str | int], int]


def _side(result: Result, seats: Sequence[str], column: Columns, scales: Mapping[str, float]) -> Row:
    """The features of one side: the mean over its seats."""
    row: Row = {}
    for seat in seats:
        marks = {("entrant", result.match.seats[seat]): 1.0, ("seat", seat): 1.0}
        marks |= {("covariate", name): result.covariates[name][seat] / scale for name, scale in scales.items()}
        for label, value in marks.items():
            if (place := column.get(label)) is not None:
                row[place] = row.get(place, 0.0) + value / len(seats)
    return row


def _stages(result: Result) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(sides still to be placed, those placed next) for every choice that could have gone otherwise."""
    remaining = tuple(result.scores())
    for tier in tiers(result):
        if len(remaining) > 1:
            yield remaining, tier
        remaining = tuple(side for side in remaining if side not in tier)


def _alternatives(remaining: tuple[str, ...], ties: tuple[int, ...], match: str) -> list[tuple[str, ...]]:
    sizes = [size for size in (1, *ties) if size <= len(remaining)]
    if ties and 2 ** len(remaining) > _ALTERNATIVES:
        raise UsageError(
            f"match {match!r} has {len(remaining)} sides and ties: at most 12 can be rated by "
            "bradley-terry; use method 'score'"
        )
    return [group for size in sizes for group in itertools.combinations(remaining, size)]


def _row(alternative: tuple[str, ...], sides: Mapping[str, Row], column: Columns) -> Row:
    row: Row = {}
    for side in alternative:
        for place, value in sides[side].items():
            row[place] = row.get(place, 0.0) + value / len(alternative)
    if len(alternative) > 1:
        row[column["tie", len(alternative)]] = 1.0
    return row


def _scale(name: str, contests: Sequence[Result]) -> float:
    deviations: list[float] = []
    for result in contests:
        given = result.covariates.get(name, {})
        if absent := [seat for seat in result.match.seats if seat not in given]:
            raise UsageError(
                f"covariate {name!r} is missing for seats {absent} of match {result.match.id!r}: "
                f"it has {sorted(result.covariates)}"
            )
        values = [float(np.mean([given[seat] for seat in seats])) for seats in result.match.teams().values()]
        deviations += [values[i] - values[j] for i, j in itertools.combinations(range(len(values)), 2)]
    return float(np.sqrt(np.mean(np.square(deviations)))) or 1.0 if deviations else 1.0
