"""Replaying a conversation by its keys."""

from feeds import FakeSource
from screens import lines_with, press, settled, shown, typed


def recorded() -> FakeSource:
    source = FakeSource()
    for turn in range(1, 7):
        source.say("a", "user" if turn % 2 else "assistant", f"line {turn}")
    source.end("a", database=True)
    source.say("b", "user", "cut off")
    source.end("b", success=None, ending="turn_cap")
    source.say("c", "user", "all well")
    source.end("c", database=True)
    source.live = False
    source.set(connection="recorded")
    return source


async def on_a(pilot: object) -> None:
    await press(pilot, "G", "enter")  # the newest stands first, so "a" is last


async def test_play_begins_at_the_first_line_and_runs_to_the_ending() -> None:
    async with shown(recorded()) as pilot:
        await on_a(pilot)
        await press(pilot, "r")
        assert lines_with(pilot, "▶ replay 1/6 at 2/s")
        assert not lines_with(pilot, "line 2")
        await press(pilot, *["plus"] * 3)
        assert lines_with(pilot, "at 16/s")
        await pilot.pause(0.7)
        await settled(pilot)
        assert lines_with(pilot, "line 6")
        assert lines_with(pilot, "ended   finished · success")
        assert lines_with(pilot, "‖ replay 6/6")


async def test_step_forward_and_back_and_pause() -> None:
    async with shown(recorded()) as pilot:
        await on_a(pilot)
        await press(pilot, "r", "p")
        assert lines_with(pilot, "‖ replay 1/6")
        await press(pilot, "full_stop", "full_stop")
        assert lines_with(pilot, "line 3")
        assert not lines_with(pilot, "line 4")
        await press(pilot, "comma")
        assert not lines_with(pilot, "line 3")
        await press(pilot, "r")
        assert lines_with(pilot, "line 6")
        assert not lines_with(pilot, "replay 2/6")


async def test_slower_has_a_floor() -> None:
    async with shown(recorded()) as pilot:
        await on_a(pilot)
        await press(pilot, "r", "p", *["minus"] * 9)
        assert lines_with(pilot, "at 0.5/s")


async def test_jump_to_a_turn() -> None:
    async with shown(recorded()) as pilot:
        await on_a(pilot)
        await press(pilot, "colon")
        await typed(pilot, "4")
        await press(pilot, "enter")
        assert pilot.app.screen.reader.block.head.text == "line 4"
        await press(pilot, "r", "p", "colon")
        await typed(pilot, "5")
        await press(pilot, "enter")
        assert lines_with(pilot, "replay 5/6")
        await press(pilot, "colon")
        await typed(pilot, "99")
        await press(pilot, "enter")
        assert lines_with(pilot, "no turn 99")
        await press(pilot, "colon")
        await typed(pilot, "x")
        await press(pilot, "enter")
        assert lines_with(pilot, "a turn is a number")


async def test_jump_to_endings_and_alarms() -> None:
    async with shown(recorded()) as pilot:
        await press(pilot, "g", "e")
        assert pilot.app.screen.reader.at_end
        assert pilot.app.screen.reader.opened.row.id == "c"
        await press(pilot, "e")
        assert pilot.app.screen.reader.opened.row.id == "b"
        await press(pilot, "e")
        assert pilot.app.screen.reader.opened.row.id == "a"
        assert pilot.app.screen.reader.at_end
        await press(pilot, "e")
        assert lines_with(pilot, "no conversation below this one has ended")
    async with shown(recorded()) as pilot:
        await press(pilot, "g", "a")
        assert pilot.app.screen.reader.opened.row.id == "b"
        await press(pilot, "a")
        assert lines_with(pilot, "no conversation below this one has ended badly")
