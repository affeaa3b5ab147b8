"""The Why screen: the group, the turns, the comparison, the tokens; and what it says where there is nothing."""

from pathlib import Path

from scenes import explained
from screens import lines_with, press, shown, text_of


async def test_w_explains_the_open_conversation() -> None:
    async with shown(explained(), (160, 44)) as pilot:
        await press(pilot, "t", "g", "w")
        text = text_of(pilot)
    for words in (
        "Why  a/1  assistant  returns normalise=centre",
        "trained at step 4",
        "▸ 1         +1.30     1.00  ✓ finished     +0.40 +0.60",
        "  0         +0.10     0.00  ✗ finished     −0.40 −0.60",
        "‖ turn_cap    not credited",
        "This turn in the group  deal 7 × assistant",
        "1.3000 − baseline 0.7000 = advantage +0.6000",
        "Reward by its parts",
        "hello it is",
    ):
        assert words in text, words


async def test_turns_and_members_are_walked_through() -> None:
    async with shown(explained(), (160, 44)) as pilot:
        await press(pilot, "t", "g", "w")
        assert lines_with(pilot, "Turn 2  words 0 of member 1")
        await press(pilot, "right_square_bracket")
        assert lines_with(pilot, "Turn 4  words 1 of member 1")
        await press(pilot, "left_square_bracket")
        assert lines_with(pilot, "Turn 2  words 0 of member 1")
        pilot.app.screen.group.focus()
        await press(pilot, "j", "enter")
        assert lines_with(pilot, "Why  a/0")
        assert lines_with(pilot, "words 0 of member 0")


async def test_token_colours_change() -> None:
    async with shown(explained(), (160, 44)) as pilot:
        await press(pilot, "t", "g", "w")
        assert lines_with(pilot, "probability when sampled")
        await press(pilot, "c")
        assert lines_with(pilot, "advantage: raised lowered read")


async def test_the_computation_is_copied_and_the_place_told(tmp_path: Path) -> None:
    async with shown(explained(), (160, 44)) as pilot:
        await press(pilot, "t", "g", "w", "y")
        assert lines_with(pilot, "to the terminal's clipboard")
        assert "1.3000 − baseline" in pilot.app.clipboard


async def test_without_a_conversation_or_a_record_it_says_what_to_do() -> None:
    async with shown(explained()) as pilot:
        await press(pilot, "3")
        assert lines_with(pilot, "No conversation is chosen.")
        await press(pilot, "escape")
        assert lines_with(pilot, "Conversations 2")
    source = explained()
    source._whys.clear()
    async with shown(source) as pilot:
        await press(pilot, "t", "g", "w")
        assert lines_with(pilot, "nothing was recorded on how 'a/1' was credited")


async def test_a_narrow_screen_shows_turns_above_and_the_turn_below() -> None:
    async with shown(explained(), (80, 24)) as pilot:
        await press(pilot, "g", "enter", "w")
        assert lines_with(pilot, "words 0 of member 1")
        assert lines_with(pilot, "This turn in the group")
