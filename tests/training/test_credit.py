"""Credit rules against worked numbers, an independent reference and their invariants."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import SEAT, episode, numbers, record

from simarena.arena.episodes import Episode, Seat
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.specs import AgentSpec
from simarena.training.credit import RULES, Evidence, GroupCredit, assign, shuffled
from simarena.training.credit.bilevel import BilevelOptions, bilevel
from simarena.training.credit.gigpo import GiGPOOptions, gigpo
from simarena.training.credit.pairs import PairsOptions, pairs
from simarena.training.credit.rae import RAEOptions, rae
from simarena.training.credit.raft import RAFTOptions, raft
from simarena.training.credit.returns import ReturnsOptions, returns
from simarena.training.credit.rewards import Overlong, RewardWeights, by_turn, weighted
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.trajectory import TrajectoryOptions, trajectory
from simarena.training.credit.turnppo import TurnPPOOptions, turnppo
from simarena.training.credit.userrl import UserRLOptions, userrl
from simarena.training.filters import FilterOptions, rejection
from simarena.training.groups import Group, form
from simarena.training.recipe_file import parse
from simarena.training.samples import samples

KEYS = "abc"
"""Turns share a state where their positions do, modulo 3."""
COMPARING = sorted(rule for rule, (options, _) in RULES.items() if options.compares)
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


def known(one: Group) -> Evidence:
    """Made-up values of a critic: two tokens a turn, as these episodes have."""
    return Evidence(
        values={
            (play.id, one.seat): [
                tuple(value(play.member, turn, token) for token in (0, 1))
                for turn in range(len(play.turns_of(one.seat)))
            ]
            for play in one.members
        }
    )


def made(rule: str) -> CreditOptions:
    """The rule's options as they are by default, with what has none."""
    needed = {"agent": "toys:Counter"} if rule == "counterfactual" else {}
    return RULES[rule][0](rule=rule, **needed)


def value(member: int, turn: int, token: int) -> float:
    return ((3 * member + 2 * turn + 5 * token) % 7) / 4


def flat(credit: GroupCredit) -> list[float]:
    return [a for member in numbers(credit) for a in member]


def test_trajectory_worked() -> None:
    three = group([1.0], [1.0, 2.0], [0.0, 0.0, 2.0])
    assert numbers(trajectory(three, TrajectoryOptions())) == ((-1.0,), (1.0, 1.0), (0.0, 0.0, 0.0))
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


def test_agent_and_turn_credit_is_returns_without_a_future() -> None:
    """AT-GRPO: what the team earned in a turn plus the agent's own, against the group at that turn."""
    both = {name: Seat(spec=AgentSpec.of_policy("assistant")) for name in (SEAT, "user")}

    def play(member: int, own: list[float], theirs: list[float]) -> Episode:
        plain = episode(own, member=member, seats=both)
        more = [
            r.model_copy(update={"seat": "user", "value": v}) for r, v in zip(plain.rewards, theirs, strict=True)
        ]
        return plain.model_copy(update={"rewards": (*plain.rewards, *more)})

    two = form([play(0, [1.0, 0.0], [0.0, 2.0]), play(1, [0.0, 0.0], [4.0, 0.0])], SEAT)
    options = ReturnsOptions(gamma=0.0, rewards=RewardWeights(own=1.0, team=0.5))
    # own + ½ (own + theirs): 1 + ½, 0 + 1 and 0 + 2, 0: means 1¾ and ½
    (credit,) = assign([two], options, random.Random(0))
    assert numbers(credit) == ((1.5 - 1.75, 0.5), (2.0 - 1.75, -0.5))


def test_returns_judge_a_turn_by_what_came_after_it() -> None:
    """Same total, earned late or early: only turns before the difference can tell, and only at their position."""
    late, early = numbers(returns(group([0.0, 1.0], [1.0, 0.0]), ReturnsOptions()))
    assert (late, early) == ((0.0, 0.5), (0.0, -0.5))
    assert numbers(trajectory(group([0.0, 1.0], [1.0, 0.0]), TrajectoryOptions())) == ((0.0, 0.0), (0.0, 0.0))


