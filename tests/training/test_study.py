"""Studies: what is run, in which order, and the table that finished runs come to."""

import math
from pathlib import Path

import pytest

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.training import study
from simarena.training.credit import RULES

CREDIT = study.load("credit")


def test_the_credit_study_has_every_rule_on_two_tasks_and_one_start_for_all_seeds() -> None:
    runs = study.plan(CREDIT, 3)
    assert {recipe.credit.rule for _, _, recipe in runs} == RULES.keys()
    assert len(runs) == len(RULES) * 2 * 3
    assert [recipe.seed for _, _, recipe in runs] == sorted(recipe.seed for _, _, recipe in runs)
    sparse = [recipe for task, _, recipe in runs if task == "long-sparse"]
    assert {(r.credit.rewards.own, r.credit.rewards.outcome) for r in sparse} == {(0.0, 1.0)}
    assert {r.evaluation.split for _, _, r in runs} == {"validation"}


def finished(home: Path, task: str, arm: str, seed: int, successes: list[float], forks: float = 0.0) -> None:
    """A run of 10 steps of 32 episodes for each evaluation after the first."""
    recipe = CREDIT.recipe_of(task, arm, seed)
    folder = RunFolder.create(home / f"{task}-{arm}-seed{seed}")
    ends = {"before": {"success": successes[0]}, "after": {"success": successes[-1]}}
    folder.describe({"seed": seed, "recipe": recipe.model_dump(mode="json"), **ends})
    folder.metric({"step": 0, "eval/success": successes[0]})
    for number, success in enumerate(successes[1:], 1):
        row = {"step": 10 * number, "ledger/dispatched": 320.0 * number, "time/step": 2.0}
        folder.metric(row | ({"forks/played": forks} if forks else {}))
        folder.metric({"step": 10 * number, "eval/success": success})
    folder.close()


def test_cells_count_the_conversations_to_near_the_best_of_their_task(tmp_path: Path) -> None:
    finished(tmp_path, "desk", "returns", 0, [0.2, 0.7, 0.8])
    finished(tmp_path, "desk", "returns", 1, [0.2, 0.5, 0.8])
    finished(tmp_path, "desk", "vine", 0, [0.2, 0.75, 0.6], forks=1000)
    finished(tmp_path, "long-sparse", "vine", 0, [0.1, 0.1, 0.2])
    returns, vine, sparse = study.cells(study.plan(CREDIT, 2), tmp_path)
    assert (returns.task, returns.arm, returns.target) == ("desk", "returns", pytest.approx(0.72))
    assert returns.episodes == (640.0, 640.0, 640.0)
    assert returns.success == (0.8, 0.8, 0.8)
    assert returns.seconds == (4.0, 4.0, 4.0)
    assert vine.episodes == (1320.0, 1320.0, 1320.0)  # continuations are conversations too
    assert sparse.target == pytest.approx(0.18)
    assert sparse.episodes[0] == 640.0
    assert math.isinf(vine.courses[0].episodes_to(0.8))


async def test_a_run_that_is_there_is_not_played_again(tmp_path: Path) -> None:
    finished(tmp_path, "desk", "rae", 0, [0.2, 0.7])
    runs = [run for run in study.plan(CREDIT, 1, ["rae"]) if run[0] == "desk"]
    told: list[object] = []
    await study.play(runs, tmp_path, told.append)
    assert "is there already" in str(told[0])


def test_arms_and_studies_are_named_with_their_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'gigpo'"):
        study.plan(CREDIT, 1, ["gigop"])
    with pytest.raises(UnknownName, match="unknown study 'credits': did you mean 'credit'"):
        study.load("credits")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('recipe = "service-desk-tiny"\ntasks = { a = [] }\narms = { b = [] }\n')
    with pytest.raises(UsageError, match="'arms'"):
        study.load(str(wrong))
    wrong.write_text(
        'recipe = "service-desk-tiny"\ntasks = { a = [] }\narms = { b = [], c = ["credit.rulle=rae"] }\n'
    )
    with pytest.raises(UnknownName, match=r"did you mean 'credit\.rule'"):
        study.plan(study.load(str(wrong)), 1)


def test_the_studies_of_several_learners_differ_only_in_what_they_are_about() -> None:
    arms = {arm: recipe for _, arm, recipe in study.plan(study.load("duo"), 1)}
    assert {arm: tuple(sorted(recipe.roster)) for arm, recipe in arms.items()} == {
        "both": ("runner", "scout"),
        "scout-only": ("scout",),
        "runner-only": ("runner",),
    }
    games = {arm: recipe for _, arm, recipe in study.plan(study.load("selfplay"), 1)}
    assert games["pooled"].credit.model_copy(update={"pooled": False}) == games["role-wise"].credit
    assert games["momentum"].model_copy(update={"optimiser": games["regularised"].optimiser}) == games[
        "regularised"
    ].model_copy(update={"name": "kuhn-momentum"})


def test_a_game_is_told_by_its_exploitability(tmp_path: Path) -> None:
    games = study.load("selfplay")
    for seed, left in enumerate((0.03, 0.05)):
        folder = RunFolder.create(tmp_path / f"kuhn-regularised-seed{seed}")
        after = {"success": 1.0, "exploitability": left}
        folder.describe({"seed": seed, "after": after})
        folder.close()
    (cell,) = study.cells(study.plan(games, 2, ["regularised"]), tmp_path)
    assert cell.exploitability == (pytest.approx(0.04), 0.03, 0.05)
