"""Sweeps: what is read off finished runs."""

import math
from pathlib import Path

import pytest

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.training.sweep import Arm, Curve, recipes, run_arm, steps_to


def test_the_first_step_at_the_target_counts() -> None:
    rows = [{"step": 0, "eval/success": 0.2}, {"step": 5, "reward/mean": 9.0}, {"step": 10, "eval/success": 0.7}]
    assert steps_to([*rows, {"step": 20, "eval/success": 0.9}], 0.7) == 10
    assert steps_to(rows, 0.71) is None


def test_an_arm_shows_its_spread_and_what_it_never_reached() -> None:
    def curve(seed: int, after: float, steps: int | None) -> Curve:
        return Curve(seed=seed, before=0.2, after=after, steps_to_target=steps, seconds=1.0)

    arm = Arm(value="returns", curves=(curve(0, 0.8, 40), curve(1, 0.9, 60)))
    assert arm.after == pytest.approx((0.85, 0.8, 0.9))
    assert arm.steps == (50, 40, 60)
    assert math.isinf(Arm(value="x", curves=(curve(0, 0.5, None),)).steps[0])


def test_arms_differ_in_one_key_and_their_seeds() -> None:
    (returns, trajectory) = recipes("service-desk-tiny", [], "credit.rule", ["returns", "trajectory"], 2)
    assert [recipe.seed for recipe in returns] == [0, 1]
    assert {recipe.credit.rule for recipe in trajectory} == {"trajectory"}
    same = {"credit": returns[0].credit}
    assert trajectory[0].model_copy(update=same) == returns[0]
    with pytest.raises(UnknownName):
        recipes("service-desk-tiny", [], "credits.rule", ["returns"], 1)


async def test_a_finished_run_counts_only_for_its_own_recipe(tmp_path: Path) -> None:
    ((recipe,),) = recipes("service-desk-tiny", [], "credit.rule", ["returns"], 1)
    folder = RunFolder.create(tmp_path / "returns-seed0")
    ends = {"before": {"success": 0.2}, "after": {"success": 0.8}, "seconds": 9.0}
    folder.describe({"seed": 0, "recipe": recipe.model_dump(mode="json"), **ends})
    folder.metric({"step": 20, "eval/success": 0.8})
    folder.close()
    arm = await run_arm([recipe], "returns", tmp_path, 0.7, lambda _: None)
    assert arm.curves == (Curve(seed=0, before=0.2, after=0.8, steps_to_target=20, seconds=9.0),)
    shorter = recipe.model_copy(update={"steps": 40})
    with pytest.raises(UsageError, match="returns-seed0 holds a run with other settings"):
        await run_arm([shorter], "returns", tmp_path, 0.7, lambda _: None)
