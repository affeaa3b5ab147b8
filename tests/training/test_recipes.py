"""Recipes: shipped ones load, overrides are typed, and every mistake is one clear line with the nearest key."""

import subprocess
import sys
from pathlib import Path

import pytest

from simarena.arena.errors import UnknownName, UsageError
from simarena.training.config import Recipe
from simarena.training.credit.gigpo import GiGPOOptions
from simarena.training.credit.returns import ReturnsOptions
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.plan import plan
from simarena.training.recipe_file import load, names, parse

TINY = "service-desk-tiny"


def test_shipped_recipes_load_and_have_a_plan() -> None:
    keepers = ("secret-hardened", "secret-keeper", "secret-raider", "secret-tiny")
    assert names() == ("kuhn-selfplay", "relay-duo", *keepers, "service-desk-smollm2", TINY)
    for name in names():
        recipe = load(name)
        text = plan(recipe)
        assert recipe.name == name
        learner = next(iter(recipe.roster.values()))
        for word in (
            *recipe.learning,
            learner.policy.model,
            recipe.credit.rule,
            "grpo",
            "episodes",
            "deal × seat",
        ):
            assert word in text


def test_defaults_are_the_vetted_settings() -> None:
    recipe = parse({"name": "bare", "scenario": {"name": "service-desk"}})
    assert recipe.loss == GRPOOptions(clip_low=0.2, clip_high=0.28, kl_beta=0.0, aggregation="token-mean")
    assert (recipe.rollout.group, recipe.rollout.temperature, recipe.evaluation.temperature) == (8, 1.0, 1.0)
    assert (recipe.credit.normalise, recipe.credit.shuffle) == ("centre", False)
    assert (recipe.filters.zero_variance, recipe.filters.min_group) == (1e-6, 0.75)
    assert recipe.learning == {"assistant": "learner"}


def test_overrides_are_typed_like_toml() -> None:
    recipe = load(
        TINY,
        [
            "steps=3",
            "credit.shuffle=true",
            "optimiser.betas=[0.8, 0.95]",
            "policy.model=smollm2",
            'bus="memory://"',
            "scenario.options.hard=true",
            "rollout.limits.turn_tokens=9",
            "seats.user=my.package:User",
        ],
    )
    assert (recipe.steps, recipe.credit.shuffle, recipe.optimiser.betas) == (3, True, (0.8, 0.95))
    assert (recipe.policy.model, recipe.bus, recipe.scenario.options) == ("smollm2", "memory://", {"hard": True})
    assert recipe.rollout.limits.turn_tokens == 9
    assert recipe.seats == {"assistant": "learner", "user": "my.package:User"}


def test_the_credit_rule_picks_its_options() -> None:
    assert load(TINY, ["credit.rule=gigpo", "credit.state_weight=0.5"]).credit == GiGPOOptions(state_weight=0.5)
    assert parse({"name": "a", "scenario": {"name": "b"}, "credit": {"gamma": 0.9}}).credit == ReturnsOptions(
        gamma=0.9
    )


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rollout.groupp=3", "unknown recipe key 'rollout.groupp': did you mean 'rollout.group'?"),
        ("stepz=1", "unknown recipe key 'stepz': did you mean 'steps'?"),
        ("rollout.limits.turnz=1", "did you mean 'rollout.limits.turns'?"),
        ("policy.cloning.stepps=1", "did you mean 'policy.cloning.steps'?"),
        ("credit.rule=retuns", "unknown credit.rule 'retuns': did you mean 'returns'?"),
        ("credit.gama=1", "unknown recipe key 'credit.gama': did you mean 'credit.gamma'?"),
        ("loss.clip_hi=1", "did you mean 'loss.clip_high'?"),
        ("loss.kind=pppo", "unknown loss.kind 'pppo': did you mean 'ppo'?"),
        ("trackers=['tensorbord']", "unknown tracker 'tensorbord': did you mean 'tensorboard'?"),
    ],
)
def test_unknown_names_say_the_nearest(override: str, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        load(TINY, [override])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("credit.state_weight=1", "'credit.state_weight' is not used by credit.rule 'returns', only by gigpo"),
        ("policy.lora.rank=3", "policy.lora is not used when policy.train is 'full'"),
        ("rollout.temperature=0", "'rollout.temperature' = 0: Input should be greater than 0"),
        ("loss.clip_low=high", "'loss.clip_low' = 'high': Input should be a valid number"),
        ("rollout.group=0", "'rollout.group' = 0: Input should be greater than 0"),
        ("policy.engine=magic", "'policy.engine' = 'magic': unknown engine 'magic': known: openai, transformers"),
        ("seats.assistant=clerk", "nobody learns"),
        ("steps", "'steps' is not of the form key=value"),
        ("steps.more=1", "'steps' is a value, not a table"),
        ("scenario=3", "recipe key 'scenario' = 3"),
    ],
)
def test_mistakes_are_one_clear_line(override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(TINY, [override])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_recipes_and_files(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'service-desk-tiny'"):
        load("service-desk-tinny")
    with pytest.raises(UsageError, match="no recipe file"):
        load(str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("steps = = 3")
    with pytest.raises(UsageError, match="cannot read recipe"):
        load(str(broken))
    broken.write_text("steps = 3")
    with pytest.raises(UsageError, match="recipe key 'scenario' is missing"):
        load(str(broken))


def test_a_file_is_named_after_itself_and_round_trips(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[scenario]\nname = "x"\n[policy]\ntrain = "lora"\nlora = { rank = 4 }')
    recipe = load(str(file), ["credit.rule=gigpo"])
    assert (recipe.name, recipe.policy.lora.rank) == ("mine", 4)
    again = parse(recipe.model_dump(mode="json"))
    assert again == recipe
    assert isinstance(again.credit, GiGPOOptions)


def test_a_full_recipe_round_trips_through_run_json() -> None:
    recipe = load(TINY)
    assert parse(recipe.model_dump(mode="json")) == recipe
    assert Recipe.model_validate_json(recipe.model_dump_json()) == recipe


def test_recipes_load_no_torch() -> None:
    code = (
        "import sys; from simarena.training.recipe_file import load; from simarena.training.plan import plan; "
        f"plan(load({TINY!r})); from simarena.training import events, report, trackers, monitors; "
        "print(*[m for m in ('torch', 'transformers', 'peft', 'ray') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("bus", ["redis://:hush@host:1/0", "unix:///x.sock?password=hush", "redis://:a?hush@host"])
def test_a_password_is_neither_kept_nor_shown(bus: str) -> None:
    with pytest.raises(UsageError, match="set SIMARENA_REDIS_URL") as refused:
        load("service-desk-tiny", [f"bus={bus}"])
    assert "hush" not in str(refused.value)
    assert load("service-desk-tiny", ["bus=redis://host:1/0"]).bus == "redis://host:1/0"


def test_the_shape_is_of_the_built_in_net_alone() -> None:
    assert load(TINY, ["policy.shape.hidden=32"]).policy.shape.hidden == 32
    with pytest.raises(UsageError, match=r"policy.shape is used by policy.model 'tiny' only, not by 'smollm2'"):
        load(TINY, ["policy.shape.hidden=32", "policy.model=smollm2"])
    with pytest.raises(UsageError, match="must be a multiple of twice heads = 4"):
        load(TINY, ["policy.shape.hidden=36"])
