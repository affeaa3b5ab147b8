"""The Arena by its keys: what a person presses, and what then stands on the screen."""

import dataclasses

import pytest
from feeds import FakeSource, row
from scenes import desk, tooled
from screens import lines_with, press, settled, shown, text_of, typed


async def test_list_and_conversation_stand_side_by_side() -> None:
    async with shown(desk()) as pilot:
        text = text_of(pilot)
    assert "Conversations 3" in text
    assert "✓ train-1/0/1" in text
    assert "‖ train-1/0/2" in text
    assert "● train-1/0/0" in text
    assert "● connected" in text
    assert "12:00:00 UTC" in text


async def test_the_newest_running_conversation_is_followed() -> None:
    source = desk()
    async with shown(source) as pilot:
        assert lines_with(pilot, "what is your code?")
        source.say("train-1/0/0", "user", "my code is 42")
        await settled(pilot)
        assert lines_with(pilot, "my code is 42")


async def test_moving_opens_what_is_under_the_cursor() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "t", "g")
        assert len(lines_with(pilot, "never mind")) == 1
        assert lines_with(pilot, "ended   turn_cap")
        await press(pilot, "j")
        assert lines_with(pilot, "cancel everything now")
        assert lines_with(pilot, "ended   finished · success")
        await press(pilot, "k")
        assert lines_with(pilot, "ended   turn_cap")
        await press(pilot, "right_square_bracket", "right_square_bracket")
        assert lines_with(pilot, "please refund my trip")
        await press(pilot, "left_square_bracket")
        assert lines_with(pilot, "cancel everything now")


async def test_a_turn_shows_reward_advantage_and_at_the_end_the_checks() -> None:
    async with shown(tooled(), (120, 40)) as pilot:
        text = text_of(pilot)
        assert "+0.20   +0.31" in text
        assert "+1.00   −0.50" in text
        assert "✓ database" in text
        assert "✗ told" in text
        assert "(thinks) look it up first" in text
        assert "(to nobody only) psst" in text


async def test_the_turn_panel_uses_a_wide_screen() -> None:
    async with shown(tooled(), (180, 40)) as pilot:
        await press(pilot, "enter", "j")
        text = text_of(pilot)
        for words in ("version   7", "tokens    12", "finish    stop", "account", "+0.22", "heard by"):
            assert words in text


async def test_tool_calls_fold_and_open() -> None:
    async with shown(tooled(), (150, 40)) as pilot:
        assert lines_with(pilot, "@lookup account=cedar → trip to")
        await press(pilot, "enter", "j", "j", "o")
        assert lines_with(pilot, "→ trip to tokyo")
        assert lines_with(pilot, "seat: 14C")
        await press(pilot, "o")
        assert not lines_with(pilot, "seat: 14C")
        await press(pilot, "O")
        assert lines_with(pilot, "seat: 14C")


async def test_filter_narrows_the_list_and_escape_takes_it_away() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "f")
        await typed(pilot, "NOT result:turn_cap")
        await press(pilot, "enter")
        assert lines_with(pilot, "Conversations 2 of 3")
        assert not lines_with(pilot, "‖ train-1/0/2")
        await press(pilot, "escape")
        assert lines_with(pilot, "Conversations 3")


async def test_a_filter_that_fits_nothing_says_so_and_what_to_do() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "f")
        await typed(pilot, "persona:nobody")
        await press(pilot, "enter")
        assert lines_with(pilot, "None of 3 conversations fits")
        assert lines_with(pilot, "esc takes the filter away")


async def test_a_wrong_filter_is_refused_in_words() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "f")
        await typed(pilot, "persna:x")
        await press(pilot, "enter")
        assert lines_with(pilot, "unknown query field 'persna'")
        assert lines_with(pilot, "Conversations 3")
        assert pilot.app.screen.query_one("Input").value == "persna:x"  # to be mended
        await typed(pilot, "y")
        await press(pilot, *["left"] * 5, "o", "enter")
        assert lines_with(pilot, "None of 3 conversations fits")
        assert lines_with(pilot, "persona:xy")


async def test_a_filter_that_takes_too_long_is_given_up_in_words_and_can_be_mended() -> None:
    source = desk()
    source.say("train-4/0/3", "user", "a" * 159 + "b")
    async with shown(source) as pilot:
        await press(pilot, "f")
        await typed(pilot, "/(a|aa)+$/")
        await press(pilot, "enter")
        assert lines_with(pilot, "takes too long on 'aaaaaaa")
        assert lines_with(pilot, f"Conversations {len(source.conversations)}")
        assert pilot.app.screen.query_one("Input").value == "/(a|aa)+$/"
        await press(pilot, "escape")
        assert pilot.app.screen.listing.has_focus


