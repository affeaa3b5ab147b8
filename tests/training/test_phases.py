"""Phases of one run, and rules with a state of their own: all goes on after a stop as if there had been none."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.training import recipe_file
from simarena.training.plan import plan
from simarena.training.recipe_file import parse
from simarena.training.run import TrainReport, train

SUPPORT = Path(__file__).parent.parent / "support"
HYBRID: dict[str, Any] = {
    "name": "hybrid",
    "scenario": {"name": "b"},
    "steps": 10,
    "phases": [
        {"steps": 2, "credit": {"rule": "raft"}, "loss": {"kind": "reinforce"}},
        {"steps": 3, "credit": {"rule": "pairs"}, "loss": {"kind": "dpo", "beta": 0.5}},
    ],
}


def test_phases_come_first_and_the_recipes_own_credit_and_loss_hold_afterwards() -> None:
    recipe = parse(HYBRID)
    assert [recipe.credit_at(step).rule for step in range(7)] == [
        *["raft"] * 2,
        *["pairs"] * 3,
        *["returns"] * 2,
    ]
    assert [recipe.loss_at(step).kind for step in (0, 2, 5)] == ["reinforce", "dpo", "grpo"]
    assert parse(recipe.model_dump(mode="json")) == recipe
    assert "2 steps of raft with reinforce, 3 steps of pairs with dpo" in plan(recipe)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 4}, "phases take 5 steps, but steps is 4"),
        ({"phases": [{"steps": 1, "loss": {"kind": "dpo"}}]}, 'set credit.rule = "pairs"'),
        (
            {"phases": [{"steps": 1, "credit": {"rule": "rafd"}}]},
            "unknown credit.rule 'rafd': did you mean 'raft'",
        ),
        ({"phases": [{"steps": 1, "credit": {"rule": "raft", "tops": 2}}]}, "did you mean 'credit.top'"),
        ({"phases": [{"steps": 0}]}, "'steps' = 0"),
        (
            {"phases": [{"steps": 1, "credit": {"rule": "pairs", "scale": "turn"}, "loss": {"kind": "dpo"}}]},
            "credit.scale is not used",
        ),
        (
            {
                "phases": [{"steps": 1, "credit": {"rule": "bilevel"}}],
                "credit": {"rule": "turnppo", "critic": {"lr": 1}},
            },
            "a run has one critic",
        ),
    ],
)
def test_mistakes_in_phases_are_one_clear_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, UnknownName)) as caught:
        parse(HYBRID | change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_turn_caps_are_a_staircase_under_the_limit() -> None:
    rollout = parse(
        {"name": "a", "scenario": {"name": "b"}, "rollout": {"turn_caps": {"caps": [8, 12, 90], "every": 10}}}
    ).rollout
    assert [rollout.limits_at(step).turns for step in (0, 9, 10, 19, 20, 500)] == [8, 8, 12, 12, 60, 60]
    assert rollout.limits_at(3).turn_tokens == rollout.limits.turn_tokens
    for caps in ({"caps": [8]}, {"every": 3}, {"caps": [8, 4], "every": 3}):
        with pytest.raises(UsageError, match=r"rollout\.turn_caps"):
            parse({"name": "a", "scenario": {"name": "b"}, "rollout": {"turn_caps": caps}})


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMARENA_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def run(
    path: Path, recipe: str, *settings: str, steps: int, resume: bool = False
) -> tuple[TrainReport, RunFolder]:
    folder = RunFolder.resume(path) if resume else RunFolder.create(path)
    chosen = recipe_file.load(recipe, [*settings, f"steps={steps}", "evaluation.every=0"])
    report = asyncio.run(train(chosen, folder, resume=resume, emit=lambda event: None, stop=asyncio.Event()))
    folder.close()
    return report, folder


def books(folder: RunFolder) -> dict[str, Any]:
    """All that a step leaves behind: weights, optimiser, critic, counters, metrics but for times."""
    last = folder.checkpoints()[max(folder.checkpoints())]
    files = {str(path.relative_to(last)): path.read_bytes() for path in last.rglob("*.safetensors")}
    rows = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in folder.metrics()]
    return {"files": files, "rows": [r for r in rows if "reward/mean" in r], "state": json.loads(state(last))}


def state(checkpoint: Path) -> str:
    """The run's own books, without the evaluations, which came at other steps."""
    found = json.loads((checkpoint / "trainer" / "state.json").read_text())
    for block in ("before", "after"):
        found.get("extra", {}).pop(block, None)
    return json.dumps(found)