def test_gigpo_worked() -> None:
    two = group([0.0, 1.0], [0.0, 0.0, 0.0], keys=["sa", "sbs"])
    # episode: 1, 0 -> ±1/2. returns to go (gamma 1/2): (1/2, 1), (0, 0, 0). state s: 1/2, 0, 0 -> mean 1/6
    options = GiGPOOptions(gamma=0.5, state_weight=3.0)
    expected = [0.5 + 3 * (1 / 3), 0.5, -0.5 + 3 * (-1 / 6), -0.5, -0.5 + 3 * (-1 / 6)]
    assert flat(gigpo(two, options)) == pytest.approx(expected)


def test_gigpo_without_repeated_states_is_trajectory_credit() -> None:
    two = group([0.0, 1.0], [0.0, 0.0], keys=["ab", "cd"])
    assert numbers(gigpo(two, GiGPOOptions())) == numbers(trajectory(two, TrajectoryOptions()))


def test_gigpo_refuses_a_scenario_without_states() -> None:
    with pytest.raises(UsageError, match="gives no state keys"):
        gigpo(form([episode([1.0], member=0), episode([0.0], member=1)], SEAT), GiGPOOptions())


def reference(rule: str, rows: list[list[float]]) -> list[list[float]]:
    """The same rules written another way: by explicit sums over (member, turn) pairs."""

    def to_go(m: int, t: int, gamma: float) -> float:
        return sum(gamma ** (k - t) * rows[m][k] for k in range(t, len(rows[m])))

    def surprise(m: int, t: int, gamma: float, token: int) -> float:
        later = value(m, t + 1, token) if t + 1 < len(rows[m]) else 0.0
        return rows[m][t] + gamma * later - value(m, t, token)

    def gae(m: int, t: int, gamma: float, trace: float, token: int) -> float:
        return sum((gamma * trace) ** (k - t) * surprise(m, k, gamma, token) for k in range(t, len(rows[m])))

    totals = [sum(row) for row in rows]
    order = sorted(range(len(rows)), key=lambda m: -totals[m])
    chosen, rejected = order[0], order[::-1][0]
    differ = totals[chosen] > totals[rejected]

    def minus_mean(own: float, others: list[float]) -> float:
        return own - statistics.fmean(others) if len(others) > 1 else 0.0

    pairs = [(m, t) for m, row in enumerate(rows) for t in range(len(row))]
    result = [[0.0] * len(row) for row in rows]
    for m, t in pairs:
        whole = minus_mean(sum(rows[m]), [sum(row) for row in rows])
        same_turn = [to_go(i, s, 1.0) for i, s in pairs if s == t]
        same_state = [to_go(i, s, 0.95) for i, s in pairs if s % 3 == t % 3]
        result[m][t] = {
            "trajectory": whole,
            "returns": minus_mean(to_go(m, t, 1.0), same_turn),
            "gigpo": whole + minus_mean(to_go(m, t, 0.95), same_state),
            "userrl": minus_mean(to_go(m, 0, 0.8), [to_go(i, 0, 0.8) for i in range(len(rows))]),
            "turnppo": gae(m, t, 0.99, 0.9, 0),
            "bilevel": gae(m, t, 0.95, 1.0, 1),
            "vine": whole,
            "counterfactual": 0.0,
            "raft": float(differ and totals[m] == max(totals)),
            "pairs": (m == chosen) - (m == rejected) if differ else 0.0,
            "rae": sum(rows[m]) - sum(0.05 * 0.95 ** (m - 1 - i) * sum(rows[i]) for i in range(m)),
        }[rule]
    return result


@pytest.mark.parametrize("rule", sorted(RULES))
@given(rows=reward_lists)
def test_rules_equal_the_reference(rule: str, rows: list[list[float]]) -> None:
    _options, function = RULES[rule]
    mine = flat(function(group(*rows), made(rule), known(group(*rows))))
    assert mine == pytest.approx([a for row in reference(rule, rows) for a in row], abs=1e-9)


@pytest.mark.parametrize("normalise", ["centre", "std", "loo"])
@pytest.mark.parametrize("rule", ["trajectory", "returns", "userrl"])
@given(rows=reward_lists, constant=st.integers(-50, 50))
def test_a_constant_changes_nothing(rule: str, normalise: str, rows: list[list[float]], constant: int) -> None:
    options, function = RULES[rule]
    chosen = options(rule=rule, normalise=normalise)
    at = (lambda row: 0) if rule == "userrl" else (lambda row: len(row) - 1)  # its score discounts from the start
    moved = [[r + constant * (t == at(row)) for t, r in enumerate(row)] for row in rows]
    before, after = (flat(function(group(*some), chosen, Evidence())) for some in (rows, moved))
    assert after == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize("rule", [rule for rule in COMPARING if rule != "pairs"])
