"""The benchmark compares like with like: its plain loop plays the arena's conversations, its table keeps rows."""

import json
from pathlib import Path

import pytest

from benchmarks import whole
from benchmarks.desk import Call, Graded
from benchmarks.table import MARKS, Row, keep, tell_docs
from simarena.arena import SimulatorArena
from simarena.arena.specs import AgentSpec, build_agent
from simarena.training import recipe_file

CLERK = AgentSpec(agent="simarena.simulators.scenarios.service_desk.clerk:Clerk")


async def test_a_bare_call_is_the_conversation_of_the_arena() -> None:
    async with SimulatorArena("inproc") as arena:
        playing = arena.play(Graded(patience=4), seats={"assistant": CLERK}, deals=range(6), prefix="bench")
        episodes = [episode async for episode in playing]
    clerk = build_agent(CLERK)
    for episode in episodes:
        call = Call(episode.deal, patience=4)
        await call.listen()
        while not call.over:
            await call.act(await clerk.act(call.observation("assistant")))
        assert [(m.id, m.seat, m.parts) for m in call._messages] == [
            (m.id, m.seat, m.parts) for m in episode.messages
        ]
        assert call.reward == pytest.approx(sum(reward.value for reward in episode.rewards))


def test_the_recipe_is_valid_and_as_short_as_it_says() -> None:
    recipe = recipe_file.load(str(whole.RECIPE))
    assert (recipe.rollout.deals, recipe.rollout.group, recipe.rollout.limits.turn_tokens) == (4, 8, 32)
    assert whole._lines(whole.RECIPE) <= 25
    assert whole._lines(whole.SCRIPT) >= 40


def test_rows_are_kept_in_place_and_judged_by_their_target(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    rows = [Row("a", 1, 2, "s", 2.0, ">= 2", "x"), Row("b", 1, 2, "s", 0.7, "<= 0.6", "x")]
    assert [row.met for row in rows] == ["yes", "no"]
    keep(rows, file)
    keep([Row("a", 3, 3, "s", 1.0, ">= 2", "x"), Row("c", 1, 1, "s", 1.0, "", "x")], file)
    told = json.loads(file.read_text())
    assert [(row["name"], row["ours"]) for row in told["rows"]] == [("a", 3), ("b", 1), ("c", 1)]
    assert told["machine"]["cores"] >= 1
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    for _ in range(2):
        tell_docs(file, page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count("| a | 3 | 3 | s | 1 | >= 2 | no | x | 0 |") == 1