async def test_a_message_covers_nothing_but_the_hints() -> None:
    async with shown(desk()) as pilot:
        before = text_of(pilot).split("\n")
        pilot.app.tell("told")
        await settled(pilot)
        after = text_of(pilot).split("\n")
        assert after[-1] == " told"
        assert after[:-1] == before[:-1]


async def test_the_query_of_the_command_line_is_the_first_filter() -> None:
    async with shown(desk(), query="success:yes") as pilot:
        assert lines_with(pilot, "Conversations 1 of 3  success:yes")


async def test_search_finds_in_the_list_and_in_the_conversation() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "t", "g", "slash")
        await typed(pilot, "74")
        await press(pilot, "enter")
        assert pilot.app.screen.listing.row.id == "train-1/0/1"
        await press(pilot, "enter", "g", "n")
        assert pilot.app.screen.reader.block.head.text == "it is done, number 74."
        await press(pilot, "slash", *["backspace"] * 2)
        await typed(pilot, "zebra")
        await press(pilot, "enter")
        assert lines_with(pilot, "'zebra' is nowhere in")


async def test_sort_and_reverse() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "t", *["s"] * 7)
        ids = [one.id for one in pilot.app.screen.listing.rows]
        assert ids[0] == "train-1/0/1"
        assert lines_with(pilot, "reward↓")
        await press(pilot, "S")
        assert [one.id for one in pilot.app.screen.listing.rows] != ids
        assert lines_with(pilot, "reward↑")


async def test_pause_holds_the_screen_while_messages_are_taken_in() -> None:
    source = desk()
    async with shown(source) as pilot:
        await press(pilot, "space")
        for turn in range(312):
            source.say("train-1/0/0", "user", f"line {turn}")
        await settled(pilot)
        assert lines_with(pilot, "paused, +312 new")
        assert not lines_with(pilot, "line 311")
        await press(pilot, "space")
        assert not lines_with(pilot, "paused")
        assert lines_with(pilot, "line 311")


async def test_the_cursor_stays_on_its_conversation_while_others_arrive() -> None:
    source = desk()
    async with shown(source) as pilot:
        await press(pilot, "t", "g", "j")
        before = pilot.app.screen.listing.row.key
        for i in range(50):
            source.say(f"train-2/{i}/0", "user", "hello")
        await settled(pilot)
        assert pilot.app.screen.listing.row.key == before


async def test_narrow_screens_show_one_pane_at_a_time() -> None:
    async with shown(desk(), (80, 24)) as pilot:
        assert not lines_with(pilot, "turn  who")
        await press(pilot, "enter")
        assert lines_with(pilot, "turn  who")
        assert not lines_with(pilot, "Conversations 3")
        await press(pilot, "escape")
        assert lines_with(pilot, "Conversations 3")


async def test_zoom_and_resize() -> None:
    async with shown(desk()) as pilot:
        before = pilot.app.screen.query_one("#left").size.width
        await press(pilot, "greater_than_sign")
        assert pilot.app.screen.query_one("#left").size.width == before + 4
        await press(pilot, "less_than_sign")
        assert pilot.app.screen.query_one("#left").size.width == before
        await press(pilot, "enter", "z")
        assert not lines_with(pilot, "Conversations 3")
        await press(pilot, "z")
        assert lines_with(pilot, "Conversations 3")


async def test_the_mouse_chooses_and_opens() -> None:
    async with shown(desk()) as pilot:
        await press(pilot, "t")
        await pilot.click("#list", offset=(5, 1))
        await settled(pilot)
        assert pilot.app.screen.listing.cursor == 1
        await pilot.click("#list", offset=(5, 2), times=2)
        await settled(pilot)
        assert pilot.app.screen.reader.has_focus


async def test_nothing_yet_and_nothing_recorded_say_what_to_do() -> None:
    source = FakeSource()
    async with shown(source) as pilot:
        assert lines_with(pilot, "Nothing has been said yet.")
    source.set(connection="recorded")
    async with shown(source) as pilot:
        assert lines_with(pilot, "This run recorded no conversations.")
        assert lines_with(pilot, "■ recorded")


@pytest.mark.parametrize("connection", ["reconnecting", "lost"])
async def test_a_lost_connection_is_told_with_what_to_do(connection: str) -> None:
    source = desk()
    source.set(connection=connection, detail="the server is gone: start it again")
    async with shown(source) as pilot:
        assert lines_with(pilot, f"{connection}  the server is gone: start it again")


async def test_a_conversation_that_cannot_be_read_is_told_in_its_place() -> None:
    source = desk()
    async with shown(source) as pilot:
        await press(pilot, "t")
        source.conversations.put(dataclasses.replace(row("x/1"), key="x/1"))
        await settled(pilot)
        del source.conversations._rows["x/1"]
        pilot.app.screen.open(row("x/1"))
        await settled(pilot)
        assert lines_with(pilot, "unknown conversation 'x/1'")