@given(rows=reward_lists, seed=st.integers(0, 99))
def test_members_permute(rule: str, rows: list[list[float]], seed: int) -> None:
    _options, function = RULES[rule]
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    plain = numbers(function(group(*rows), made(rule), Evidence()))
    moved = numbers(function(group(*[rows[m] for m in order]), made(rule), Evidence()))
    assert list(moved) == [plain[m] for m in order]


@pytest.mark.parametrize("rule", COMPARING)
def test_a_group_of_one_gets_zero(rule: str) -> None:
    _options, function = RULES[rule]
    alone = function(form([episode([5.0], keys=["a"])], SEAT), made(rule), Evidence())
    assert numbers(alone) == ((0.0,),)
    assert alone[0][0].compared == 1


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(
    "ending", ["agent_fault", "simulator_fault", "environment_fault", "cancelled", "turn_cap"]
)
def test_invalid_members_are_in_no_statistic(rule: str, ending: str) -> None:
    _options, function = RULES[rule]
    valid = [episode([r], member=m, keys=["a"]) for m, r in enumerate([1.0, 3.0, 2.0])]
    invalid = episode([9.0], member=3, keys=["a"], ending=ending)
    both, alone = form([*valid, invalid], SEAT), form(valid, SEAT)
    with_invalid = function(both, made(rule), known(both))
    assert with_invalid == function(alone, made(rule), known(alone))
    assert len(with_invalid) == 3


@pytest.mark.parametrize("rule", [rule for rule in COMPARING if rule != "raft"])
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
    _options, function = RULES[rule]
    mine = flat(function(form(opposite, SEAT), made(rule), Evidence()))
    theirs = flat(function(form(opposite, "user"), made(rule), Evidence()))
    assert mine[0] > 0 > mine[1]
    assert theirs[0] > 0 > theirs[1]
    assert sum(mine) == pytest.approx(0, abs=1e-9)
    assert sum(theirs) == pytest.approx(0, abs=1e-9)


def test_splitting_a_rollout_does_not_change_its_vote() -> None:
    whole = [episode([1.0, 0.0], member=0), episode([0.0, 0.0], member=1)]
    broken = episode([1.0, 0.0], records=[record((1,), (3,), start=True), record((1, 3), (4,), start=True)])
    assert len(broken.trajectories_of(SEAT)) == 2
    for rule in ("trajectory", "returns", "rae"):
        _options, function = RULES[rule]
        split = function(form([broken, whole[1]], SEAT), made(rule), Evidence())
        assert split == function(form(whole, SEAT), made(rule), Evidence())


def test_shuffling_deals_the_same_numbers_out_anew() -> None:
    groups = [group([float(m), 1.0], [0.5 * m]) for m in range(1, 20)]
    plain = assign(groups, TrajectoryOptions(), random.Random(0))
    mixed = assign(groups, TrajectoryOptions(shuffle=True), random.Random(0))
    assert [[len(member) for member in g] for g in mixed] == [[len(member) for member in g] for g in plain]
    assert sorted(a for g in mixed for a in flat(g)) == sorted(a for g in plain for a in flat(g))
    assert mixed != plain
    assert shuffled(plain, random.Random(0)) == mixed


def test_leave_one_out_worked() -> None:
    """Each against the mean of the others: 1 − 2.5, 3 − 1.5, 2 − 2; the baseline told is theirs."""
    credit = trajectory(group([1.0], [3.0], [2.0]), TrajectoryOptions(normalise="loo"))
    assert flat(credit) == pytest.approx([-1.5, 1.5, 0.0])
    assert [member[0].baseline for member in credit] == pytest.approx([2.5, 1.5, 2.0])


def test_a_turn_says_how_its_credit_came_about() -> None:
    (first, _), (second,) = returns(group([1.0, 0.0], [4.0]), ReturnsOptions())
    assert (first.advantage, first.baseline, first.compared) == (-1.5, 2.5, 2)
    assert first.key == second.key == "deal 0 × assistant × turn 1"
    assert second.parts == {"return": 4.0}
    (told,) = assign([group([1.0, 0.0], [4.0])], ReturnsOptions(), random.Random(0))
    assert [turn.rewards for turn in told[0]] == [{"own": 1.0}, {}]


