"""The tournament of a run's checkpoints: who is in it, on which deals, against whom."""

from pathlib import Path

import pytest

from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.arena.specs import build_scenario
from simarena.training import recipe_file
from simarena.training.checkpoint_rating import rate_checkpoints


def run(path: Path, steps: tuple[int, ...], name: str = "service-desk-tiny") -> RunFolder:
    recipe = recipe_file.load(name)
    folder = RunFolder.create(path)
    folder.describe({"recipe": recipe.model_dump(mode="json", exclude_unset=True)})
    for step in steps:
        with folder.checkpoint(step) as aside:
            (aside / "config.json").write_text("{}")
    return folder


def test_checkpoints_and_anchors_serve_the_same_held_out_customers(tmp_path: Path) -> None:
    script = rate_checkpoints(run(tmp_path / "run", (0, 20, 100)))
    assert list(script.entrants) == ["step-0", "step-20", "step-100", "teacher", "echo"]
    assert script.entrants["step-20"].agent == str(tmp_path / "run" / "checkpoints" / "step-20")
    assert script.scenario.options["split"] == "heldout"
    contest = script.contest(build_scenario(script.scenario.name, script.scenario.options))
    assert contest.sides == {"assistant": ("assistant",)}
    drawn = [match for meeting in script.format.draw(contest, []) for match in contest.matches(meeting)]
    deals = {who: {m.deal for m in drawn if who in m.seats.values()} for who in script.entrants}
    assert len(drawn) == 5 * 64
    assert all(mine == deals["echo"] for mine in deals.values())
    assert script.method(contest) == "score"


def test_where_two_seats_learn_everyone_meets_the_runs_own_anchors(tmp_path: Path) -> None:
    script = rate_checkpoints(run(tmp_path / "run", (0, 10), "secret-tiny"))
    assert list(script.entrants) == ["step-0", "step-10", "teacher", "player", "echo"]
    assert script.entrants["teacher"].options == {"slips": 0.6}
    assert script.entrants["player"].options == {}
    contest = script.contest(build_scenario(script.scenario.name, script.scenario.options))
    assert set(contest.sides) == {"asker", "keeper"}
    assert (script.format.kind, script.method(contest)) == ("round-robin", "score")


def test_a_run_without_checkpoints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no checkpoint yet"):
        rate_checkpoints(run(tmp_path / "run", ()))
