"""The standard rating against references, hand-worked numbers, and results that would break a naive fit."""

import dataclasses
import itertools
import math

import choix
import numpy as np
import pytest
from contests import name, ranking, result, round_robin, shuffled
from hypothesis import given, settings
from hypothesis import strategies as st

from simarena.arena.errors import UsageError
from simarena.arena.tournament.ratings.bradley_terry import POINTS, strengths
from simarena.arena.tournament.ratings.choices import Choices, choices
from simarena.arena.tournament.ratings.plackett_luce import fit
from simarena.arena.tournament.results import Match, Result

PRIOR = 3.0
CHOIX_PENALTY = 1 / (2 * PRIOR**2)


def without_seats(design: Choices) -> Choices:
    """The references have no seat advantage."""
    names = design.parameters
    kept = [k for k in range(names.size) if not names.seat_columns.start <= k < names.seat_columns.stop]
    return dataclasses.replace(
        design, parameters=dataclasses.replace(names, seats=()), features=design.features[:, kept]
    )


def test_bradley_terry_equals_choix() -> None:
    chance = np.random.default_rng(1)
    games = [tuple(chance.choice(7, 2, replace=False).tolist()) for _ in range(60)]
    design = choices([result(name(i), name(j), 1.0, number=k) for k, (i, j) in enumerate(games)])
    ours = fit(without_seats(design), PRIOR).values
    assert ours == pytest.approx(choix.opt_pairwise(7, games, alpha=CHOIX_PENALTY), abs=1e-4)


def test_plackett_luce_equals_choix() -> None:
    chance = np.random.default_rng(2)
    rankings = [tuple(chance.permutation(6)[:4].tolist()) for _ in range(50)]
    design = choices([ranking([name(i) for i in order], k) for k, order in enumerate(rankings)])
    ours = fit(without_seats(design), PRIOR).values
    assert ours == pytest.approx(choix.opt_rankings(6, rankings, alpha=CHOIX_PENALTY), abs=1e-4)


def test_davidson_by_hand() -> None:
    """20 wins, 5 losses, 10 ties of two: the gap is log(20 / 5), the tie parameter 10 / √(20 · 5) = 1."""
    scores = [1.0] * 20 + [0.0] * 5 + [0.5] * 10
    fitted = fit(without_seats(choices([result("a", "b", s, number=k) for k, s in enumerate(scores)])), prior=1e4)
    assert fitted.values[0] - fitted.values[1] == pytest.approx(math.log(4), abs=1e-5)
    assert fitted.values[2] == pytest.approx(0.0, abs=1e-5)


def test_a_three_way_tie_by_hand() -> None:
    """Three equals: each of 6 orders 25 times, each two tied for first 100 times, all three 100 times.

    Setting the derivatives of 300 log δ₂ + 100 log δ₃ − 550 log(3 + 3δ₂ + δ₃) − 150 log(2 + δ₂) to zero gives
    δ₂² + δ₂/2 = 2 and δ₃ = 2 (1 + δ₂) / 3.
    """
    orders = itertools.permutations((1.0, 0.5, 0.0))
    counts = dict.fromkeys(orders, 25) | dict.fromkeys([(1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)], 100)
    results = []
    for outcome in (outcome for outcome, times in counts.items() for _ in range(times)):
        k = len(results)
        match = Match(id=f"{k}", seats={"a": "x", "b": "y", "c": "z"}, pair=f"{k}", deal=k)
        results.append(Result(match=match, ending="finished", outcome=dict(zip("abc", outcome, strict=True))))
    fitted = fit(without_seats(choices(results)))
    two = (math.sqrt(8.25) - 0.5) / 2
    assert fitted.values[:3] == pytest.approx([0, 0, 0], abs=1e-6)
    assert np.exp(fitted.values[3:]) == pytest.approx([two, 2 * (1 + two) / 3], rel=0.002)


def test_a_rank_of_an_odd_match_is_a_chain_of_choices() -> None:
    """a first of (a, b, c), then b of (b, c): at equal strengths with probability 1/3 · 1/2, 2.585 bits."""
    both_ways = [ranking(order, k) for k, order in enumerate(("abc", "cba", "bca", "acb", "cab", "bac"))]
    surprise = fit(without_seats(choices(both_ways))).surprise()
    assert list(surprise.values()) == pytest.approx([math.log2(6)] * 6)


def test_seat_advantage_is_fitted() -> None:
    results = round_robin([0.5, 0.0, -0.5], np.random.default_rng(3), rounds=60, seat=0.8, luck=0.0)
    found = strengths(results, intervals="sandwich")
    assert found.seats["a"].value == pytest.approx(0.4 * POINTS, abs=20)
    assert found.seats["a"].value == pytest.approx(-found.seats["b"].value)
    assert found.seats["a"].low > 0


def test_length_is_fitted_and_taken_out() -> None:
    """Two equals, one of which says twice as much to a judge that likes length."""
    chance = np.random.default_rng(4)
    results = []
    for k in range(600):
        first, second = chance.normal(2.0, 1.0), chance.normal(0.0, 1.0)
        won = float(chance.random() < 1 / (1 + math.exp(-0.7 * (first - second))))
        if k % 2:
            results.append(_judged("wordy", "terse", won, k, first, second))
        else:
            results.append(_judged("terse", "wordy", 1 - won, k, second, first))
    raw, fair = (
        strengths(results, intervals="sandwich"),
        strengths(results, covariates=["length"], intervals="sandwich"),
    )
    assert raw.estimate.gap("wordy", "terse").low > 50
    assert fair.covariates["length"].low > 0
    assert fair.estimate.gap("wordy", "terse").low < 0 < fair.estimate.gap("wordy", "terse").high


