"""Intervals keep their promise: simulated tournaments with known strengths, ties, seats and shared luck."""

import numpy as np
import pytest
from contests import name, one_sided, result, round_robin, swiss

from simarena.arena.tournament.ratings.bradley_terry import POINTS, strengths
from simarena.arena.tournament.ratings.choices import choices
from simarena.arena.tournament.ratings.estimates import Estimate
from simarena.arena.tournament.ratings.plackett_luce import fit
from simarena.arena.tournament.ratings.scores import mean_scores, success

SEAT = 0.4


def inside(estimate: Estimate, truth: np.ndarray) -> np.ndarray:
    low, high = np.quantile(estimate.draws, [0.025, 0.975], axis=0)
    return (low <= truth) & (truth <= high)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("luck", "rounds"),
    [(0.0, 1), (0.6, 1), (0.6, 3)],
    ids=["free matches, 7 pairs each", "lucky deals, 7 pairs each", "lucky deals, 21 pairs each"],
)
def test_sandwich_intervals_of_ratings_seats_and_gaps(luck: float, rounds: int) -> None:
    """8 entrants of strengths drawn anew each time: 80 tournaments, 640 intervals of ratings."""
    chance = np.random.default_rng(10)
    ratings, seats, gaps = [], [], []
    for seed in range(80):
        true = chance.normal(size=8)
        true -= true.mean()
        found = strengths(
            round_robin(true, chance, rounds=rounds, seat=SEAT, luck=luck), intervals="sandwich", seed=seed
        )
        ratings.append(inside(found.estimate, 1500 + POINTS * true))
        seats.append(found.seats["a"].low <= POINTS * SEAT / 2 <= found.seats["a"].high)
        gap = found.estimate.gap(name(0), name(1))
        gaps.append(gap.low <= POINTS * (true[0] - true[1]) <= gap.high)
    assert 0.92 <= np.mean(ratings) <= 0.98
    assert 0.90 <= np.mean(seats) <= 1.0  # 80 intervals: the band is that of their luck
    assert 0.90 <= np.mean(gaps) <= 1.0


@pytest.mark.slow
def test_intervals_where_results_choose_who_meets_next() -> None:
    """Swiss, 24 entrants, 6 rounds of pairs: equals meet, so the spread of the field is hardly known (a fixed wide
    prior: 82; a learned width taken as known: 90)."""
    chance = np.random.default_rng(17)
    covered = []
    for seed in range(20):
        true = chance.normal(size=24)
        true -= true.mean()
        results = swiss(true, chance, rounds=6)
        covered.append(inside(strengths(results, intervals="sandwich", seed=seed).estimate, 1500 + POINTS * true))
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.slow
def test_bootstrap_intervals() -> None:
    """6 entrants, 10 pairs each, lucky deals: 30 tournaments of 100 replicates, 180 intervals."""
    chance = np.random.default_rng(11)
    covered = []
    for seed in range(30):
        true = chance.normal(size=6)
        true -= true.mean()
        design = choices(round_robin(true, chance, rounds=2, seat=SEAT))
        fitted = fit(design)
        drawn = (fitted.bootstrap(100, seed) + fitted.stretches(100, seed))[:, :6]
        centred = drawn - drawn.mean(axis=1, keepdims=True)
        covered.append(inside(Estimate(design.parameters.entrants, true, centred), true))
    assert 0.91 <= np.mean(covered) <= 0.99  # 180 intervals know their share to ± 3 points


def test_ignoring_pairs_would_count_twins_twice() -> None:
    """The reason for clusters: with identical twins in a pair, intervals that count matches are √2 too narrow."""
    chance = np.random.default_rng(12)
    covered, narrower = [], []
    for _ in range(60):
        results = []
        for k in range(40):
            score = float(chance.random() < 0.5)  # equals, and both matches of a pair end alike
            results += [result("x", "y", score, f"{k}", 0), result("y", "x", 1 - score, f"{k}", 1)]
        alone = [r.model_copy(update={"match": r.match.model_copy(update={"pair": r.match.id})}) for r in results]
        clustered, naive = (
            strengths(given, intervals="sandwich").estimate.gap("x", "y") for given in (results, alone)
        )
        covered.append(clustered.low <= 0 <= clustered.high)
        narrower.append((naive.high - naive.low) / (clustered.high - clustered.low))
    assert np.mean(covered) >= 0.9
    assert np.mean(narrower) == pytest.approx(0.5**0.5, abs=0.03)


