"""Asynchronous training: it learns, no token is too old, and a kill loses nothing and doubles nothing."""

import subprocess
from collections import Counter

import pytest
from commands import command, environment, finish, kill_when

from simarena.arena.ledger import Ledger
from simarena.arena.record import RunFolder
from simarena.training.lesson import Lesson
from simarena.training.recipe_file import parse

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]
STEPS, MAX_AGE = 32, 2
SETTINGS = ("-s", f"steps={STEPS}", "-s", "rollout.deals=8", "-s", "evaluation.deals=32", "-s", "filters.refill=0")
AHEAD = ("-s", f"asynchronous.max_age={MAX_AGE}", "-s", "loss.correction.how=truncate")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, dict[str, object]]:
    """A run that was killed and went on to its end, and what it said there."""
    run = tmp_path_factory.mktemp("killed") / "run"
    process = subprocess.Popen(command(run, *SETTINGS, *AHEAD), env=environment(), stderr=subprocess.DEVNULL)
    kill_when(process, run, 5)
    report = finish(run, "--resume")
    return RunFolder.open(run), report


def test_no_token_is_older_than_allowed_and_some_are_old(killed: tuple[RunFolder, dict[str, object]]) -> None:
    folder, _ = killed
    learner = {
        int(episode.id.partition("/")[0].removeprefix("train-")) - record.version
        for episode in folder.episodes()
        if episode.id.startswith("train-")
        for record in episode.records_of("pupil")
    }
    assert max(learner) <= MAX_AGE
    assert min(learner) >= 0
    assert max(learner) > 0


def test_it_learns_and_says_how_fast_and_how_old(killed: tuple[RunFolder, dict[str, object]]) -> None:
    _, report = killed
    assert report["before"]["success"] <= 0.1  # type: ignore[index]
    assert report["after"]["success"] >= 0.8  # type: ignore[index]
    pace = report["pace"]
    assert 0 < pace["age"] <= pace["age_max"] <= MAX_AGE  # type: ignore[index]
    assert pace["tokens_per_second"] > 0  # type: ignore[index]
    assert 0 <= pace["waiting"] < 1  # type: ignore[index]


def test_nothing_is_lost_or_doubled_by_a_kill(killed: tuple[RunFolder, dict[str, object]]) -> None:
    """Each step once, with exactly the episodes that its number stands for, and every one of them has a fate."""
    folder, report = killed
    recipe = parse(folder.facts()["recipe"])
    rows = [row for row in folder.metrics() if "reward/mean" in row]
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for row in rows:
        fates = sum(row[f"ledger/{name}"] for name in ("trained", "filtered", "truncated", "discarded", "stale"))
        assert fates + row["ledger/open"] == row["ledger/dispatched"]
    played = Counter(episode.id for episode in folder.episodes() if episode.id.startswith("train-"))
    due = {
        f"train-{step}/{deal}/{member}"
        for step in range(STEPS)
        for deal in Lesson(recipe, step, Ledger()).wanted()
        for member in range(recipe.rollout.group)
    }
    assert played == Counter(due)
    ledger = report["ledger"]
    assert (ledger["dispatched"], ledger["open"]) == (len(due), 0)  # type: ignore[index]
