"""The Topology screen: who can hear whom, how much was said; and the drawing itself."""

import networkx as nx
from feeds import FakeSource, row
from screens import lines_with, press, shown

from simarena.tui import hearing
from simarena.tui.feed.opened import Line, Opened, Piece
from simarena.tui.widgets.graph import Traffic, drawing


def line(turn: int, seat: str, text: str, kind: str = "speech", audience: tuple[str, ...] | None = None) -> Line:
    return Line(f"{turn}-1", turn, seat, kind, (Piece("text", text),), audience)


def whispering() -> FakeSource:
    told = row("a", scenario="hush", seats={"wolf": "x", "seer": "y", "mayor": "z"}, learners=())
    lines = (
        line(1, "mayor", "speak up"),
        line(2, "wolf", "not me at all"),
        line(3, "wolf", "psst seer", audience=("wolf", "seer")),
        line(4, "seer", "hm", kind="thought", audience=("seer",)),
        line(4, "world", "night falls", kind="notice"),
    )
    return FakeSource([told], {"a": Opened(told, lines)})


async def test_figures_of_the_open_conversation() -> None:
    async with shown(whispering(), (100, 40)) as pilot:
        await press(pilot, "4")
        assert lines_with(pilot, "Topology  hush  a")
        assert lines_with(pilot, "who was heard by whom")  # the scenario is not registered here
        (found,) = lines_with(pilot, "wolf            seer ")
        assert found.split()[:5] == ["wolf", "seer", "2", "6", "1"]
        assert lines_with(pilot, "│ mayor │")
        await press(pilot, "m")
        assert lines_with(pilot, "1 newest conversations")
        await press(pilot, "escape")
        assert lines_with(pilot, "Conversations 1")


async def test_without_a_conversation_it_says_what_to_do() -> None:
    async with shown(FakeSource()) as pilot:
        await press(pilot, "4")
        assert lines_with(pilot, "No conversation is open.")


def test_a_registered_scenario_tells_its_own_topology() -> None:
    graph = hearing.topology("service-desk", ["user", "assistant"])
    assert graph is not None
    assert set(graph.edges) == {("user", "assistant"), ("assistant", "user")}
    assert hearing.topology("service-desk", ["someone else"]) is None


def test_a_scenario_given_by_its_path_is_not_imported() -> None:
    assert hearing.topology("antigravity:fly", ["user"]) is None


def test_thoughts_are_heard_by_nobody() -> None:
    told = row("a", seats={"user": "x", "assistant": "y"})
    lines = (line(1, "user", "hm", kind="thought", audience=("user",)), line(1, "user", "two words"))
    assert hearing.traffic([Opened(told, lines)], None) == {("user", "assistant"): Traffic(1, 2, 0)}


def test_drawings_fit_their_box_and_name_every_seat() -> None:
    for count in (1, 2, 3, 7):
        seats = [f"seat-{i}" for i in range(count)]
        graph = nx.complete_graph(seats, create_using=nx.DiGraph)
        counts = {(a, b): Traffic(7 + i) for i, (a, b) in enumerate(graph.edges)}
        drawn = drawing(graph, counts, 90, 20)
        assert len(drawn) == 20
        assert all(row.cell_len == 90 for row in drawn)
        whole = "\n".join(row.plain for row in drawn)
        assert all(seat in whole for seat in seats)
    assert "7 →" in whole or "← 7" in whole or "7 ↗" in whole or "7 ↘" in whole or "7 ↑" in whole


def test_only_one_arrow_where_only_one_can_hear() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph([("a", "b")])
    whole = "\n".join(row.plain for row in drawing(graph, {("a", "b"): Traffic(3)}, 60, 9))
    assert "3 →" in whole
    assert "←" not in whole