@pytest.mark.slow
def test_rank_intervals_of_equals_hold_all_at_once() -> None:
    """Among 8 equals any claim is false; one or more are made in at most 5 % of tournaments, not of pairs."""
    chance = np.random.default_rng(13)
    quiet = [
        all(
            ranks == (1, 8)
            for ranks in strengths(round_robin([0.0] * 8, chance, rounds=2), intervals="sandwich").estimate.ranks()
        )
        for _ in range(60)
    ]
    assert np.mean(quiet) >= 0.92


@pytest.mark.slow
def test_rank_intervals_of_unequals_hold_and_say_something() -> None:
    """With distinct strengths the true ranks lie inside, all at once, and inside is not the whole table."""
    chance = np.random.default_rng(14)
    true = np.linspace(1.5, -1.5, 8)
    held, widths = [], []
    for _ in range(40):
        ranks = strengths(round_robin(true, chance, rounds=3), intervals="sandwich").estimate.ranks()
        held.append(all(low <= k + 1 <= high for k, (low, high) in enumerate(ranks)))
        widths.append(np.mean([high - low + 1 for low, high in ranks]))
    assert np.mean(held) >= 0.95
    assert np.mean(widths) < 5


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_success_by_task(rate: float) -> None:
    """Tasks of unequal difficulty, four trials each: the interval is for the mean over tasks."""
    chance = np.random.default_rng(15)
    covered, passes = [], []
    for _ in range(300):
        hard = chance.beta(4 * rate, 4 * (1 - rate), size=40)
        results = [
            one_sided(deal, trial, chance.random() < p) for deal, p in enumerate(hard) for trial in range(4)
        ]
        (row,) = success(results, k=(1, 2))
        covered.append(row.rate.low <= rate <= row.rate.high)
        squared = rate**2 + rate * (1 - rate) / 5  # E p² of a beta(4r, 4(1−r))
        passes.append(row.pass_hat[2].low <= squared <= row.pass_hat[2].high)
    assert 0.92 <= np.mean(covered) <= 0.98
    assert 0.92 <= np.mean(passes) <= 0.98


def test_entrants_on_the_same_tasks_are_compared_task_by_task() -> None:
    """Hard and easy tasks: one entrant solves a few more of the same tasks; sharing deals makes that certain."""
    easy = [deal < 50 for deal in range(100)]
    shared = [one_sided(deal, 0, easy[deal] or deal < 62, "good") for deal in range(100)]
    shared += [one_sided(deal, 0, easy[deal], "plain") for deal in range(100)]
    apart = [
        r.model_copy(update={"match": r.match.model_copy(update={"pair": f"{r.match.seats}{r.match.pair}"})})
        for r in shared
    ]
    assert mean_scores(shared).gap("good", "plain").low > 0
    assert mean_scores(apart).gap("good", "plain").low < 0


@pytest.mark.parametrize("pairs", [2, 6], ids=["2 pairs a meeting", "6 pairs a meeting"])
def test_mean_scores_against_a_given_field(pairs: int) -> None:
    """Opponents are the same each time, so what differs between them is no error; only more games would tell."""
    chance = np.random.default_rng(16)
    odds = chance.uniform(0.1, 0.9, size=(5, 5))  # [i, j], i > j: the chance that i wins
    truth = np.array(
        [
            np.mean([odds[max(i, j), min(i, j)] if i > j else 1 - odds[j, i] for j in range(5) if j != i])
            for i in range(5)
        ]
    )
    covered, widths = [], []
    for seed in range(100):
        results = [
            result(name(i), name(j), float(chance.random() < odds[i, j]), f"{i}{j}{k}", mirror)
            for i in range(5)
            for j in range(i)
            for k in range(pairs)
            for mirror in range(2)
        ]
        estimate = mean_scores(results, seed=seed)
        covered.append(inside(estimate, truth))
        widths.append(np.ptp(np.quantile(estimate.draws, [0.025, 0.975], axis=0), axis=0).mean())
    exact = 3.92 * np.sqrt(
        np.mean(odds[np.tril_indices(5, -1)] * (1 - odds[np.tril_indices(5, -1)])) / (8 * pairs)
    )
    assert 0.92 <= np.mean(covered) <= 0.98
    assert np.mean(widths) < 1.25 * exact


def test_games_that_always_end_alike_leave_nothing_open() -> None:
    """Deterministic agents met twice: more games in this field would tell nothing new; met once, who knows."""
    scores = {("a", "b"): 0.7, ("b", "c"): 0.6, ("a", "c"): 0.55}
    twice = [result(*who, score, f"{who}{k}") for who, score in scores.items() for k in range(2)]
    sure = mean_scores(twice).effect("a")
    assert (sure.low, sure.high) == pytest.approx((0.625, 0.625))
    once = mean_scores(twice[::2]).effect("a")
    assert once.high - once.low > 0.2
