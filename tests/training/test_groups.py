"""Groups are formed only of episodes that can be compared, and filters look at raw outcomes."""

import pytest
from rollouts import SEAT, credited, episode, numbers

from simarena.arena.episodes import Seat
from simarena.arena.errors import RecordError
from simarena.arena.ledger import Ledger
from simarena.arena.specs import AgentSpec
from simarena.training.filters import FilterOptions, fates, ranked, rejection, repaired
from simarena.training.groups import Group, GroupKey, form


def seats(policy: str = "assistant", user: str = "toy") -> dict[str, Seat]:
    return {SEAT: Seat(spec=AgentSpec.of_policy(policy)), "user": Seat(spec=AgentSpec(agent=user))}


def test_arrival_order_does_not_matter() -> None:
    plays = [episode([float(m)], member=m) for m in range(4)]
    group = form(reversed(plays), SEAT)
    assert group.members == tuple(plays)
    assert group.key == GroupKey("toy", 0, SEAT, "assistant")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (episode([1.0], member=1, deal=1), "mixes"),
        (episode([1.0], member=1, seats=seats(policy="rival")), "mixes"),
        (episode([1.0], member=1, seats=seats(user="adversary")), "other seats"),
        (episode([1.0], member=1, options={"hard": True}), "options"),
        (episode([1.0], member=0, id="again"), "is twice"),
        (
            episode([1.0], member=1, seats={**seats(), SEAT: Seat(spec=AgentSpec(agent="toy"))}),
            "not played by a policy",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(other: object, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        form([episode([1.0], seats=seats()), other], SEAT)  # type: ignore[list-item]


def test_unknown_seat_and_empty_group_are_refused() -> None:
    with pytest.raises(RecordError, match="no seat 'dealer'"):
        form([episode([1.0])], "dealer")
    with pytest.raises(RecordError, match="at least one"):
        form([], SEAT)


@pytest.mark.parametrize(("finished", "kept"), [(8, True), (6, True), (5, False), (0, False)])
def test_a_group_needs_three_quarters_of_its_members(finished: int, kept: bool) -> None:
    plays = [episode([float(m)], member=m) for m in range(finished)]
    plays += [episode(member=m, ending="simulator_fault") for m in range(finished, 8)]
    group = form(plays, SEAT)
    assert group.size == 8
    assert rejection(group, FilterOptions()) == ("" if kept else "min_group")


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_equal_outcomes_carry_no_signal_even_with_float_noise(noise: float) -> None:
    group = form([episode([0.0], member=m, outcome=0.5 + noise * m) for m in range(4)], SEAT)
    assert rejection(group, FilterOptions()) == "zero_variance"


def test_the_filter_sees_raw_outcomes_not_shaped_rewards() -> None:
    all_fail = form([episode([-0.1 * m], member=m, outcome=0.0) for m in range(4)], SEAT)
    assert rejection(all_fail, FilterOptions()) == "zero_variance"
    differ = form([episode([0.0], member=m, outcome=float(m == 0)) for m in range(4)], SEAT)
    assert rejection(differ, FilterOptions()) == ""


def test_an_outcome_must_name_the_learning_seat() -> None:
    bare = episode([1.0]).model_copy(update={"outcome": {}})
    with pytest.raises(RecordError, match="without an outcome"):
        rejection(form([bare], SEAT), FilterOptions())


def test_fates_settle_every_episode_once() -> None:
    plays = [episode([float(m)], member=m) for m in range(6)]
    plays += [episode(member=6, ending="length_cap"), episode(member=7, ending="environment_fault")]
    ledger = Ledger()
    for play in plays:
        ledger.dispatch(play.id)
    group = form(plays, SEAT)
    for name, (fate, reason) in fates(group, rejection(group, FilterOptions())).items():
        ledger.settle(name, fate, reason)
    counts = ledger.counts()
    assert (counts["trained"], counts["truncated"], counts["discarded"], counts["open"]) == (6, 1, 1, 0)
    assert counts["truncated(length_cap)"] == counts["discarded(environment_fault)"] == 1
    assert set(fates(group, "zero_variance").values()) >= {("filtered", "zero_variance")}


def spread(*pairs: tuple[float, float]) -> list[Group]:
    """Groups of two members with these returns."""
    return [
        form([episode([value], member=m, deal=deal) for m, value in enumerate(pair)], SEAT)
        for deal, pair in enumerate(pairs)
    ]


def test_snr_filter_keeps_most_of_the_variance() -> None:
    """Variances 4, 1, 0, ¼: of 5¼ in all, 4 is 76 %, 5 is 95 %."""
    groups = spread((0.0, 4.0), (1.0, 3.0), (2.0, 2.0), (1.0, 2.0))
    assert ranked(groups, FilterOptions(snr=0.7)) == ["", "snr", "snr", "snr"]
    assert ranked(groups, FilterOptions(snr=0.9)) == ["", "", "snr", "snr"]
    assert ranked(groups, FilterOptions(snr=0.99)) == ["", "", "snr", ""]
    assert ranked(groups, FilterOptions()) == [""] * 4


def test_uncertainty_filter_keeps_a_share_of_the_groups() -> None:
    groups = spread((0.0, 4.0), (1.0, 3.0), (2.0, 2.0), (1.0, 2.0))
    assert ranked(groups, FilterOptions(uncertain=0.25)) == ["", "uncertain", "uncertain", "uncertain"]
    assert ranked(groups, FilterOptions(uncertain=0.5)) == ["", "", "uncertain", "uncertain"]
    assert ranked(groups[::-1], FilterOptions(uncertain=0.5)) == ["uncertain", "uncertain", "", ""]


def test_seats_are_ranked_among_themselves() -> None:
    """The rival's rewards are larger, which is no reason to drop the assistant's groups."""
    rival = {SEAT: Seat(spec=AgentSpec.of_policy("rival")), "user": Seat(spec=AgentSpec(agent="toy"))}
    big = form([episode([100.0 * m], member=m, seats=rival) for m in range(2)], SEAT)
    (small,) = spread((0.0, 1.0))
    assert ranked([big, small], FilterOptions(snr=0.5)) == ["", ""]


def test_group_repair_keeps_what_more_than_half_survived_and_weighs_it_up() -> None:
    def broken(finished: int) -> Group:
        plays = [episode([float(m)], member=m) for m in range(finished)]
        return form([*plays, *[episode(member=m, ending="agent_fault") for m in range(finished, 4)]], SEAT)

    assert rejection(broken(2), FilterOptions(repair=True)) == "min_group"
    assert rejection(broken(3), FilterOptions(repair=True)) == ""
    assert rejection(broken(2), FilterOptions(min_group=0.5)) == ""
    credit = credited([-1.0], [0.0], [1.0])
    heavier = repaired(broken(3), credit)
    assert numbers(heavier) == ((-4 / 3,), (0.0,), (4 / 3,))
    assert heavier[0][0].parts["repair"] == 4 / 3
    assert repaired(broken(4), credit) is credit


def test_truncated_episodes_can_count_as_failed() -> None:
    plays = [episode([1.0], member=0), episode([0.5], member=1, ending="turn_cap")]
    masked, failed = form(plays, SEAT), form(plays, SEAT, fail_truncated=True)
    assert (len(masked.members), len(masked.truncated)) == (1, 1)
    assert (len(failed.members), len(failed.truncated)) == (2, 0)
    assert failed.members[1].outcome[SEAT] == 0.0
    assert not failed.members[1].success
    assert failed.members[1].returns(SEAT) == 0.5
    assert rejection(failed, FilterOptions()) == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repair": True, "min_group": 0.5}, "min_group is not used when filters.repair"),
        ({"snr": 0.9, "uncertain": 0.5}, "both rank groups"),
    ],
)
def test_filters_that_exclude_each_other(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FilterOptions(**options)  # type: ignore[arg-type]