class TestUserRL:
    """Lengths of turns are two tokens each in these episodes."""

    def test_reward_to_go_worked(self) -> None:
        options = UserRLOptions(turns="reward_to_go", gamma=0.5)
        two = group([1.0, 2.0], [0.0, 0.0])
        # scores 1 + ½·2 = 2 and 0 → ±1; weights of the first (2, 2) → (1, 1); of the second all 0 → shared equally
        assert numbers(userrl(two, options)) == ((1.0, 1.0), (-1.0, -1.0))
        # (0 + ½·1, 1) = (½, 1), token mean ¾ → (⅔, 4/3); score ½ → ±¼
        assert flat(userrl(group([0.0, 1.0], [0.0]), options)) == pytest.approx([0.25 / 1.5, 0.25 / 0.75, -0.25])

    def test_exponential_worked(self) -> None:
        options = UserRLOptions(turns="exponential", gamma=1.0)
        half = 0.5 + 0.5 * (1 - math.exp(-1)) / (1 - math.exp(-2))
        raw = [0.5, half, 1.0]
        expected = [0.75 * w * 3 / sum(raw) for w in raw]
        assert flat(userrl(group([0.0, 0.5, 1.0], [0.0]), options))[:3] == pytest.approx(expected)

    @pytest.mark.parametrize("turns", ["equalised", "reward_to_go", "exponential"])
    @given(rows=reward_lists, lengths=st.lists(st.integers(1, 5), min_size=4, max_size=4))
    def test_the_token_mean_is_the_trajectory_advantage(
        self, turns: str, rows: list[list[float]], lengths: list[int]
    ) -> None:
        plays = [
            episode(row, member=m, records=[record((1,), (3,) * n, start=True) for n in lengths[: len(row)]])
            for m, row in enumerate(rows)
        ]
        options = UserRLOptions(turns=turns)  # type: ignore[arg-type]
        plain = numbers(userrl(form(plays, SEAT), UserRLOptions()))
        for row, whole in zip(numbers(userrl(form(plays, SEAT), options)), plain, strict=True):
            used = lengths[: len(row)]
            mean = sum(a * n for a, n in zip(row, used, strict=True)) / sum(used)
            assert mean == pytest.approx(whole[0], abs=1e-9)


class TestRAE:
    def test_it_reads_before_it_updates(self) -> None:
        evidence = Evidence()
        credit = rae(group([1.0], [1.0], [0.0]), RAEOptions(decay=0.5), evidence)
        # b: 0, then ½·0 + ½·1 = ½, then ½·½ + ½·1 = ¾; updating first would give ½, ¼, −⅜
        assert numbers(credit) == ((1.0,), (0.5,), (-0.75,))
        assert evidence.baselines == {"assistant/toy/assistant": 0.375}

    def test_a_role_that_always_wins_earns_nothing_in_the_long_run(self) -> None:
        evidence = Evidence()
        turns = [flat(rae(group([1.0], [1.0]), RAEOptions(), evidence)) for _ in range(200)]
        assert turns[0][0] == 1.0
        assert abs(sum(turns[-1])) < 1e-6

    def test_roles_are_kept_apart_unless_pooled(self) -> None:
        both = {name: Seat(spec=AgentSpec.of_policy("assistant")) for name in (SEAT, "user")}
        play = episode([1.0], seats=both)
        play = play.model_copy(
            update={"rewards": (*play.rewards, play.rewards[0].model_copy(update={"seat": "user", "value": -1.0}))}
        )
        apart, pooled = Evidence(), Evidence()
        for _ in range(100):
            for seat in (SEAT, "user"):
                rae(form([play], seat), RAEOptions(), apart)
                rae(form([play], seat), RAEOptions(pooled=True), pooled)
        assert apart.baselines[f"assistant/toy/{SEAT}"] == pytest.approx(1.0, abs=0.01)
        assert apart.baselines["assistant/toy/user"] == pytest.approx(-1.0, abs=0.01)
        assert abs(pooled.baselines["assistant/toy/*"]) < 0.1

    def test_equal_outcomes_are_kept_and_the_filter_may_not_be_set(self) -> None:
        equal = group([1.0], [1.0])
        assert rejection(equal, FilterOptions(), compares=RAEOptions.compares) == ""
        data = {"name": "a", "scenario": {"name": "b"}, "credit": {"rule": "rae"}}
        assert parse(parse(data).model_dump(mode="json")) == parse(data)
        with pytest.raises(UsageError, match=r"filters\.zero_variance is not used by credit\.rule 'rae'"):
            parse({**data, "filters": {"zero_variance": 0.1}})


