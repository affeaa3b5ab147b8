"""Fork credit on worked continuations, what it reduces to, and where its budget goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import SEAT, episode, numbers

from simarena.arena.errors import UsageError
from simarena.training.credit import RULES, Evidence
from simarena.training.credit.counterfactual import CounterfactualOptions, counterfactual
from simarena.training.credit.forks import ForkOptions, further, pilots, spread
from simarena.training.credit.trajectory import TrajectoryOptions, trajectory
from simarena.training.credit.vine import VineOptions, vine
from simarena.training.groups import Group, form
from simarena.training.recipe_file import parse

rows_of_rewards = st.lists(
    st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=1, max_size=5), min_size=2, max_size=5
)


def group(*rewards: list[float]) -> Group:
    return form([episode(row, member=m) for m, row in enumerate(rewards)], SEAT)


def played(*members: dict[int, list[float]]) -> Evidence:
    """Returns-to-go of continuations, by member and turn."""
    return Evidence(continuations={(f"step/0/{m}", SEAT): found for m, found in enumerate(members)})


def test_vine_worked() -> None:
    """Returns 3 and 1: the opening is worth 2. From before turn 2 of the first, 2 and 1 were got; of turn 3, 2."""
    two = group([1.0, 0.0, 2.0], [0.0, 1.0])
    first, second = vine(two, VineOptions(), played({1: [2.0, 1.0], 2: [2.0]}, {}))
    # 1 + 1½ − 2, 0 + 2 − 1½, 2 + 0 − 2; the second has no forks: 0 + 1 − 2 for both turns
    assert [turn.advantage for turn in first] == [0.5, 0.5, 0.0]
    assert [turn.advantage for turn in second] == [-1.0, -1.0]
    assert first[1].parts == {"return": 0.0, "value_before": 1.5, "value_after": 2.0}
    assert (first[1].compared, first[1].key) == (2, "deal 0 × assistant × forks before turn 2")


def test_turns_between_two_known_states_share_their_credit() -> None:
    ((a, b, c, d), _) = numbers(vine(group([1.0, 1.0, 1.0, 1.0], [0.0]), VineOptions(), played({2: [5.0]}, {})))
    assert (a, b) == (1 + 1 + 5 - 2, 1 + 1 + 5 - 2)
    assert (c, d) == (1 + 1 - 5, 1 + 1 - 5)


@given(rows=rows_of_rewards)
def test_without_forks_it_is_whole_trajectory_credit(rows: list[list[float]]) -> None:
    plain = numbers(trajectory(group(*rows), TrajectoryOptions()))
    for mine, theirs in zip(numbers(vine(group(*rows), VineOptions(), Evidence())), plain, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9)


@given(rows=rows_of_rewards, data=st.data())
def test_credit_adds_up_to_the_return_less_the_value_of_the_opening(
    rows: list[list[float]], data: st.DataObject
) -> None:
    """Where every turn is forked. The values in between cancel out, whatever they are."""
    values = [
        {turn: data.draw(st.lists(st.floats(-2, 2), min_size=1, max_size=3)) for turn in range(1, len(row))}
        for row in rows
    ]
    mean = sum(sum(row) for row in rows) / len(rows)
    for row, mine in zip(rows, numbers(vine(group(*rows), VineOptions(), played(*values))), strict=True):
        assert sum(mine) == pytest.approx(sum(row) - mean, abs=1e-6)


@given(rows=rows_of_rewards, constant=st.integers(-20, 20))
def test_a_constant_added_to_every_return_changes_nothing(rows: list[list[float]], constant: int) -> None:
    values = [{turn: [0.5, 1.0] for turn in range(1, len(row))} for row in rows]
    moved = [[*row[:-1], row[-1] + constant] for row in rows]
    raised = [{turn: [v + constant for v in got] for turn, got in found.items()} for found in values]
    before = numbers(vine(group(*rows), VineOptions(), played(*values)))
    after = numbers(vine(group(*moved), VineOptions(), played(*raised)))
    for one, other in zip(before, after, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_counterfactual_worked() -> None:
    """The team gets 4. Had the baseline played from the start it would have been 1; from turn 2 on, 2½ more."""
    options = CounterfactualOptions(agent="toys:Counter")
    (turns,) = counterfactual(group([1.0, 3.0]), options, played({0: [1.0, 1.0], 1: [2.0, 3.0]}))
    assert [turn.advantage for turn in turns] == [1 + 2.5 - 1, 3 - 2.5]
    assert sum(turn.advantage for turn in turns) == 4 - 1
    (blind,) = counterfactual(group([1.0, 3.0]), options, Evidence())
    assert [turn.advantage for turn in blind] == [0.0, 0.0]


def test_a_seat_that_plays_like_its_baseline_gets_nothing() -> None:
    (turns,) = counterfactual(
        group([0.0, 2.0]), CounterfactualOptions(agent="x"), played({0: [2.0, 2.0], 1: [2.0]})
    )
    assert [turn.advantage for turn in turns] == [0.0, 0.0]


def test_counterfactual_credit_needs_an_agent() -> None:
    with pytest.raises(UsageError, match=r"'credit\.agent' is missing"):
        parse({"name": "a", "scenario": {"name": "b"}, "credit": {"rule": "counterfactual"}})


class TestBudget:
    def test_first_a_few_turns_of_each_episode(self) -> None:
        assert [spread(turns, 2, False) for turns in (0, 1, 2, 3, 4, 9)] == [[], [], [1], [1, 2], [1, 3], [3, 7]]
        assert spread(4, 2, True) == [0, 1, 3]
        wanted = pilots([group([0.0] * 4, [0.0])], ForkOptions(), opening=False)
        assert wanted == {("step/0/0", SEAT, 1): 2, ("step/0/0", SEAT, 3): 2}

    def test_then_where_the_outcome_is_uncertain(self) -> None:
        """Variances of 2, 0 and ½: the sure state gets nothing, and what is doubted most is asked first."""
        a, b, c = (("e", SEAT, turn) for turn in (1, 2, 3))
        found = {a: [0.0, 2.0], b: [1.0, 1.0], c: [0.0, 1.0]}
        assert further(found, ForkOptions(budget=0)) == {}
        assert further(found, ForkOptions(budget=3)) == {a: 3}
        # σ²/n is 2/2, 2/3 … against ½/2: from the seventh more on the first is surer than the third
        assert further(found, ForkOptions(budget=9, most=20)) == {a: 8, c: 1}
        assert further(found, ForkOptions(budget=99, most=4)) == {a: 2, c: 2}

    @given(
        found=st.dictionaries(
            st.integers(0, 9).map(lambda n: ("e", SEAT, n)), st.lists(st.floats(-1, 1), min_size=2, max_size=2)
        ),
        budget=st.integers(0, 30),
    )
    def test_the_budget_is_kept(self, found: dict[tuple[str, str, int], list[float]], budget: int) -> None:
        extra = further(found, ForkOptions(budget=budget, most=5))
        assert sum(extra.values()) <= budget
        assert all(extra[state] + 2 <= 5 for state in extra)
        assert all(found[state][0] != found[state][1] for state in extra)


def test_both_rules_are_in_the_table() -> None:
    assert {"vine", "counterfactual"} <= RULES.keys()
