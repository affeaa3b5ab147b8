"""Each alarm is raised by the collapse it is made for, and not by healthy learning."""

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rollouts import SEAT, episode, record

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.training import monitors, recipe_file
from simarena.training.alarms import ALARMS, WHOLE, newly, raised
from simarena.training.events import Event, Note
from simarena.training.groups import form
from simarena.training.run import TrainReport, train

PRAISED = Path(__file__).parent.parent / "support" / "praised.toml"


def healthy(seed: int = 0, steps: int = 60) -> list[dict[str, float]]:
    """A run that learns: reward and outcome rise together, entropy and spread fall slowly, all with noise."""
    chance = random.Random(seed)
    rows = []
    for step in range(1, steps + 1):
        done = step / steps
        luck = chance.gauss(0, 0.04)  # of the deals drawn: reward and outcome share it
        outcome = min(1.0, 0.3 + 0.5 * done + luck)
        rows.append(
            {
                "step": float(step),
                "reward/mean": 1.2 * outcome + chance.gauss(0, 0.03),
                "reward/group_std": 0.4 - 0.2 * done + chance.gauss(0, 0.03),
                "reward/discordance": max(0.0, chance.gauss(0.1, 0.05)),
                "outcome/mean": outcome,
                "checks/told": min(1.0, outcome + 0.1 + chance.gauss(0, 0.02)),
                "groups/zero_variance": 0.2 + 0.4 * done,
                "loss/entropy": 0.3 - 0.15 * done,
                "train/grad_norm": chance.lognormvariate(0, 0.5),
                "ratio/ess": 1.0 - 0.2 * chance.random(),
                "tokens/per_turn": 6.0 + chance.gauss(0, 0.3),
                "tokens/repetition": 0.05 + 0.02 * chance.random(),
                **(
                    {
                        "mutual/information": 2.0 - done + chance.gauss(0, 0.1),
                        "mutual/retrieval": 0.8,
                        "mutual/chance": 1 / 16,
                        "anchor/score": 0.5 + 0.2 * done + chance.gauss(0, 0.01),
                        "anchor/error": 0.02,
                    }
                    if step % 5 == 0
                    else {}
                ),
            }
        )
    return rows


Spoil = Callable[[float, dict[str, float]], dict[str, float]]
COLLAPSES: dict[str, Spoil] = {
    "deviation": lambda t, row: {"reward/group_std": row["reward/group_std"] * (1 - 0.97 * t)},
    "zero_variance": lambda t, row: {"groups/zero_variance": 0.95 if t > 0.5 else 0.3},
    "entropy": lambda t, row: {"loss/entropy": 0.3 * (1 - t) ** 2},
    "gradient": lambda t, row: {"train/grad_norm": 40.0 if t > 0.8 else row["train/grad_norm"]},
    "ratio": lambda t, row: {"ratio/ess": 0.9 - 0.6 * t},
    "template": lambda t, row: (
        {"mutual/information": 2.0 * (1 - t), "mutual/retrieval": 0.8 - 0.7 * t} if "mutual/chance" in row else {}
    ),
    "repetition": lambda t, row: {"tokens/repetition": 0.05 + 0.8 * t},
    "length": lambda t, row: {"tokens/per_turn": 6.0 + 18.0 * t},
    "hacking": lambda t, row: {"outcome/mean": 0.7 * (1 - 0.5 * t) + row["outcome/mean"] / 10},
    "selfplay": lambda t, row: {"anchor/score": 0.6 * (1 - 0.5 * t)} if "anchor/score" in row else {},
    "disagreement": lambda t, row: {"reward/discordance": 0.1 + 0.7 * t},
}


def collapsing(alarm: str, seed: int = 0) -> list[dict[str, float]]:
    """A healthy run for 25 steps, then this collapse over 15 and its end state for 10 more."""
    spoil = COLLAPSES[alarm]
    rows = []
    for row in healthy(seed, 50):
        row["outcome/mean"] = min(row["outcome/mean"], 0.7)
        rows.append(row | (spoil(min(1.0, (row["step"] - 25) / 15), row) if row["step"] > 25 else {}))
    return rows


def history(rows: list[dict[str, float]], actions: dict[str, Any] | None = None) -> Iterator[tuple[int, str]]:
    """(step, alarm) of every alarm at the step where it is first raised."""
    for number in range(1, len(rows) + 1):
        for alert, _ in newly(rows[:number], actions or {}):
            yield number, alert.alarm


def test_every_alarm_has_a_made_collapse() -> None:
    assert COLLAPSES.keys() == ALARMS.keys()