def two_agents() -> list[Group]:
    """One deal each of two policies; the second is paid a hundredfold."""
    rival = {SEAT: Seat(spec=AgentSpec.of_policy("rival")), "user": Seat(spec=AgentSpec(agent="toy"))}
    return [
        group([1.0], [0.0]),
        form(
            [episode([100.0 * r], member=m, seats=rival, records=[RIVAL]) for m, r in enumerate([1.0, 0.0])], SEAT
        ),
    ]


RIVAL = record((1, 2), (3, 4), start=True, policy="rival")


def test_scaling_by_agent_keeps_one_from_drowning_the_other() -> None:
    plain = assign(two_agents(), TrajectoryOptions(), random.Random(0))
    scaled = assign(two_agents(), TrajectoryOptions(scale="agent"), random.Random(0))
    assert [flat(c) for c in plain] == [[0.5, -0.5], [50.0, -50.0]]
    assert [flat(c) for c in scaled] == [pytest.approx([1, -1], abs=1e-5), pytest.approx([1, -1], abs=1e-5)]
    assert scaled[1][0][0].parts["unscaled"] == 50.0


def test_scaling_by_task_whitens_token_advantages_of_each_task() -> None:
    def play(reward: float, member: int, tokens: int) -> Episode:
        turn = record((1,), (3,) * tokens, start=True)
        return episode([reward], member=member, records=[turn], labels={"task": "refund" if member else "cancel"})

    one = form([play(1.0, 0, 1), play(0.0, 1, 1), play(2.0, 2, 3)], SEAT)
    credit = flat(assign([one], TrajectoryOptions(scale="task"), random.Random(0))[0])
    # cancel stands alone: its mean is its own. refund: −1 on one token, +1 on three: mean ½, deviation √¾
    assert credit[0] == 0.0
    assert credit[1:] == pytest.approx([-1.5 / math.sqrt(0.75), 0.5 / math.sqrt(0.75)], rel=1e-5)


class TestRewards:
    def test_parts_and_weights_worked(self) -> None:
        both = {name: Seat(spec=AgentSpec.of_policy("assistant")) for name in (SEAT, "user")}
        play = episode([1.0, 0.5], outcome=0.25, seats=both)
        play = play.model_copy(
            update={"rewards": (*play.rewards, play.rewards[1].model_copy(update={"seat": "user", "value": 4.0}))}
        )
        weights = RewardWeights(own=2.0, team=10.0, outcome=4.0)
        paid = weighted(play, SEAT, weights)
        # own 2, 1; team 10·1, 10·(0.5 + 4); outcome 4·0.25 at the last turn
        assert paid.turn_rewards(SEAT) == (12.0, 47.0)
        assert by_turn(play, SEAT, weights) == (
            {"own": 2.0, "team": 10.0},
            {"own": 1.0, "team": 45.0, "outcome": 1.0},
        )
        assert paid.returns("user") == play.returns("user") == 4.0
        assert weighted(play, SEAT, RewardWeights()) is play

    def test_outcome_alone_makes_a_sparse_reward(self) -> None:
        dense = group([0.5, 0.5], [0.25, 0.0])
        options = ReturnsOptions(rewards=RewardWeights(own=0.0, outcome=1.0))
        (credit,) = assign([dense], options, random.Random(0))
        assert numbers(credit) == ((0.375, 0.375), (-0.375, -0.375))
        assert [turn.rewards for turn in credit[0]] == [{}, {"outcome": 1.0}]

    def test_overlong_turns_are_punished_softly(self) -> None:
        """DAPO's numbers: free below limit − buffer, linear in the buffer, full at the limit and beyond."""
        over = Overlong(factor=1.0, limit=20480, buffer=4096)
        assert [over.taken(n) for n in (16384, 18432, 20480, 30000)] == [0.0, -0.5, -1.0, -1.0]
        play = episode([1.0], records=[record((1,), (3,) * 8, start=True)])
        paid = weighted(play, SEAT, RewardWeights(overlong=Overlong(factor=0.5, limit=10, buffer=4)))
        assert paid.returns(SEAT) == 1.0 - 0.25

    @pytest.mark.parametrize("half", [{"factor": 1.0}, {"limit": 4}])
    def test_half_a_punishment_is_refused(self, half: dict[str, float]) -> None:
        data = {"name": "a", "scenario": {"name": "b"}, "credit": {"rewards": {"overlong": half}}}
        with pytest.raises(UsageError, match="needs both `factor` and `limit`"):
            parse(data)

    def test_an_unknown_weight_names_the_nearest(self) -> None:
        with pytest.raises(UnknownName, match=r"'credit\.rewards\.tean': did you mean 'credit\.rewards\.team'"):
            parse({"name": "a", "scenario": {"name": "b"}, "credit": {"rewards": {"tean": 1}}})


