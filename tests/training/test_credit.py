"""Credit rules against worked numbers, an independent reference and their invariants."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import SEAT, episode, record

from simarena.arena.episodes import Seat
from simarena.arena.errors import UsageError
from simarena.arena.specs import AgentSpec
from simarena.training.credit import RULES, assign, shuffled
from simarena.training.credit.gigpo import GiGPOOptions, gigpo
from simarena.training.credit.returns import ReturnsOptions, returns
from simarena.training.credit.trajectory import TrajectoryOptions, trajectory
from simarena.training.groups import Group, form

KEYS = "abc"
reward_lists = st.lists(
    st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=1, max_size=4), min_size=1, max_size=6
)


def group(*rewards: list[float], keys: list[str] | None = None) -> Group:
    return form(
        [
            episode(row, member=m, keys=list(keys[m]) if keys else [KEYS[p % 3] for p in range(len(row))])
            for m, row in enumerate(rewards)
        ],
        SEAT,
    )


def flat(advantages: object) -> list[float]:
    return [a for member in advantages for a in member]  # type: ignore[attr-defined]


def test_trajectory_worked() -> None:
    three = group([1.0], [1.0, 2.0], [0.0, 0.0, 2.0])
    assert trajectory(three, TrajectoryOptions()) == ((-1.0,), (1.0, 1.0), (0.0, 0.0, 0.0))
    assert flat(trajectory(three, TrajectoryOptions(normalise="std"))) == pytest.approx(
        [-1, 1, 1, 0, 0, 0], abs=1e-5
    )


def test_returns_worked() -> None:
    three = group([1.0, 0.0, 2.0], [0.0, 1.0], [4.0])
    # returns to go: (3, 2, 2), (1, 1), (4,); means by turn: 8/3, 3/2; the third turn stands alone
    expected = [3 - 8 / 3, 0.5, 0.0, 1 - 8 / 3, -0.5, 4 - 8 / 3]
    assert flat(returns(three, ReturnsOptions())) == pytest.approx(expected)
    # gamma 1/2: (1.5, 1, 2), (0.5, 1), (4,); means 2, 1
    assert flat(returns(three, ReturnsOptions(gamma=0.5))) == pytest.approx([-0.5, 0, 0, -1.5, 0, 2])


def test_returns_judge_a_turn_by_what_came_after_it() -> None:
    """Same total, earned late or early: only turns before the difference can tell, and only at their position."""
    late, early = returns(group([0.0, 1.0], [1.0, 0.0]), ReturnsOptions())
    assert (late, early) == ((0.0, 0.5), (0.0, -0.5))
    assert trajectory(group([0.0, 1.0], [1.0, 0.0]), TrajectoryOptions()) == ((0.0, 0.0), (0.0, 0.0))


def test_gigpo_worked() -> None:
    two = group([0.0, 1.0], [0.0, 0.0, 0.0], keys=["sa", "sbs"])
    # episode: 1, 0 -> ±1/2. returns to go (gamma 1/2): (1/2, 1), (0, 0, 0). state s: 1/2, 0, 0 -> mean 1/6
    options = GiGPOOptions(gamma=0.5, state_weight=3.0)
    expected = [0.5 + 3 * (1 / 3), 0.5, -0.5 + 3 * (-1 / 6), -0.5, -0.5 + 3 * (-1 / 6)]
    assert flat(gigpo(two, options)) == pytest.approx(expected)


def test_gigpo_without_repeated_states_is_trajectory_credit() -> None:
    two = group([0.0, 1.0], [0.0, 0.0], keys=["ab", "cd"])
    assert gigpo(two, GiGPOOptions()) == trajectory(two, TrajectoryOptions())


def test_gigpo_refuses_a_scenario_without_states() -> None:
    with pytest.raises(UsageError, match="gives no state keys"):
        gigpo(form([episode([1.0], member=0), episode([0.0], member=1)], SEAT), GiGPOOptions())


def reference(rule: str, rows: list[list[float]]) -> list[list[float]]:
    """The same rules written another way: by explicit sums over (member, turn) pairs."""

    def value(m: int, t: int, gamma: float) -> float:
        return sum(gamma ** (k - t) * rows[m][k] for k in range(t, len(rows[m])))

    def minus_mean(own: float, others: list[float]) -> float:
        return own - statistics.fmean(others) if len(others) > 1 else 0.0

    pairs = [(m, t) for m, row in enumerate(rows) for t in range(len(row))]
    result = [[0.0] * len(row) for row in rows]
    for m, t in pairs:
        whole = minus_mean(sum(rows[m]), [sum(row) for row in rows])
        same_turn = [value(i, s, 1.0) for i, s in pairs if s == t]
        same_state = [value(i, s, 0.95) for i, s in pairs if s % 3 == t % 3]
        result[m][t] = {
            "trajectory": whole,
            "returns": minus_mean(value(m, t, 1.0), same_turn),
            "gigpo": whole + minus_mean(value(m, t, 0.95), same_state),
        }[rule]
    return result


@pytest.mark.parametrize("rule", sorted(RULES))
@given(rows=reward_lists)
def test_rules_equal_the_reference(rule: str, rows: list[list[float]]) -> None:
    options, function = RULES[rule]
    assert flat(function(group(*rows), options(rule=rule))) == pytest.approx(flat(reference(rule, rows)), abs=1e-9)


@pytest.mark.parametrize("normalise", ["centre", "std"])
@pytest.mark.parametrize("rule", ["trajectory", "returns"])
@given(rows=reward_lists, constant=st.integers(-50, 50))
def test_a_constant_changes_nothing(rule: str, normalise: str, rows: list[list[float]], constant: int) -> None:
    options, function = RULES[rule]
    chosen = options(rule=rule, normalise=normalise)
    moved = [[*row[:-1], row[-1] + constant] for row in rows]
    assert flat(function(group(*moved), chosen)) == pytest.approx(flat(function(group(*rows), chosen)), abs=1e-6)


@pytest.mark.parametrize("rule", sorted(RULES))
@given(rows=reward_lists, seed=st.integers(0, 99))
def test_members_permute(rule: str, rows: list[list[float]], seed: int) -> None:
    options, function = RULES[rule]
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    plain = function(group(*rows), options(rule=rule))
    moved = function(group(*[rows[m] for m in order]), options(rule=rule))
    assert list(moved) == [plain[m] for m in order]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_group_of_one_gets_zero(rule: str) -> None:
    options, function = RULES[rule]
    assert function(form([episode([5.0], keys=["a"])], SEAT), options(rule=rule)) == ((0.0,),)


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(
    "ending", ["agent_fault", "simulator_fault", "environment_fault", "cancelled", "turn_cap"]
)
def test_invalid_members_are_in_no_statistic(rule: str, ending: str) -> None:
    options, function = RULES[rule]
    valid = [episode([r], member=m, keys=["a"]) for m, r in enumerate([1.0, 3.0, 2.0])]
    invalid = episode([9.0], member=3, keys=["a"], ending=ending)
    with_invalid = function(form([*valid, invalid], SEAT), options(rule=rule))
    assert with_invalid == function(form(valid, SEAT), options(rule=rule))
    assert len(with_invalid) == 3


@pytest.mark.parametrize("rule", sorted(RULES))
def test_agents_never_mix(rule: str) -> None:
    """Two seats of one policy with opposite rewards: each is centred on its own."""
    both = {name: Seat(spec=AgentSpec.of_policy("assistant")) for name in (SEAT, "user")}
    plays = [episode([r], member=m, keys=["a"], seats=both) for m, r in enumerate([1.0, 0.0])]
    opposite = [
        play.model_copy(
            update={
                "rewards": (*play.rewards, play.rewards[0].model_copy(update={"seat": "user", "value": -10 - m})),
                "turns": tuple(t.model_copy(update={"state_key": "a"}) for t in play.turns),
            }
        )
        for m, play in enumerate(plays)
    ]
    options, function = RULES[rule]
    mine = flat(function(form(opposite, SEAT), options(rule=rule)))
    theirs = flat(function(form(opposite, "user"), options(rule=rule)))
    assert mine[0] > 0 > mine[1]
    assert theirs[0] > 0 > theirs[1]
    assert sum(mine) == pytest.approx(0, abs=1e-9)
    assert sum(theirs) == pytest.approx(0, abs=1e-9)


def test_splitting_a_rollout_does_not_change_its_vote() -> None:
    whole = [episode([1.0, 0.0], member=0), episode([0.0, 0.0], member=1)]
    broken = episode([1.0, 0.0], records=[record((1,), (3,), start=True), record((1, 3), (4,), start=True)])
    assert len(broken.trajectories_of(SEAT)) == 2
    for rule in ("trajectory", "returns"):
        options, function = RULES[rule]
        split = function(form([broken, whole[1]], SEAT), options(rule=rule))
        assert split == function(form(whole, SEAT), options(rule=rule))


def test_shuffling_deals_the_same_numbers_out_anew() -> None:
    groups = [group([float(m), 1.0], [0.5 * m]) for m in range(1, 20)]
    plain = assign(groups, TrajectoryOptions(), random.Random(0))
    mixed = assign(groups, TrajectoryOptions(shuffle=True), random.Random(0))
    assert [[len(member) for member in g] for g in mixed] == [[len(member) for member in g] for g in plain]
    assert sorted(a for g in mixed for a in flat(g)) == sorted(a for g in plain for a in flat(g))
    assert mixed != plain
    assert shuffled(plain, random.Random(0)) == mixed