@pytest.mark.parametrize("alarm", sorted(ALARMS))
@pytest.mark.parametrize("seed", range(5))
def test_a_made_collapse_raises_its_alarm_and_no_other_before_it(alarm: str, seed: int) -> None:
    found = list(history(collapsing(alarm, seed)))
    assert found, f"{alarm} was not raised"
    assert found[0][1] == alarm
    assert found[0][0] > 25
    (alert,) = [a for a, _ in raised(collapsing(alarm, seed)[: found[0][0]], {}) if a.alarm == alarm]
    assert alert.since < found[0][0]
    assert alert.text
    assert "\n" not in alert.text


def test_healthy_learning_raises_next_to_nothing() -> None:
    """40 runs of 60 steps: 10 alarms looked at 2,400 times."""
    false = [found for seed in range(40) for found in history(healthy(seed))]
    assert len(false) <= 1, false


def test_a_solved_task_is_no_collapse() -> None:
    rows = [
        row | {"outcome/mean": 0.97, "reward/group_std": 0.01, "groups/zero_variance": 0.95, "loss/entropy": 0.001}
        if row["step"] > 25
        else row
        for row in healthy()
    ]
    assert [name for _, name in history(rows) if name in ("deviation", "zero_variance", "entropy")] == []


@pytest.mark.parametrize("seed", range(10))
def test_hacking_is_seen_before_a_fifth_of_the_outcome_is_lost(seed: int) -> None:
    """Outcome 0.7, noise 0.04 a step, falling by 1 % of it a step while the reward rises."""
    chance = random.Random(seed)
    rows = [
        {
            "step": float(step),
            "reward/mean": 1.0 + 0.01 * step + chance.gauss(0, 0.03),
            "outcome/mean": 0.7 * (1 - 0.01 * max(0, step - 20)) + chance.gauss(0, 0.04),
        }
        for step in range(1, 61)
    ]
    step, name = next(history(rows))
    assert name == "hacking"
    assert 0.7 * (1 - 0.01 * max(0, step - 20)) > 0.8 * 0.7


def test_hacking_names_the_check_that_fell() -> None:
    rows = [
        {
            "step": float(n),
            "reward/mean": 1 + 0.02 * n,
            "outcome/mean": 0.5,
            "checks/polite": 1.0,
            "checks/told": 1 - 0.02 * n,
        }
        for n in range(1, 21)
    ]
    (alert, action), *_ = raised(rows, {})
    assert (alert.alarm, action) == ("hacking", "warn")
    assert "checks/told falls" in alert.text


def test_an_alarm_that_is_off_says_nothing_and_one_that_goes_on_says_it_once() -> None:
    rows = collapsing("length")
    assert [name for _, name in history(rows, {"length": "off"})] == []
    assert [name for _, name in history(rows)] == ["length"]
    assert raised(rows, {"length": "stop"})[0][1] == "stop"


def two_learners(alarm: str) -> list[dict[str, float]]:
    """Alice collapses, Bob is well; what is not told by name is of the two together, and looks healthy."""
    pairs = zip(collapsing(alarm), healthy(1, 50), strict=True)
    return [
        {**well, **{f"bob/{k}": v for k, v in well.items()}, **{f"alice/{k}": v for k, v in ill.items()}}
        | {f"{name}/train/learning_rate": 0.1 for name in ("alice", "bob")}
        for ill, well in pairs
    ]


@pytest.mark.parametrize("alarm", sorted(set(ALARMS) - set(WHOLE)))
def test_of_several_learners_the_one_that_collapses_is_named(alarm: str) -> None:
    rows = two_learners(alarm)
    found = [(a.name, action) for n in range(1, len(rows) + 1) for a, action in newly(rows[:n], {alarm: "stop"})]
    assert found[0] == (f"alice/{alarm}", "stop")
    assert not [name for name, _ in found if name.startswith("bob/")]


def test_an_alarm_of_the_whole_run_has_no_learner() -> None:
    spoilt = collapsing("selfplay")
    rows = [row | {f"{name}/train/learning_rate": 0.1 for name in ("alice", "bob")} for row in spoilt]
    assert [a.name for a, _ in raised(rows, {}) if a.alarm == "selfplay"] == ["selfplay"]


@pytest.mark.parametrize("cut", range(0, 50, 7))
def test_rules_survive_any_number_of_rows_and_missing_columns(cut: int) -> None:
    for rule in ALARMS.values():
        assert rule([]) is None
        rule(healthy()[:cut])
        assert rule([{"step": float(n)} for n in range(cut)]) is None