class TestCritic:
    """One episode of three turns that earn 1, 0 and 2, two tokens a turn."""

    def values(self, *turns: tuple[float, ...]) -> Evidence:
        return Evidence(values={("step/0/0", SEAT): turns})

    def test_turnppo_worked(self) -> None:
        evidence = self.values((0.5, 9.0), (1.0, 9.0), (2.0, 9.0))
        options = TurnPPOOptions(gamma=0.5, trace=0.5)
        (turns,) = turnppo(group([1.0, 0.0, 2.0]), options, evidence)
        # δ: 1 + ½·1 − ½ = 1, 0 + ½·2 − 1 = 0, 2 − 2 = 0; A: 1, 0, 0. With λ-returns 1½, 1, 2.
        assert [turn.advantage for turn in turns] == [1.0, 0.0, 0.0]
        assert [turn.targets for turn in turns] == [(1.5,), (1.0,), (2.0,)]
        assert [turn.baseline for turn in turns] == [0.5, 1.0, 2.0]

    def test_with_lambda_one_it_is_the_return_minus_the_value(self) -> None:
        evidence = self.values((0.5,), (1.0,), (2.0,))
        (turns,) = turnppo(group([1.0, 0.0, 2.0]), TurnPPOOptions(gamma=1.0, trace=1.0), evidence)
        assert [turn.advantage for turn in turns] == pytest.approx([2.5, 1.0, 0.0])

    def test_bilevel_worked_with_a_middle_turn_that_earns_nothing(self) -> None:
        """Turns end where their records do. Found by rewards, turns 2 and 3 would be one."""
        evidence = self.values((0.25, 0.5), (0.0, 1.0), (1.5, 2.0))
        options = BilevelOptions(gamma=0.5, trace=1.0)
        (turns,) = bilevel(group([1.0, 0.0, 2.0]), options, evidence)
        # between turns, values ½, 1, 2: δ = 1 + ½ − ½ = 1, 0 + 1 − 1 = 0, 2 − 2 = 0
        assert [turn.advantage for turn in turns] == [1.0, 0.0, 0.0]
        # within: the last token has the turn's own, the one before what the value rose by on the way, too
        assert [turn.tokens for turn in turns] == [(1.25, 1.0), (1.0, 0.0), (0.5, 0.0)]
        assert [turn.targets for turn in turns] == [(1.5, 1.5), (1.0, 1.0), (2.0, 2.0)]

    def test_token_discounts_worked(self) -> None:
        evidence = self.values((1.0, 3.0, 2.0))
        options = BilevelOptions(token_gamma=0.5, token_trace=0.5)
        plays = form([episode([4.0], records=[record((1,), (3, 4, 5), start=True)])], SEAT)
        ((turn,),) = bilevel(plays, options, evidence)
        # 4 − 2 = 2; paid at the end 2 + 2: A3 = 2; δ2 = ½·2 − 3 = −2, A2 = −2 + ¼·2; δ1 = ½·3 − 1, A1 = ½ + ¼·A2
        assert turn.tokens == (0.5 - 1.5 / 4, -1.5, 2.0)

    def test_whitening_over_turns_does_not_see_their_length(self) -> None:
        def played(tokens: int) -> Group:
            lengths = [record((1,), (3,) * n, start=True) for n in (tokens, 1)]
            return form(
                [episode([1.0, 0.0], records=lengths), episode([0.0], member=1, records=lengths[1:])], SEAT
            )

        short, long = (
            flat(assign([played(n)], TrajectoryOptions(scale="turn"), random.Random(0))[0]) for n in (1, 50)
        )
        assert short == long
        assert short == pytest.approx([math.sqrt(0.5)] * 2 + [-math.sqrt(2)], rel=1e-5)


