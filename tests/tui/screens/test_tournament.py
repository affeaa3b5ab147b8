"""The Tournament screen over a real tournament's folder, and over none."""

from pathlib import Path

import pytest
from feeds import FakeSource, row
from screens import lines_with, press, settled, shown, text_of

from simarena.arena.record import RunFolder
from simarena.tui.feed.recorded import Recorded
from simarena.tui.main import main

CUP = """
name = "cup"
scenario = "duels:Duel"
[format]
kind = "KIND"
[entrants]
ada = { agent = "duels:Fighter", options = { skill = 0 } }
alan = { agent = "duels:Fighter", options = { skill = 5 } }
grace = { agent = "duels:Fighter", options = { skill = 2 } }
donald = { agent = "duels:Fighter", options = { skill = 1 } }
"""


def played(home: Path, kind: str) -> Path:
    (home / "cup.toml").write_text(CUP.replace("KIND", kind))
    assert main(["tournament", str(home / "cup.toml"), "--out", str(home / "cup")]) == 0
    return home / "cup"


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("cup"), "round-robin")


async def recorded(folder: Path) -> Recorded:
    source = Recorded(RunFolder.open(folder))
    await source.start()
    return source


async def test_standings_cross_table_and_matches(cup: Path) -> None:
    async with shown(await recorded(cup), (140, 40)) as pilot:
        await press(pilot, "5")
        text = text_of(pilot)
        assert "Tournament  cup  bradley-terry  12 matches, 1 rounds  final" in text
        first = next(line for line in text.split("\n") if "alan" in line)
        assert "━" in first
        assert "●" in first
        assert "against" in text
        assert text.count("finished") == 12


async def test_a_match_opens_in_the_arena(cup: Path) -> None:
    async with shown(await recorded(cup), (140, 40)) as pilot:
        await press(pilot, "5", "j")
        wanted = pilot.app.screen.matches.item.episode
        await press(pilot, "enter")
        assert pilot.app.screen.NAME == "arena"
        assert pilot.app.screen.reader.opened.row.key == wanted


async def test_results_appear_while_it_is_played(cup: Path, tmp_path: Path) -> None:
    going = tmp_path / "going"
    going.mkdir()
    (going / "run.json").write_text((cup / "run.json").read_text())
    lines = (cup / "results.jsonl").read_text().splitlines(keepends=True)
    source = FakeSource([row("r1/ada:alan/1a/7/0")])
    source.path = going
    source.training.facts = {"name": "cup", "script": {}}
    async with shown(source, (140, 40)) as pilot:
        await press(pilot, "5")
        assert lines_with(pilot, "Nothing has been played yet.")
        with (going / "results.jsonl").open("w") as file:
            file.write("".join(lines[:3]) + lines[3][:20])
        await settled(pilot)
        assert text_of(pilot).count("finished") == 3
        assert lines_with(pilot, "1 matches running")
        with (going / "results.jsonl").open("a") as file:
            file.write(lines[3][20:] + "broken\n")
        await settled(pilot)
        assert text_of(pilot).count("finished") == 4
        assert lines_with(pilot, "results.jsonl holds a line that is no result")


async def test_another_kind_of_run_says_how_to_get_one() -> None:
    async with shown(FakeSource()) as pilot:
        await press(pilot, "5")
        assert lines_with(pilot, "This run is no tournament.")
        assert lines_with(pilot, "simarena tournament FILE")
