"""`simarena tournament`: one command from a script to a table, that a kill cannot change."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent.parent / "support"
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "tournaments"
SCRIPT = """
scenario = "duels:Duel"
seed = 3
best_of = 2
[format]
kind = "swiss"
rounds = 3
[entrants]
strong = { agent = "duels:Fighter", options = { skill = 30 } }
middling = { agent = "duels:Fighter", options = { skill = 16 } }
fair = { agent = "duels:Fighter", options = { skill = 16 } }
weak = { agent = "duels:Fighter", options = { skill = 4 } }
odd = { agent = "duels:Fighter", options = { skill = 10 } }
"""
ROW = {"entrant", "rating", "low", "high", "rank_low", "rank_high", "matches"}


@pytest.fixture
def cup(cli, tmp_path: Path) -> Path:
    path = tmp_path / "cup.toml"
    path.write_text(SCRIPT)
    return path


def test_json_has_the_standings_and_the_folder_everything_else(cli, cup: Path) -> None:
    done = cli("tournament", "cup.toml", "--json", "--out", "here")
    assert done.code == 0, done.err
    final = json.loads(done.out)
    assert [set(row) for row in final["standings"]] == [ROW] * 5
    assert final["standings"][0]["entrant"] == "strong"
    assert final["standings"][-1]["entrant"] == "weak"
    assert all(row["low"] <= row["rating"] <= row["high"] for row in final["standings"])
    assert (final["matches"], final["round"], final["final"], final["stopped"]) == (24, 3, True, "")
    assert {path.name for path in Path("here").iterdir() if not path.name.startswith(".")} == {
        "run.json",
        "results.jsonl",
        "episodes",
        "standings.json",
        "report.html",
        "results.csv",
        "standings.csv",
        "matches.txt",
    }
    assert json.loads(Path("here/standings.json").read_text())["standings"] == final["standings"]
    assert "24 matches, 3 rounds" in done.err


def test_the_table_is_printed_and_every_match_replays(cli, cup: Path) -> None:
    done = cli("tournament", "cup.toml")
    assert done.code == 0, done.err
    head = done.out.splitlines()
    assert head[0].startswith("cup: 24 matches, 3 rounds")
    assert head[1].split() == ["rank", "entrant", "rating", "95", "%", "interval", "matches"]
    assert len([line for line in head[2:7] if "to" in line]) == 5
    lines = Path("tournaments/latest/results.jsonl").read_text().splitlines()
    assert len(lines) == 24
    for line in (lines[0], lines[-1]):
        replay = cli("replay", "tournaments/latest", json.loads(line)["episode"])
        assert replay.code == 0
        assert "ended: finished" in replay.out


def test_a_resume_of_what_is_done_prints_the_same_table(cli, cup: Path) -> None:
    first = json.loads(cli("tournament", "cup.toml", "--json").out)
    again = json.loads(cli("tournament", "cup.toml", "--json", "--resume").out)
    by_folder = json.loads(cli("tournament", "tournaments/latest", "--json", "--resume").out)
    assert again["standings"] == by_folder["standings"] == first["standings"]
    assert again["folder"] == first["folder"]


def test_a_resume_goes_on_with_its_own_name_also_where_another_begins_with_it(cli, cup: Path) -> None:
    first = json.loads(cli("tournament", "cup.toml", "--json").out)
    Path("cup-b.toml").write_text(SCRIPT.replace("seed = 3", "seed = 4"))
    other = json.loads(cli("tournament", "cup-b.toml", "--json").out)
    assert other["folder"] != first["folder"]
    assert json.loads(cli("tournament", "cup.toml", "--json", "--resume").out)["folder"] == first["folder"]


def test_a_larger_budget_goes_on_and_another_script_does_not(cli, cup: Path) -> None:
    whole = json.loads(cli("tournament", "cup.toml", "--json", "--out", "whole").out)
    cup.write_text(SCRIPT + "[budget]\nmatches = 10\n")
    part = json.loads(cli("tournament", "cup.toml", "--json", "--out", "part").out)
    assert (part["matches"], part["stopped"]) == (10, "budget of 10 matches")
    cup.write_text(SCRIPT)
    rest = json.loads(cli("tournament", "cup.toml", "--json", "--resume", "--out", "part").out)
    assert rest["standings"] == whole["standings"]
    cup.write_text(SCRIPT.replace("seed = 3", "seed = 4"))
    done = cli("tournament", "cup.toml", "--resume", "--out", "part")
    assert done.code == 2
    assert "part was played with another 'seed'" in done.err


def test_a_panel_decides_where_the_script_says_so(cli, cup: Path) -> None:
    """Its rule turns the duel around, so the table is upside down; its ballots are kept and reported on."""
    jurors = '[{ rule = "duels:lower" }, { rule = "duels:lower", name = "b" }]'
    judge = f'[judge]\nquestion = "Who is humbler?"\njurors = {jurors}\n'
    cup.write_text(SCRIPT + judge)
    final = json.loads(cli("tournament", "cup.toml", "--json", "--out", "judged").out)
    assert final["standings"][0]["entrant"] == "weak"
    assert final["standings"][-1]["entrant"] == "strong"
    assert len(Path("judged/judges.jsonl").read_text().splitlines()) == 2 * 24
    assert any("Agreement of jurors" in sentence for sentence in final["words"])
    assert "Agreement of jurors" in Path("judged/report.html").read_text()
    cup.write_text(SCRIPT + judge.replace("duels:lower", "duels:lowr"))
    done = cli("tournament", "cup.toml", "--out", "other")
    assert done.code == 2
    assert "no 'lowr'" in done.err


def test_a_dry_run_counts_and_times_and_keeps_nothing(cli, cup: Path) -> None:
    done = cli("tournament", "cup.toml", "--dry-run")
    assert done.code == 0, done.err
    assert "cup: 5 entrants, swiss" in done.out
    assert "matches  24 in 3 rounds" in done.out
    assert "nothing was kept" in done.out
    assert not Path("tournaments").exists()
    plan = json.loads(cli("tournament", "cup.toml", "--dry-run", "--json").out)
    assert plan["matches"] == [24, 24]
    assert plan["seconds"] > 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("rounds = 3", "rounds = 9"), "5 entrants can play 3 Swiss rounds without a rematch"),
        (("duels:Duel", "duels:Dule"), "module 'duels' has no 'Dule'"),
        (("skill = 30", "skil = 30"), "does not take these options"),
        (
            ('kind = "swiss"', 'kind = "gauntlet"\nchallengers = ["strng"]'),
            "unknown challenger 'strng': did you mean",
        ),
        (("seed = 3", "sed = 3"), "unknown tournament script key 'sed': did you mean 'seed'?"),
    ],
)
def test_bad_scripts_are_one_line_and_leave_nothing(cli, cup: Path, change: tuple[str, str], says: str) -> None:
    cup.write_text(SCRIPT.replace(*change))
    done = cli("tournament", "cup.toml")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith("error: ")
    assert says in line
    assert not Path("tournaments").exists()


def test_what_is_neither_script_nor_folder(cli) -> None:
    done = cli("tournament", "nothing")
    assert done.code == 2
    assert "'nothing' is no script (.toml, .py), no tournament folder and no training run" in done.err
    assert cli("tournament", "gone.toml").code == 2


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).parent / "simarena"), "tournament", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def wait_for(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_text().count("\n") < lines:
        assert time.monotonic() < deadline, f"{path} did not reach {lines} lines"
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle_it_resumes_to_the_same_table(tmp_path: Path, how: signal.Signals) -> None:
    slow = SCRIPT.replace("best_of = 2", "best_of = 6\nconcurrency = 2").replace(
        "skill = 30", "skill = 30, pause = 0.05"
    )
    (tmp_path / "cup.toml").write_text(slow)
    whole = json.loads(start(tmp_path, "cup.toml", "--json", "--out", "whole").communicate(timeout=120)[0])
    killed = start(tmp_path, "cup.toml", "--json", "--out", "killed")
    wait_for(tmp_path / "killed" / "results.jsonl", 20)
    killed.send_signal(how)
    _, err = killed.communicate(timeout=60)
    if how is signal.SIGINT:
        assert killed.returncode == 130
        assert "tournament cup.toml --resume --out killed" in err
    assert (tmp_path / "killed" / "results.jsonl").read_text().count("\n") < whole["matches"]
    resumed = json.loads(
        start(tmp_path, "cup.toml", "--json", "--resume", "--out", "killed").communicate(timeout=120)[0]
    )
    for same in ("standings", "words", "matches"):
        assert resumed[same] == whole[same]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dilemma.toml", "poker.toml", "service_desk.toml", "memory_one.py"])
def test_every_example_runs_as_it_is(cli, name: str) -> None:
    done = cli("tournament", str(EXAMPLES / name), "--json")
    assert done.code == 0, done.err
    final = json.loads(done.out)
    endings = {
        json.loads(line)["ending"] for line in Path("tournaments/latest/results.jsonl").read_text().splitlines()
    }
    assert endings == {"finished"}
    if name == "memory_one.py":
        assert (final["matches"], len(final["standings"])) == (2000, 64)
        assert final["seconds"] < 120
    if name == "service_desk.toml":
        assert [row["entrant"] for row in final["standings"]] == ["expert", "careful", "novice", "clumsy", "echo"]