def test_raft_imitates_the_best_and_leaves_the_rest_out() -> None:
    credit = raft(group([1.0], [3.0], [3.0], [0.0]), RAFTOptions(), Evidence())
    assert numbers(credit) == ((0.0,), (1.0,), (1.0,), (0.0,))
    assert [turns[0].used for turns in credit] == [False, True, True, False]
    assert not any(turns[0].used for turns in raft(group([2.0], [2.0]), RAFTOptions(top=2), Evidence()))
    drawn = samples(group([1.0], [3.0]), raft(group([1.0], [3.0]), RAFTOptions(), Evidence()))
    assert [any(sample.mask) for sample in drawn] == [False, True]


def test_pairs_take_best_and_worst_and_name_both_sides() -> None:
    five = group([1.0], [5.0], [2.0], [0.0], [4.0])
    assert numbers(pairs(five, PairsOptions(), Evidence())) == ((0.0,), (1.0,), (0.0,), (-1.0,), (0.0,))
    two = pairs(five, PairsOptions(most=2), Evidence())
    assert numbers(two) == ((-1.0,), (1.0,), (0.0,), (-1.0,), (1.0,))
    names = [sample.pair for sample in samples(five, two)]
    assert names[1] == names[3] != names[0] == names[4] != ""
    assert names[2] == ""
    assert numbers(pairs(five, PairsOptions(most=2, margin=3.5), Evidence()))[4] == (0.0,)


@pytest.mark.parametrize(
    ("credit", "loss", "message"),
    [
        ({"rule": "pairs"}, {}, "gives pairs, which loss.kind 'grpo' does not compare: set loss.kind = \"dpo\""),
        ({}, {"kind": "dpo"}, "gives no pairs, which loss.kind 'dpo' needs: set credit.rule = \"pairs\""),
    ],
)
def test_pairs_and_preferences_go_together(credit: dict[str, str], loss: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse({"name": "a", "scenario": {"name": "b"}, "credit": credit, "loss": loss})
    assert message in str(caught.value)


def two_roles(pooled: bool, seed: int, rounds: int = 400, rate: float = 0.8) -> float:
    """The least probability of the right move in a role, after REINFORCE on a game in which one side has the edge.

    Each of two seats chooses one of four moves; the right one pays 0.2 more. Whatever is played, the first seat
    gets 1 on top and the second −1, as a first mover's edge does in a zero-sum game.
    """
    chance = random.Random(seed)
    edge, logits = {SEAT: 1.0, "user": -1.0}, {seat: [0.0] * 4 for seat in (SEAT, "user")}
    both = {name: Seat(spec=AgentSpec.of_policy("assistant")) for name in edge}
    evidence, options = Evidence(), RAEOptions(pooled=pooled)

    def shares(seat: str) -> list[float]:
        weights = [math.exp(value) for value in logits[seat]]
        return [weight / sum(weights) for weight in weights]

    for _ in range(rounds):
        for seat, bonus in edge.items():
            (move,) = chance.choices(range(4), shares(seat))
            play = episode([0.0], seats=both, outcome=0.0)
            paid = play.rewards[0].model_copy(update={"seat": seat, "value": bonus + 0.2 * (move == 2)})
            turn = play.turns[-1].model_copy(update={"seat": seat})
            play = play.model_copy(update={"rewards": (paid,), "turns": (turn,)})
            ((credit,),) = rae(form([play], seat), options, evidence)
            for other, share in enumerate(shares(seat)):
                logits[seat][other] += rate * credit.advantage * ((other == move) - share)
    return min(shares(seat)[2] for seat in logits)


def test_role_wise_baselines_learn_where_a_pooled_one_does_not() -> None:
    role_wise, pooled = ([two_roles(wise, seed) for seed in range(6)] for wise in (False, True))
    assert min(role_wise) > 0.9, role_wise
    assert sum(share < 0.1 for share in pooled) >= 2, pooled
