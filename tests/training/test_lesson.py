"""A lesson: what is played again, where every episode goes, and that it is the same after a kill."""

import pytest
from rollouts import SEAT, episode

from simarena.arena.episodes import Episode, Seat
from simarena.arena.ledger import Ledger
from simarena.arena.specs import AgentSpec
from simarena.training.config import Recipe, ScenarioChoice
from simarena.training.filters import FilterOptions
from simarena.training.lesson import Lesson
from simarena.training.rollout import RolloutOptions

RECIPE = Recipe(
    name="toy",
    scenario=ScenarioChoice(name="toy:Toy"),
    rollout=RolloutOptions(deals=3, group=4),
    seats={SEAT: "learner:assistant"},
)


def played(lesson: Lesson, deals: list[int], results: list[list[float | str]]) -> list[Episode]:
    """One row of results for each deal: a reward, or how the episode ended without one."""
    return [
        episode(
            [0.0 if isinstance(result, str) else result],
            id=f"{lesson.prefix}/{deal}/{member}",
            deal=deal,
            member=member,
            ending=result if isinstance(result, str) else "finished",
        )
        for deal, row in zip(deals, results, strict=True)
        for member, result in enumerate(row)
    ]


MIXED: list[float | str] = [1.0, 0.0, 0.0, 1.0]
EQUAL: list[float | str] = [1.0, 1.0, 1.0, 1.0]
BROKEN: list[float | str] = [1.0, "turn_cap", "agent_fault", 0.0]


def test_dropped_groups_are_replaced_once_and_every_episode_has_one_fate() -> None:
    ledger = Ledger()
    lesson = Lesson(RECIPE, 5, ledger)
    first = lesson.wanted()
    assert len(set(first)) == 3
    lesson.take(played(lesson, first, [MIXED, EQUAL, BROKEN]))
    second = lesson.wanted()
    assert len(second) == 2
    assert not set(second) & set(first)
    lesson.take(played(lesson, second, [EQUAL, MIXED]))
    assert lesson.wanted() == []
    learned = lesson.samples()["assistant"]
    assert {sample.key.rpartition("/")[0] for sample in learned} == {
        f"train-5/{deal}/{member}/{SEAT}" for deal in (first[0], second[1]) for member in range(4)
    }
    counts = ledger.counts()
    assert (counts["dispatched"], counts["open"], counts["trained"]) == (20, 0, 8)
    assert (counts["filtered(zero_variance)"], counts["filtered(min_group)"]) == (8, 2)
    assert (counts["truncated(turn_cap)"], counts["discarded(agent_fault)"]) == (1, 1)
    assert (lesson.metrics()["groups/kept"], lesson.metrics()["groups/played"]) == (2.0, 5.0)


@pytest.mark.parametrize(("refill", "rounds"), [(0, 1), (2, 3)])
def test_refill_is_the_number_of_extra_rounds(refill: int, rounds: int) -> None:
    recipe = RECIPE.model_copy(update={"filters": FilterOptions(refill=refill)})
    lesson = Lesson(recipe, 0, Ledger())
    asked = 0
    while deals := lesson.wanted():
        lesson.take(played(lesson, deals, [EQUAL] * len(deals)))
        asked += 1
    assert asked == rounds
    assert lesson.samples() == {"assistant": []}


def test_a_lesson_repeated_after_a_kill_is_the_same_and_the_next_is_another() -> None:
    one, again, other = Lesson(RECIPE, 7, Ledger()), Lesson(RECIPE, 7, Ledger()), Lesson(RECIPE, 8, Ledger())
    deals = one.wanted()
    assert again.wanted() == deals
    assert not set(other.wanted()) & set(deals)
    one.take(played(one, deals, [MIXED] * 3))
    again.take(played(again, deals, [MIXED] * 3)[::-1])
    assert again.samples() == one.samples()


def test_an_episode_of_two_learners_is_trained_if_either_learns_from_it() -> None:
    recipe = RECIPE.model_copy(
        update={
            "seats": {SEAT: "learner:assistant", "user": "learner:assistant"},
            "rollout": RolloutOptions(deals=1, group=2),
        }
    )
    ledger = Ledger()
    lesson = Lesson(recipe, 0, ledger)
    (deal,) = lesson.wanted()
    both = {seat: Seat(spec=AgentSpec.of_policy("assistant")) for seat in (SEAT, "user")}
    episodes = [one.model_copy(update={"seats": both}) for one in played(lesson, [deal], [[1.0, 0.0]])]
    # The user's outcome is always the same: its group is dropped, the assistant's is kept.
    lesson.take([one.model_copy(update={"outcome": {**one.outcome, "user": 0.5}}) for one in episodes])
    lesson.samples()
    assert ledger.counts()["trained"] == 2
