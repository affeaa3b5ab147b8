"""OpenSkill on the same results as the package itself, and who should meet next."""

import numpy as np
import pytest
from contests import name, ranking, result, round_robin
from openskill.models import PlackettLuce

from simarena.arena.tournament.ratings.bradley_terry import strengths
from simarena.arena.tournament.ratings.ladder import Ladder
from simarena.arena.tournament.results import Match, Result


def test_it_is_openskill() -> None:
    """Duels, ties, a free-for-all and a team match, fed by hand to the package."""
    sides = {"w1": "x", "w2": "x", "l": "y"}
    match = Match(id="t", seats={"w1": "a", "w2": "b", "l": "c"}, pair="t", deal=0, sides=sides)
    team = Result(match=match, ending="finished", outcome={"w1": 1, "w2": 1, "l": 0})
    ladder = Ladder(results=[result("a", "b", 1.0), result("b", "c", 0.5), ranking("cab", 1), team])

    model = PlackettLuce()
    a, b, c = (model.rating() for _ in range(3))
    [[a], [b]] = model.rate([[a], [b]], ranks=[1, 2])
    [[b], [c]] = model.rate([[b], [c]], ranks=[1, 1])
    [[c], [a], [b]] = model.rate([[c], [a], [b]], ranks=[1, 2, 3])
    [[a, b], [c]] = model.rate([[a, b], [c]], ranks=[1, 2])
    for entrant, expected in zip("abc", (a, b, c), strict=True):
        assert ladder.rating(entrant) == pytest.approx((expected.mu, expected.sigma))


def test_it_agrees_with_the_standard_rating_on_many_results() -> None:
    results = round_robin(np.linspace(1.5, -1.5, 7), np.random.default_rng(30), rounds=10, luck=0.0)
    online, batch = Ladder(results=results).estimate(), strengths(results, intervals="sandwich").estimate
    assert np.argsort(online.values).tolist() == np.argsort(batch.values).tolist()
    assert np.corrcoef(online.values, batch.values)[0, 1] > 0.98


def test_what_says_nothing_changes_nothing() -> None:
    void = Result(match=Match(id="v", seats={"a": "x", "b": "y"}, pair="v", deal=0), ending="void")
    alone = Result(match=Match(id="1", seats={"a": "x"}, pair="1", deal=0), ending="finished", outcome={"a": 1})
    ladder = Ladder(results=[void, alone, result("x", "x", 1.0)])
    assert ladder.rating("x") == ladder.rating("newcomer") == pytest.approx((25, 25 / 3))


def test_the_most_is_learnt_from_unknown_equals() -> None:
    results = round_robin([2.0, 0.0, -2.0], np.random.default_rng(31), rounds=20)
    ladder = Ladder(results=results)
    new = ladder.information("new", "newer")
    assert new > ladder.information("new", name(1)) > ladder.information(name(0), name(1)) > 0
    assert ladder.information(name(0), name(1)) > ladder.information(name(0), name(2))
    assert ladder.information("new", name(0)) == pytest.approx(ladder.information(name(0), "new"))


def test_information_is_the_expected_fall_in_variance() -> None:
    """Against simulation: posterior variance of a normal gap after one probit observation."""
    ladder = Ladder(
        results=[result("a", "b", 1.0), result("c", "b", 1.0, number=1), result("a", "c", 1.0, number=2)]
    )
    (mu, sigma), (nu, tau), noise = ladder.rating("a"), ladder.rating("b"), 2 * (25 / 6) ** 2
    chance = np.random.default_rng(32)
    gap = chance.normal(mu - nu, np.hypot(sigma, tau), 400_000)
    won = gap + chance.normal(0, np.sqrt(noise), gap.size) > 0
    after = won.mean() * gap[won].var() + (1 - won.mean()) * gap[~won].var()
    assert ladder.information("a", "b") == pytest.approx(0.5 * np.log(gap.var() / after), rel=0.02)
