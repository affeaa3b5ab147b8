"""The Seat screen: taking a seat of a new conversation, and going on with one on record, through the arena."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from feeds import FakeSource
from screens import lines_with, press, settled, shown, typed, until

from simarena.arena.episodes import Episode
from simarena.arena.errors import UsageError
from simarena.arena.messages import Observation, Tool, View
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec
from simarena.tui import seated
from simarena.tui.feed.recorded import Recorded
from simarena.tui.forking import New, converse
from simarena.tui.runs import known
from simarena.tui.screens.seat import SeatRoom

CLERK = "simarena.simulators.scenarios.service_desk.clerk:Clerk"


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is played here is recorded under the working directory."""
    monkeypatch.chdir(tmp_path)


async def say(pilot: Any, words: str) -> None:
    await pilot.press(*("space" if sign == " " else sign for sign in words), "enter")
    await pilot.pause()


async def go(pilot: Any, *keys: str) -> None:
    """Press without waiting for what is begun by it: a conversation waits for the person."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def test_a_person_plays_a_new_conversation_to_its_end_and_it_is_recorded() -> None:
    async with shown(FakeSource(), (140, 40)) as pilot:
        await press(pilot, "6")
        assert lines_with(pilot, "a new conversation of")
        await press(pilot, "o")
        await typed(pilot, "service-desk")
        await press(pilot, "enter", "d")
        await typed(pilot, "3")
        await press(pilot, "enter")
        assert lines_with(pilot, "a new conversation of service-desk, deal 3")
        seats = pilot.app.screen.seats
        await press(pilot, "g", "enter")
        await typed(pilot, CLERK if seats.item == "assistant" else "human")
        await press(pilot, "enter", "G")
        if seats.item == "assistant":
            await press(pilot, "enter")
            await typed(pilot, CLERK)
            await press(pilot, "enter")
        else:
            await press(pilot, "u")
        assert lines_with(pilot, "human")
        await go(pilot, "b")
        await until(pilot, "You are the user")
        await until(pilot, "user says")
        await say(pilot, "hello, i need a refund.")
        await until(pilot, "hello, i need a refund.")
        await until(pilot, "user says")
        await go(pilot, "escape", "L")
        await until(pilot, "ended")
        await settled(pilot)
        assert lines_with(pilot, "checks")
        assert not pilot.app.screen.playing
        await press(pilot, "escape")
        assert lines_with(pilot, "Who can sit there")
    (folder,) = known()
    (played,) = folder.episodes()
    assert (played.scenario, played.deal, played.parent) == ("service-desk", 3, None)
    assert played.seats["user"].spec.lane == "human"
    assert any(message.text == "hello, i need a refund." for message in played.messages)
    assert not (folder.path.parent / "latest").exists(), "training is what `latest` means"


async def test_a_conversation_on_record_is_forked_at_the_cursor_and_recorded_as_a_fork(tmp_path: Path) -> None:
    start, who = New("service-desk", {}, 1), {"assistant": CLERK}
    episode = await converse(start, who, AgentSpec(agent=CLERK))
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({"name": "told"})
    folder.write_episodes("eval-000000", [episode])
    folder.close()
    source = Recorded(RunFolder.open(tmp_path / "run"))
    await source.start()
    async with shown(source, (140, 40)) as pilot:
        await press(pilot, "enter", "G", "F")
        assert lines_with(pilot, "is over with turn")
        assert pilot.app.screen.NAME == "arena"
        await press(pilot, "g", "j", "j", "F")
        turn = next(line for line in lines_with(pilot, "goes on after turn"))
        kept = int(turn.split("after turn ")[1].split(",")[0])
        await go(pilot, *("k" if pilot.app.screen.seats.item == "user" else "j",) * 2)
        for _ in range(2):
            if pilot.app.screen.seats.item != "user":
                await go(pilot, "j")
        await go(pilot, "u", "b")
        await until(pilot, "user says")
        first = episode.messages[0].text
        assert lines_with(pilot, first[:30])
        await say(pilot, "i changed my mind.")
        await until(pilot, "i changed my mind.")
        await until(pilot, "user says")
        await go(pilot, "escape", "L")
        await until(pilot, "recorded as fork-000001")
        await settled(pilot)
        assert [row.batch for row in source.conversations] == ["eval-000000", "fork-000001"]
    (fork,) = RunFolder.open(tmp_path / "run").episodes("fork-000001")
    assert fork.parent is not None
    assert fork.parent.episode == episode.id
    assert fork.parent.turn == kept
    assert fork.messages[0].text == first


class Slow:
    """A conversation that waits until the test lets it end."""

    def __init__(self, error: str = "") -> None:
        self.error = error
        self.go_on = asyncio.Event()

    async def __call__(self, start: object, who: Mapping[str, str], person: AgentSpec, emit: object) -> Episode:
        await self.go_on.wait()
        raise UsageError(self.error)


async def test_what_cannot_be_played_is_told_and_the_setting_kept() -> None:
    async with shown(FakeSource(), (120, 34)) as pilot:
        await press(pilot, "6", "enter")
        await typed(pilot, "nobody-of-this-name")
        await press(pilot, "enter")
        await go(pilot, "b")
        await until(pilot, "unknown agent or model")
        assert lines_with(pilot, "nobody-of-this-name")


async def test_an_unknown_scenario_and_a_deal_that_is_no_number_are_refused() -> None:
    async with shown(FakeSource(), (120, 34)) as pilot:
        await press(pilot, "6", "o")
        await typed(pilot, "nowhere")
        await press(pilot, "enter")
        assert lines_with(pilot, "unknown scenario 'nowhere'")
        assert lines_with(pilot, "o chooses another")
        await press(pilot, "o")
        await typed(pilot, "service-desk")
        await press(pilot, "enter", "d")
        await typed(pilot, "x")
        await press(pilot, "enter")
        assert lines_with(pilot, "a deal is a number")


async def test_quitting_asks_while_a_conversation_goes_on() -> None:
    async with shown(FakeSource(), (120, 34)) as pilot:
        talk = Slow("over")
        pilot.app._rooms["seat"] = room = SeatRoom(talk)
        pilot.app.install_screen(room, "seat")
        await go(pilot, "6", "b", "q")
        await until(pilot, "q again quits")
        assert pilot.app.is_running
        talk.go_on.set()
        await until(pilot, "over")
        assert not room.playing


async def test_one_seat_is_asked_at_a_time_and_a_wrong_call_is_refused() -> None:
    asked: list[Observation] = []
    door = seated.open_door(asked.append)
    tool = Tool(name="lookup", description="", parameters={"account": {"type": "string"}})
    seen = [
        Observation(episode="e", scenario="s", seat=seat, turn=1, seed=0, view=View(tools=(tool,)))
        for seat in "ab"
    ]
    tasks = [asyncio.create_task(seated.Seated().act(one)) for one in seen]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [one.seat for one in asked] == ["a"]
    with pytest.raises(UsageError):
        door.say("@lookup account=x extra=y")
    door.say("hello there")
    assert (await tasks[0]).text == "hello there"
    await asyncio.sleep(0)
    assert [one.seat for one in asked] == ["a", "b"]
    door.leave()
    assert (await tasks[1]).leave


async def test_nobody_at_the_screen_is_an_error_in_words() -> None:
    seated._open.clear()
    one = Observation(episode="e", scenario="s", seat="user", turn=1, seed=0, view=View())
    with pytest.raises(UsageError, match="nobody sits at seat 'user'"):
        await seated.Seated().act(one)
