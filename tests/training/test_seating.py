"""Seating: what a seat may be written as, and what each learner of a recipe comes to."""

import pytest

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.specs import AgentSpec
from simarena.training.config import Recipe
from simarena.training.credit.gigpo import GiGPOOptions
from simarena.training.evaluation import engines_of, seats_of
from simarena.training.plan import plan
from simarena.training.recipe_file import parse
from simarena.training.seating import chair, named


@pytest.mark.parametrize(
    ("written", "kind", "name"),
    [
        ("learner", "learner", "learner"),
        ("learner:scout", "learner", "scout"),
        ("frozen", "frozen", "learner"),
        ("frozen:scout", "frozen", "scout"),
        ("remote:mine", "remote", "mine"),
        ("echo", "agent", "echo"),
        ("my.package:Agent", "agent", "my.package:Agent"),
    ],
)
def test_a_seat_is_a_learner_a_frozen_policy_a_remote_or_an_agent(written: str, kind: str, name: str) -> None:
    assert chair(written) == (kind, name)


def recipe(**more: object) -> Recipe:
    return parse({"name": "pair", "scenario": {"name": "relay"}, **more})


PAIR = {"scout": "learner:scout", "runner": "learner:runner"}


def test_a_learner_has_what_the_recipe_says_but_for_its_own() -> None:
    two = recipe(
        seats=PAIR,
        loss={"entropy": 0.1, "clip_low": 0.1},
        credit={"gamma": 0.9},
        learners={
            "scout": {"loss": {"entropy": 0.3}, "optimiser": {"lr": 0.5}},
            "runner": {"credit": {"rule": "gigpo", "state_weight": 2.0}},
        },
    )
    scout, runner = two.learner("scout"), two.learner("runner")
    assert (scout.loss.entropy, scout.loss.clip_low, scout.optimiser.lr) == (0.3, 0.1, 0.5)  # type: ignore[attr-defined]
    assert scout.credit == two.credit
    assert runner.credit == GiGPOOptions(state_weight=2.0)  # another rule: gamma is not inherited
    assert (runner.loss, runner.optimiser) == (two.loss, two.optimiser)
    assert list(two.roster) == ["runner", "scout"]
    assert parse(two.model_dump(mode="json")) == two


def test_a_learner_without_a_table_is_as_the_recipe_says() -> None:
    two = recipe(seats=PAIR, optimiser={"lr": 0.5})
    assert two.learner("scout").optimiser.lr == 0.5
    assert two.learning == {"runner": "runner", "scout": "scout"}


def test_one_learner_may_have_both_seats() -> None:
    both = recipe(seats={"scout": "learner", "runner": "learner"})
    assert list(both.roster) == ["learner"]
    told = AgentSpec.of_policy("learner", tools="none", temperature=0.5)
    assert seats_of(both, 0.5) == dict.fromkeys(("scout", "runner"), told)


def test_frozen_seats_have_an_engine_of_their_own(tmp_path: object) -> None:
    half = recipe(seats={"scout": "learner:scout", "runner": "frozen:runner"})
    engines = engines_of(half, dict.fromkeys(("scout", "runner"), tmp_path))  # type: ignore[arg-type]
    assert sorted(engines) == ["runner.start", "scout"]
    assert {seat: spec.policy for seat, spec in seats_of(half, 1.0).items()} == {  # type: ignore[union-attr]
        "scout": "scout",
        "runner": "runner.start",
    }
    assert seats_of(recipe(seats={"scout": "learner", "runner": "remote:me"}), 1.0)[
        "runner"
    ] == AgentSpec.of_remote("me")


def test_alone_is_the_recipe_of_one_learner() -> None:
    two = recipe(seats=PAIR, learners={"scout": {"optimiser": {"lr": 0.5}}})
    alone = two.alone("scout")
    assert (alone.learning, alone.optimiser.lr, list(alone.roster)) == ({"scout": "learner"}, 0.5, ["learner"])


def test_the_plan_names_each_learner() -> None:
    text = plan(recipe(seats=PAIR, learners={"scout": {"loss": {"entropy": 0.3}}}))
    assert "scout as scout: tiny" in text
    assert "runner as runner: tiny" in text
    assert text.count("entropy=0.3") == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"seats": PAIR, "learners": {"scuot": {}}}, "learners.scuot plays no seat"),
        ({"seats": {"scout": "frozen"}}, "nobody learns"),
        ({"seats": PAIR, "learners": {"scout": {"credit": {"state_weight": 1}}}}, "only by gigpo"),
        ({"seats": PAIR, "policy": {"reference_every": 5}}, "without a KL term"),
        ({"seats": PAIR, "policy": {"reference_every": 5, "train": "lora"}, "loss": {"kl_beta": 1}}, "'full'"),
    ],
)
def test_mistakes_are_one_clear_line(more: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        recipe(**more)


def test_unknown_keys_of_a_learner_say_the_nearest() -> None:
    with pytest.raises(
        UnknownName, match=r"'learners.scout.optimiser.lrr': did you mean 'learners.scout.optimiser.lr'"
    ):
        recipe(seats=PAIR, learners={"scout": {"optimiser": {"lrr": 1}}})
    with pytest.raises(UnknownName, match=r"'learners.scout.steps'"):
        recipe(seats=PAIR, learners={"scout": {"steps": 1}})


def test_metrics_of_several_carry_their_names() -> None:
    assert named({"learner": {"loss/nll": 1.0}}) == {"loss/nll": 1.0}
    assert named({"a": {"loss/nll": 1.0}, "b": {"loss/nll": 2.0}}) == {"a/loss/nll": 1.0, "b/loss/nll": 2.0}