def _judged(first: str, second: str, score: float, number: int, *lengths: float) -> Result:
    length = dict(zip("ab", lengths, strict=True))
    return result(first, second, score, number=number, covariates={"length": length})


def test_a_missing_covariate_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="'length' is missing for seats"):
        strengths([result("a", "b", 1.0)], covariates=["length"])


@pytest.mark.parametrize("intervals", ["bootstrap", "sandwich"])
@pytest.mark.parametrize(
    "scores",
    [[1.0] * 40, [0.5] * 40, [1.0], [0.5], [0.0], []],
    ids=["all won", "all tied", "one win", "one tie", "one loss", "none"],
)
def test_one_sided_results_do_not_blow_up(scores: list[float], intervals: str) -> None:
    results = [result("a", "b", s, number=k) for k, s in enumerate(scores)]
    found = strengths(results, entrants=["a", "b", "idle"], intervals=intervals)  # type: ignore[arg-type]
    assert np.all(np.abs(found.estimate.values - 1500) < 1500)
    assert np.all(np.isfinite(found.estimate.draws))
    # Of somebody who never played we know the least; quantiles of 400 draws are off by a few percent.
    widths = {
        name: found.estimate.effect(name).high - found.estimate.effect(name).low for name in ("a", "b", "idle")
    }
    assert widths["idle"] >= 0.85 * max(widths.values())
    assert widths["idle"] > 100


def test_an_undefeated_entrant_is_ahead_with_room_above() -> None:
    """Six opponents of known strength, nothing but wins: the interval must not pretend to know how good it is."""
    chance = np.random.default_rng(5)
    others = round_robin([0.5, 0.2, 0.0, -0.2, -0.5], chance, rounds=4)
    wins = [result("best", name(k % 5), 1.0, f"b{k}") for k in range(20)]
    for intervals in ("bootstrap", "sandwich"):
        estimate = strengths([*others, *wins], intervals=intervals).estimate  # type: ignore[arg-type]
        best, middle = estimate.effect("best"), estimate.effect(name(2))
        assert estimate.ranks()[estimate.entrants.index("best")] == (1, 1)
        assert best.high - best.low > 2 * (middle.high - middle.low)
        assert best.high - best.value > 1.2 * (best.value - best.low) or intervals == "sandwich"


def test_groups_that_never_met_are_named_and_cannot_be_compared() -> None:
    results = [result(*"ab" if k % 4 < 2 else "ba", k % 2, number=k) for k in range(40)]
    results += [result(*"cd" if k % 4 < 2 else "dc", k % 2, number=k + 100) for k in range(40)]
    found = strengths(results, intervals="sandwich")
    assert found.islands == (("a", "b"), ("c", "d"))
    within, between = found.estimate.gap("a", "b"), found.estimate.gap("a", "c")
    assert between.high - between.low > 1.3 * (within.high - within.low)


def test_teams_share_what_they_earn() -> None:
    """a and b always win together over c and d: as strong as each other, and stronger."""
    seats = {"w1": "a", "w2": "b", "l1": "c", "l2": "d"}
    sides = {"w1": "wolves", "w2": "wolves", "l1": "village", "l2": "village"}
    turned = {"w1": "c", "w2": "d", "l1": "a", "l2": "b"}
    results = []
    for k in range(10):
        for mirror, (cast, wolves) in enumerate(((seats, 1.0), (turned, 0.0))):
            match = Match(id=f"{k}/{mirror}", seats=cast, pair=str(k), deal=k, sides=sides)
            outcome = {seat: wolves if seat.startswith("w") else 1 - wolves for seat in cast}
            results.append(Result(match=match, ending="finished", outcome=outcome))
    values = strengths(results, intervals="sandwich").estimate.values
    assert values[0] == pytest.approx(values[1])
    assert values[0] - values[2] > 200


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0])), max_size=30),
    st.integers(),
)
def test_neither_order_nor_void_results_matter(games: list[tuple[int, int, float]], seed: int) -> None:
    results = [result(name(i), name(j), s, number=k) for k, (i, j, s) in enumerate(games)]
    void = Result(match=Match(id="v", seats={"a": name(0), "b": name(1)}, pair="v", deal=0), ending="void")
    everyone = [name(k) for k in range(5)]
    one = strengths(results, entrants=everyone, intervals="sandwich").estimate
    other = strengths(shuffled([*results, void], abs(seed)), entrants=everyone, intervals="sandwich").estimate
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.draws, other.draws)
    assert one.values.mean() == pytest.approx(1500)


def test_a_thousand_entrants_are_rated_in_seconds() -> None:
    chance = np.random.default_rng(6)
    true = chance.normal(size=1000)
    results = []
    for k in range(2500):
        i, j = chance.choice(1000, 2, replace=False)
        for mirror, (a, b) in enumerate(((i, j), (j, i))):
            won = chance.random() < 1 / (1 + math.exp(true[b] - true[a]))
            results.append(result(name(a), name(b), float(won), f"{k}", mirror))
    found = strengths(results).estimate
    assert np.corrcoef(found.values, [true[int(e[1:])] for e in found.entrants])[0, 1] > 0.7
    low, high = np.quantile(found.draws, [0.025, 0.975], axis=0)
    truth = 1500 + POINTS * (true - true.mean())
    inside = [low[k] <= truth[int(e[1:])] <= high[k] for k, e in enumerate(found.entrants)]
    assert 0.92 <= np.mean(inside) <= 0.98
