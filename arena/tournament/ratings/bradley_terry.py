"""The standard rating: strengths from who beat whom, on the Elo scale around 1500.

Adds to the fit what a table needs: seat advantages, effects of covariates, errors as draws. A gap of 400 points
is odds of ten to one; 1500 is the mean of the field. Knows no table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csgraph, csr_array

from simarena.arena.tournament.ratings.choices import Choices, Floats, choices
from simarena.arena.tournament.ratings.estimates import Effect, Estimate, effect
from simarena.arena.tournament.ratings.plackett_luce import fit
from simarena.arena.tournament.results import Result

POINTS = 400 / np.log(10)
"""Elo points in one logit."""
CENTRE = 1500.0
Intervals = Literal["bootstrap", "sandwich"]
_REPLICATES, _MANY = 400, 200
_SANDWICH_DRAWS = 4000


@dataclass(frozen=True)
class Strengths:
    """What results say about strength."""

    estimate: Estimate
    seats: Mapping[str, Effect]
    """Seat → points it is worth above the mean of the seats."""
    covariates: Mapping[str, Effect]
    """Covariate → points for one standard deviation more of it than the other side."""
    surprise: Mapping[str, float]
    """Match id → bits: 1 is a coin toss, 7 happens once in 128."""
    tie: float
    """Log of Davidson's tie parameter: a tie of equals is exp(tie) times as likely as a win; −inf without ties."""
    islands: tuple[tuple[str, ...], ...]
    """Entrants linked by matches, largest group first; nothing compares two groups."""


def strengths(
    results: Sequence[Result],
    *,
    entrants: Iterable[str] = (),
    covariates: Sequence[str] = (),
    intervals: Intervals | None = None,
    seed: int = 0,
) -> Strengths:
    """Fit and errors; `bootstrap` refits 400 times, `sandwich` takes one linear step (milliseconds).

    By default the bootstrap for up to 200 entrants, where it takes seconds.
    """
    design = choices(results, entrants, covariates)
    fitted = fit(design)
    intervals = intervals or ("bootstrap" if len(design.parameters.entrants) <= _MANY else "sandwich")
    if intervals == "bootstrap":
        drawn = fitted.bootstrap(_REPLICATES, seed)
    else:
        drawn = fitted.draws(_SANDWICH_DRAWS, seed)
    in_order, drawn = drawn, drawn + fitted.stretches(len(drawn), seed)
    names = design.parameters
    count = len(names.entrants)
    seat, covariate = names.seat_columns, names.covariate_columns
    estimate = Estimate(
        names.entrants,
        CENTRE + _points(fitted.values[:count]),
        CENTRE + _points(drawn[:, :count]),
        CENTRE + _points(in_order[:, :count]),
    )
    seat_values, seat_draws = _points(fitted.values[seat]), _points(drawn[:, seat])
    return Strengths(
        estimate=estimate,
        seats={name: effect(float(seat_values[k]), seat_draws[:, k]) for k, name in enumerate(names.seats)},
        covariates={
            name: effect(POINTS * float(fitted.values[covariate][k]), POINTS * drawn[:, covariate][:, k])
            for k, name in enumerate(names.covariates)
        },
        surprise=fitted.surprise(),
        tie=float(fitted.values[covariate.stop]) if names.ties else -np.inf,
        islands=_islands(design),
    )


def _points(logits: Floats) -> Floats:
    """Logits as Elo points about their own mean, along the last axis."""
    if not logits.shape[-1]:
        return logits
    return np.asarray(POINTS * (logits - logits.mean(axis=-1, keepdims=True)))


def _islands(design: Choices) -> tuple[tuple[str, ...], ...]:
    names = design.parameters.entrants
    place = {name: k for k, name in enumerate(names)}
    links = [
        (place[a], place[b])
        for result in design.results
        for a, b in zip(
            tuple(result.match.seats.values())[:-1], tuple(result.match.seats.values())[1:], strict=True
        )
    ]
    rows, columns = zip(*links, strict=True) if links else ((), ())
    graph = csr_array((np.ones(len(links)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = csgraph.connected_components(graph, directed=False)
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(int(label), []).append(name)
    return tuple(tuple(group) for group in sorted(groups.values(), key=lambda g: (-len(g), g)))
