"""The Tournament screen over a real tournament's folder, and over none."""

from pathlib import Path

import networkx as nx
import pytest
from feeds import FakeSource, row
from screens import lines_with, press, settled, shown, text_of

from simarena.arena.record import RunFolder
from simarena.tui.feed.recorded import Recorded
from simarena.tui.main import main
from simarena.tui.widgets.bracket import bracket

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
        assert lines_with(pilot, "ada  alan")
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


def drawn(*results: tuple[str, str, str], half: str = "upper", entrants: int = 4) -> list[str]:
    """The bracket of (one, other, winner) of round 1, 2, ... as lines; round 1 has half the entrants' meetings."""
    graph: nx.DiGraph[str] = nx.DiGraph(entrants=entrants)
    came: dict[str, str] = {}
    for place, (one, other, winner) in enumerate(results):
        number = 1 if place < entrants // 2 else 2
        graph.add_node(f"r{number}/{one}", round=number, entrants=(one, other), half=half, winner=winner)
        for name in (one, other):
            if name in came:
                graph.add_edge(came[name], f"r{number}/{one}", entrant=name, won=True)
        came[winner] = f"r{number}/{one}"
    return [line.plain.rstrip() for line in bracket(graph, 60, {frozenset(("alan", "grace"))})]


def test_a_bracket_is_drawn_as_a_tree_and_open_meetings_stand_open() -> None:
    first = [("alan", "donald", "alan"), ("ada", "grace", "grace")]
    assert drawn(*first, ("alan", "grace", "")) == [
        " Bracket",
        " round 1   round 2",
        " alan ───┐",
        " donald ─┴ alan ───┐",
        " ada ────┐         │",
        " grace ──┴ grace ──┴ ● now",
    ]
    assert drawn(("alan", "donald", ""), ("ada", "grace", ""))[2:] == [
        " alan ───┐",
        " donald ─┴ · ──────┐",
        " ada ────┐         │",
        " grace ──┴ · ──────┴ ·",
    ]
    with_byes = drawn(("alan", "donald", ""), ("ada", "grace", ""), entrants=5)
    assert len(with_byes) == 2 + 2 + 1 + 2, "who they join is not known yet"


@pytest.fixture(scope="module", params=["single-elimination", "double-elimination"])
def knockout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp(request.param), request.param)


async def test_elimination_shows_its_bracket(knockout: Path) -> None:
    kind = knockout.parent.name
    async with shown(await recorded(knockout), (160, 45)) as pilot:
        await press(pilot, "5")
        assert lines_with(pilot, "┐")
        assert lines_with(pilot, "┴")
        assert lines_with(pilot, "matches,")
        await press(pilot, "x")
        assert not lines_with(pilot, "interval")
        assert bool(lines_with(pilot, "Lower half")) == bool(lines_with(pilot, " Final")) == ("double" in kind)
        assert "alan" in (lines_with(pilot, "wins") or lines_with(pilot, "┴"))[-1]
        assert not lines_with(pilot, "·"), "the seeds in the folder are those that were played"


async def test_a_bracket_and_a_match_that_is_being_played_fit_a_narrow_screen(cup: Path) -> None:
    source = FakeSource([row("r1/ada:alan/1a/7/0", turn=3, last="I raise.")])
    source.path = cup
    source.training.facts = {"name": "cup", "script": {}}
    async with shown(source, (80, 24)) as pilot:
        await press(pilot, "5")
        (line,) = lines_with(pilot, "turn 3")
        assert "ada  alan" in line
        assert not lines_with(pilot, "against")
        await press(pilot, "x")
        assert lines_with(pilot, "against")
        await press(pilot, "x", "g", "enter")
        assert pilot.app.screen.chosen.key == "r1/ada:alan/1a/7/0"


async def test_before_the_first_result_it_says_so(cup: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text((cup / "run.json").read_text())
    source = FakeSource()
    source.path = tmp_path
    source.training.facts = {"name": "cup", "script": {}}
    async with shown(source) as pilot:
        await press(pilot, "5")
        assert lines_with(pilot, "Nothing has been played yet.")


async def test_another_kind_of_run_says_how_to_get_one() -> None:
    async with shown(FakeSource()) as pilot:
        await press(pilot, "5")
        assert lines_with(pilot, "This run is no tournament.")
        assert lines_with(pilot, "simarena tournament FILE")