RUNS = {
    "forks": ("credit.rule=vine", "credit.forks.budget=8"),
    "stand-in": ("credit.rule=counterfactual", "credit.agent=echo", "credit.forks.budget=4"),
    "baselines": ("credit.rule=rae",),
    "critic": ("credit.rule=turnppo", "credit.critic.privileged=true"),
    "token critic": ("credit.rule=bilevel", "credit.scale=turn", "optimiser.epochs=2", "loss.kind=ppo"),
    "hybrid": (
        'phases=[{steps=1, credit={rule="raft"}, loss={kind="reinforce"}},'
        ' {steps=2, credit={rule="pairs"}, loss={kind="dpo"}}]',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_run_that_was_cut_equals_one_that_was_not(name: str, tmp_path: Path) -> None:
    echo = str(SUPPORT / "echo.toml")
    _, straight = run(tmp_path / "straight", echo, *RUNS[name], steps=4)
    run(tmp_path / "cut", echo, *RUNS[name], steps=3)
    _, cut = run(tmp_path / "cut", echo, *RUNS[name], steps=4, resume=True)
    assert books(cut) == books(straight)
    if "critic" in name:
        assert "trainer/critic.safetensors" in books(cut)["files"]
        assert all("critic/loss" in row for row in straight.metrics() if "reward/mean" in row)
    if name in ("forks", "stand-in"):
        forked = [
            fork for batch in straight.batches() if batch.startswith("fork-") for fork in straight.episodes(batch)
        ]
        assert all(fork.seats["pupil"].spec.agent == "echo" for fork in forked) == (name == "stand-in")
        played = [row["forks/played"] for row in straight.metrics() if "forks/played" in row]
        assert len(played) == 4
        assert sum(played) == len(forked) > 0
    if name == "hybrid":
        rows = [row for row in straight.metrics() if "reward/mean" in row]
        assert ["pairs/margin" in row for row in rows] == [False, True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["turnppo", "userrl", "raft", "vine"])
def test_every_other_rule_learns_the_echo_task_too(rule: str, tmp_path: Path) -> None:
    loss = "reinforce" if rule == "raft" else "grpo"
    settings = (f"credit.rule={rule}", f"loss.kind={loss}", "rollout.deals=8", "evaluation.deals=32")
    report, _ = run(tmp_path / "run", str(SUPPORT / "echo.toml"), *settings, steps=20)
    assert report.before.success <= 0.1
    assert report.after.success >= 0.5


@pytest.mark.slow
def test_a_cap_that_fails_is_learned_from_and_one_that_masks_is_not(tmp_path: Path) -> None:
    """Echo takes two turns; under a cap of one every conversation is cut off."""
    capped = ("rollout.turn_caps.caps=[1, 9]", "rollout.turn_caps.every=1")
    _, masked = run(tmp_path / "masked", str(SUPPORT / "echo.toml"), *capped, "filters.refill=0", steps=2)
    failing = (*capped, "filters.truncated=fail", "filters.refill=0", "credit.rule=rae")
    _, failed = run(tmp_path / "failed", str(SUPPORT / "echo.toml"), *failing, steps=2)
    first, second = ([row for row in folder.metrics() if "reward/mean" in row] for folder in (masked, failed))
    assert [row["rollout/turn_cap"] for row in first] == [1.0, 9.0]
    assert (first[0]["episodes/truncated"], first[0]["tokens/trained"]) == (1.0, 0.0)
    assert second[0]["tokens/trained"] > 0
    assert first[1]["episodes/truncated"] == 0.0
