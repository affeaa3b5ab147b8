"""What a person reads: standings, ranks and words, by every method."""

import subprocess
import sys

import numpy as np
import pytest
from contests import name, one_sided, result, round_robin, shuffled

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.tournament.ratings.bradley_terry import strengths
from simarena.arena.tournament.ratings.cycles import alpha_rank, cycles
from simarena.arena.tournament.ratings.elo import elo
from simarena.arena.tournament.ratings.scores import success
from simarena.arena.tournament.ratings.table import METHODS, rate


def clear_field() -> list:
    return round_robin([3.0, 0.1, 0.0, -3.0], np.random.default_rng(20), rounds=6)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_whole_table(method: str) -> None:
    table = rate(clear_field(), method, entrants=["idle"])
    assert table.standings[0].entrant == name(0)
    assert [row.entrant for row in table.standings if row.entrant != "idle"][-1] == name(3)
    for row in table.standings:
        assert row.low <= row.rating <= row.high
        assert 1 <= row.rank_low <= row.rank_high <= 5
        assert row.matches == (0 if row.entrant == "idle" else 36)


def test_what_is_known_is_said() -> None:
    words = rate(clear_field()).words
    assert words[0] == "p000 is first, ahead of every other entrant."
    assert words[1] == "p001 and p002 are not distinguishable."
    assert words[2] == "Ranks and these claims hold for all 4 entrants at once, at 95 %."
    assert any(line.startswith("Seat a is worth +") for line in words)


def test_what_is_not_known_is_said() -> None:
    words = rate([result("a", "b", 1.0)], entrants=["c"]).words
    assert words[0] == "a, c and b are not distinguishable."
    assert "a never lost: how far above the rest is the prior's guess, not the results'." in words
    assert "b never won: how far below the rest is the prior's guess, not the results'." in words
    assert "These groups never met, so nothing compares them: a and b; c." in words


def test_an_unknown_method_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'bradley-terry'"):
        rate([], "bradly-terry")
    with pytest.raises(UsageError, match="fitted by 'bradley-terry' only"):
        rate([], "elo", covariates=["length"])


def test_bootstrap_and_sandwich_agree_where_there_is_much_to_go_by() -> None:
    results = round_robin([0.8, 0.3, 0.0, -0.3, -0.8], np.random.default_rng(21), rounds=8)
    slow, fast = (
        strengths(results, intervals=how).estimate.draws.std(axis=0) for how in ("bootstrap", "sandwich")
    )
    assert slow == pytest.approx(fast, rel=0.2)


def test_the_same_seed_gives_the_same_table() -> None:
    results = clear_field()
    assert rate(results, seed=1).standings == rate(shuffled(results, 3), seed=1).standings


def test_elo_by_hand() -> None:
    """Equals: the winner of K = 24 takes 12; then 1512 against 1488 expects 0.5345 and takes 24 · 0.4655."""
    results = [result("a", "b", 1.0, number=1), result("b", "a", 0.0, number=2), result("a", "b", 0.5, number=3)]
    after_two = elo(results[:2]).effect("a").value
    assert elo(results[:1]).effect("a").value == pytest.approx(1512)
    assert after_two == pytest.approx(1512 + 24 * (1 - 1 / (1 + 10 ** (-24 / 400))))
    assert elo(results).effect("a").value < after_two  # a tie costs the favourite


def test_rock_paper_scissors_is_one_cycle() -> None:
    games = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]
    results = [result(w, lo, 1.0, f"{w}{k}", k) for k in range(20) for w, lo in games]
    found = cycles(results, strengths(results, intervals="sandwich"))
    assert (found.triples, found.share) == (1, 1.0)
    assert list(found.alpha_rank.values()) == pytest.approx([1 / 3] * 3)


def test_a_ring_of_five_is_more_than_luck_and_a_line_is_not() -> None:
    names = ["a", "b", "c", "d", "e"]
    ring = [
        result(names[i], names[(i + step) % 5], 1.0, f"{i}{step}{k}")
        for i in range(5)
        for step in (1, 2)
        for k in range(10)
    ]
    found = cycles(ring, strengths(ring, intervals="sandwich"))
    assert (found.triples, found.share) == (10, 0.5)  # 5 of the 10 triples of this tournament are cyclic
    assert "luck does not explain" in found.words
    assert found.words.endswith("by share of evolution's time: a 20%, b 20%, c 20%, d 20%, e 20%.")
    line = round_robin(np.linspace(1, -1, 8), np.random.default_rng(22), rounds=2)
    assert "no further than luck allows" in cycles(line, strengths(line, intervals="sandwich")).words


def test_alpha_rank_of_two_by_hand() -> None:
    """The odds of two strategies are the ratio of their fixation chances: exp(α (m − 1) (f₁ − f₂))."""
    shares = alpha_rank(np.array([[0.5, 0.52], [0.48, 0.5]]), pressure=2.0, population=20)
    assert np.log(shares[0] / shares[1]) == pytest.approx(2.0 * 19 * 0.04)


def test_alpha_rank_finds_the_one_that_beats_all() -> None:
    payoff = np.array([[0.5, 0.9, 0.9], [0.1, 0.5, 0.8], [0.1, 0.2, 0.5]])
    assert alpha_rank(payoff)[0] == pytest.approx(1.0)


def test_pass_hat_k_by_hand() -> None:
    """Task 0: 4 of 4 solved, task 1: 2 of 4. pass^2 = (1 + C(2,2)/C(4,2)) / 2 = (1 + 1/6) / 2."""
    outcomes = [(0, 1), (0, 1), (0, 1), (0, 1), (1, 1), (1, 1), (1, 0), (1, 0)]
    (row,) = success([one_sided(deal, k, bool(s)) for k, (deal, s) in enumerate(outcomes)], k=(1, 2, 4, 8))
    assert (row.tasks, row.trials, row.rate.value) == (2, 8, 0.75)
    assert {k: effect.value for k, effect in row.pass_hat.items()} == pytest.approx({1: 0.75, 2: 7 / 12, 4: 0.5})


def test_all_of_twenty_is_not_certain() -> None:
    (row,) = success([one_sided(deal, 0, True) for deal in range(20)])
    assert row.rate.value == row.rate.high == 1.0
    assert row.rate.low == pytest.approx(0.883, abs=0.02)  # the 2.5 % quantile of Beta(20.5, 0.5)


def test_the_statistics_load_only_where_they_are_used() -> None:
    """Neither the arena nor the tournament's values and formats wait for numpy or scipy."""
    light = "import simarena.arena, simarena.arena.tournament.results, simarena.arena.tournament.formats, sys"
    code = f"{light}\nprint(*[m for m in ('numpy', 'scipy', 'openskill') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
