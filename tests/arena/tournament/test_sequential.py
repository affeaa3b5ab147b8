"""Stopping early: the stated error rate, at any look, by simulation; and that it does stop."""

import numpy as np
import pytest
from contests import result
from hypothesis import given, settings
from hypothesis import strategies as st

from simarena.arena.errors import UsageError
from simarena.arena.tournament.ratings.sequential import Answer, Question, leader, pair_scores

PAIRS = 400


def answers(chance: np.random.Generator, question: Question, mean: float, runs: int = 400) -> list[Answer]:
    """Pair scores are 0, ¼, ½, ¾ or 1, as two matches with ties give; the question is asked after every pair."""
    edge = (mean - 0.5) / 0.5
    weights = np.array([1, 2, 4, 2, 1]) / 10 * (1 + edge * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * 10 / 3)
    drawn = chance.choice(5, p=weights, size=(runs, PAIRS)) / 4
    return [question.answer(row) for row in drawn]


def test_equals_are_told_apart_in_at_most_five_percent() -> None:
    """Four hundred looks each: a test that ignored this would call a winner in more than half of the runs."""
    found = answers(np.random.default_rng(40), Question("a", "b"), 0.5)
    wrong = np.mean([answer != "open" for answer in found])
    assert wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_the_worse_is_hardly_ever_called_better() -> None:
    found = answers(np.random.default_rng(41), Question("a", "b"), 0.53)
    assert found.count("second") / len(found) <= 0.025 + 0.01


def test_a_clear_difference_is_found_early() -> None:
    """A mean of 0.6, hardly two thirds of a clean sweep: answered within 400 pairs, right."""
    found = answers(np.random.default_rng(42), Question("a", "b"), 0.6)
    assert found.count("first") / len(found) > 0.97
    sweep = Question("a", "b").answer([1.0] * 12)
    assert (sweep, Question("b", "a").answer([0.0] * 12)) == ("first", "second")


def test_equal_within_a_margin_is_an_answer_too() -> None:
    question = Question("a", "b", margin=0.1)
    equals = answers(np.random.default_rng(43), question, 0.5)
    assert equals.count("equal") / len(equals) > 0.9
    at_the_margin = answers(np.random.default_rng(44), question, 0.6)
    assert at_the_margin.count("equal") / len(at_the_margin) <= 0.05


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=60), st.integers(0, 60))
def test_an_answer_once_given_stays(scores: list[float], cut: int) -> None:
    question = Question("a", "b", margin=0.1)
    early = question.answer(scores[:cut])
    assert early == "open" or question.answer(scores) == early


def test_the_score_of_a_mirrored_pair_is_its_mean() -> None:
    results = [
        result("x", "y", 1.0, "p", 0),
        result("y", "x", 0.5, "p", 1),
        result("y", "x", 1.0, "q", 0),
        result("x", "z", 1.0, "r", 0),
    ]
    assert pair_scores(results, "x", "y") == [0.75, 0.0]
    assert pair_scores(results, "y", "x") == [0.25, 1.0]
    assert Question("x", "y").after(results) == "open"


def test_a_leader_is_named_when_it_beats_everybody() -> None:
    names = ["a", "b", "c"]

    def played(rounds: int) -> list:
        return [
            result(first, second, 1.0, f"{first}{second}{k}")
            for k in range(rounds)
            for i, first in enumerate(names)
            for second in names[i + 1 :]
        ]

    assert leader(played(4), names) is None
    assert leader(played(15), names) == "a"
    assert leader([], ["only"]) is None


def test_a_false_leader_is_named_in_at_most_five_percent() -> None:
    chance = np.random.default_rng(45)
    named = []
    for _ in range(100):
        results = [
            result(first, second, float(chance.integers(0, 3)) / 2, f"{first}{second}{k}")
            for k in range(60)
            for first, second in (("a", "b"), ("b", "c"), ("c", "a"))
        ]
        named.append(leader(results, ["a", "b", "c"]) is not None)
    assert np.mean(named) <= 0.05


@pytest.mark.parametrize("bad", [{"error": 0.0}, {"error": 1.0}, {"margin": 0.5}, {"margin": -0.1}])
def test_impossible_settings_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must be in"):
        Question("a", "b", **bad)