def test_what_alarms_look_at_is_measured() -> None:
    """Reward prefers the worse of the two that differ; one phrase of four is said again."""
    says = [record((1,), (3, 4, 5, 3, 4, 5), start=True), record((1,), (3, 4), start=True)]
    plays = [episode([5.0], member=0, outcome=0.0, records=says[:1], checks={"told": False, "polite": True})]
    plays += [
        episode([1.0], member=m, outcome=1.0, records=says[1:], checks={"told": True, "polite": True})
        for m in (1, 2)
    ]
    seen = monitors.of_groups([form(plays, SEAT)], [""])
    assert seen["reward/discordance"] == 1.0
    assert seen["tokens/per_turn"] == pytest.approx(10 / 3)
    assert seen["tokens/repetition"] == pytest.approx(1 / 4)
    assert (seen["checks/told"], seen["checks/polite"]) == (pytest.approx(2 / 3), 1.0)


def test_recipes_name_alarms_and_actions() -> None:
    data: dict[str, Any] = {"name": "a", "scenario": {"name": "b"}}
    assert recipe_file.parse({**data, "alarms": {"hacking": "rollback"}}).alarms == {"hacking": "rollback"}
    with pytest.raises(UnknownName, match="unknown alarm 'hakking': did you mean 'hacking'"):
        recipe_file.parse({**data, "alarms": {"hakking": "stop"}})
    with pytest.raises(UsageError, match=r"alarms\.hacking"):
        recipe_file.parse({**data, "alarms": {"hacking": "shout"}})
    with pytest.raises(UsageError, match=r"set monitors\.mutual_every"):
        recipe_file.parse({**data, "alarms": {"template": "stop"}})


def run(path: Path, *settings: str, resume: bool = False) -> tuple[TrainReport, RunFolder, list[str]]:
    """The recipe whose reward can be hacked, and the notes it gave."""
    notes: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)

    folder = RunFolder.resume(path) if resume else RunFolder.create(path)
    recipe = recipe_file.load(str(PRAISED), settings)
    report = asyncio.run(train(recipe, folder, resume=resume, emit=emit, stop=asyncio.Event()))
    folder.close()
    return report, folder, notes


def outcomes(folder: RunFolder) -> list[float]:
    return [row["outcome/mean"] for row in folder.metrics() if "outcome/mean" in row]


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMARENA_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.mark.slow
def test_a_hackable_reward_is_caught_before_a_fifth_of_the_outcome_is_lost(tmp_path: Path) -> None:
    """Left alone this run loses nearly all of its outcome while its reward goes on rising."""
    report, folder, notes = run(tmp_path / "run", "alarms.hacking=stop", "alarms.disagreement=off")
    seen = outcomes(folder)
    windows = [sum(seen[n : n + 5]) / 5 for n in range(len(seen) - 4)]
    assert report.stopped_by == "hacking"
    assert report.steps == len(seen) < 60
    assert not report.interrupted
    assert windows[-1] > 0.8 * max(windows)
    assert notes[-1].startswith(f"alarm hacking at step {report.steps}: reward rises while outcome/mean falls")
    assert max(folder.checkpoints()) == report.steps
    assert folder.metrics()[report.steps - 1 + 1]["alarms/hacking"] == 1.0


@pytest.mark.slow
def test_rollback_ends_at_the_checkpoint_from_before_the_trouble(tmp_path: Path) -> None:
    settings = ("alarms.disagreement=rollback", "checkpoint_every=1", "steps=12")
    report, folder, _ = run(tmp_path / "run", *settings)
    assert report.stopped_by == "disagreement"
    assert report.alarms[0].startswith("disagreement at step 5")
    # five steps in a row are wrong, so none of them is kept
    assert (report.steps, max(folder.checkpoints())) == (0, 0)
    assert outcomes(folder) == []
    assert report.after == report.before


@pytest.mark.slow
def test_a_warning_goes_on_and_is_the_same_after_a_resume(tmp_path: Path) -> None:
    report, straight, notes = run(tmp_path / "straight", "steps=8")
    assert report.steps == 8
    assert [text.split(":")[0] for text in report.alarms] == ["disagreement at step 5"]
    assert sum(note.startswith("alarm ") for note in notes) == 1
    run(tmp_path / "cut", "steps=6", "checkpoint_every=2")
    again, cut, _ = run(tmp_path / "cut", "steps=8", "checkpoint_every=2", resume=True)
    assert again.alarms == report.alarms
    rows = [
        [
            {k: v for k, v in row.items() if not k.startswith("time/")}
            for row in folder.metrics()
            if "reward/mean" in row
        ]
        for folder in (straight, cut)
    ]
    assert rows[0] == rows[1]
