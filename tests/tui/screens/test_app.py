"""What holds on every screen: help, palette, hints, themes, settings, copying, quitting."""

from functools import partialmethod
from pathlib import Path

import pytest
from feeds import FakeSource
from screens import lines_with, press, settled, shown, text_of, typed, until
from textual.color import Color
from textual.theme import Theme

from simarena.arena.errors import SimArenaError
from simarena.tui import clipboard, settings
from simarena.tui.app import WatchApp, known_actions, run_app
from simarena.tui.screens.room import ROOMS
from simarena.tui.themes import THEMES, inks

BLACK = Color.parse("black")


def talk() -> FakeSource:
    source = FakeSource()
    source.say("a", "user", "good morning")
    source.say("a", "assistant", "hello, how can i help?", reward=-0.02)
    return source


async def test_number_keys_and_clicks_go_to_every_screen() -> None:
    async with shown(talk(), (160, 44)) as pilot:
        for key, name in enumerate(ROOMS, 1):
            await press(pilot, str(key))
            assert name == pilot.app.screen.NAME
        await press(pilot, "1")
        await pilot.click("#tabs", offset=(14, 0))
        await settled(pilot)
        assert pilot.app.screen.NAME == "training"


async def test_help_lists_the_keys_that_work_here_with_their_ids() -> None:
    async with shown(talk(), (120, 80)) as pilot:
        await press(pilot, "question_mark")
        text = text_of(pilot)
        for words in ("arena.filter", "replay.step", "app.pause", "watch.toml", "The mouse works too"):
            assert words in text
        await press(pilot, "escape")
        assert pilot.app.screen.NAME == "arena"


async def test_the_palette_has_every_action_of_the_screen() -> None:
    async with shown(talk()) as pilot:
        screen = pilot.app.screen
        names = {command.title for command in pilot.app.get_system_commands(screen)}
        wanted = {a.binding.description for a in screen.active_bindings.values() if a.binding.id}
        assert wanted
        assert wanted <= names
        assert {f"Theme {theme.name}" for theme in THEMES} <= names


async def test_the_palette_carries_out_what_is_chosen() -> None:
    async with shown(talk()) as pilot:
        await press(pilot, "ctrl+p")
        await typed(pilot, "pause")
        await until(pilot, "(app.pause)")
        await press(pilot, "down", "enter")
        await until(pilot, "‖ paused")


async def test_hints_are_true() -> None:
    async with shown(talk(), (160, 44)) as pilot:
        line = text_of(pilot).split("\n")[-1]
        assert "⏎ Open" in line
        assert "Play/pause" not in line
        assert "Next match" not in line
        await press(pilot, "enter")
        line = text_of(pilot).split("\n")[-1]
        assert "⏎ Open" not in line
        assert "esc Back" in line
        await press(pilot, "r")
        assert "p Play/pause" in text_of(pilot).split("\n")[-1]


async def test_a_hint_can_be_clicked() -> None:
    async with shown(talk(), (160, 44)) as pilot:
        at = text_of(pilot).split("\n")[-1].index("space Pause")
        await pilot.click("#hints", offset=(at + 2, 0))
        await settled(pilot)
        assert lines_with(pilot, "‖ paused")


async def test_help_and_quit_are_hinted_on_the_smallest_screen() -> None:
    async with shown(talk(), (80, 24)) as pilot:
        line = text_of(pilot).split("\n")[-1]
        assert line.rstrip().endswith("? Help  q Quit")
        assert len(line) <= 80


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_every_theme_shows_every_screen(theme: str) -> None:
    async with shown(talk(), theme=theme) as pilot:
        for key in range(1, 7):
            await press(pilot, str(key))
        assert pilot.app.theme == theme


async def test_themes_change_with_a_key_and_the_inks_with_them() -> None:
    async with shown(talk()) as pilot:
        before = pilot.app.console.get_style("good")
        await press(pilot, "T")
        assert pilot.app.theme == "simarena-light"
        assert pilot.app.console.get_style("good") != before


async def test_no_color_leaves_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(talk()) as pilot:
        assert pilot.app.theme == "simarena-ansi"
        strips = pilot.app.screen._compositor.render_strips(pilot.app.screen.size)
        drawn = [part for strip in strips for part in strip.apply_filter(pilot.app._filters[-1], BLACK)]
        assert drawn
        colours = [c for part in drawn if part.style for c in (part.style.color, part.style.bgcolor) if c]
        assert all(colour.is_default for colour in colours)
        assert any(part.style and part.style.reverse for part in drawn), "the cursor must still be seen"


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_words_can_be_read_on_every_ground(theme: Theme) -> None:
    """WCAG contrast of at least 4.5 for what is read and 3 for what only separates; terminals choose ANSI's."""
    if theme.ansi:
        pytest.skip("the terminal chooses these colours")
    styles = inks(theme).styles
    grounds = [Color.parse(theme.background), Color.parse(theme.variables["chosen"])]
    for name in ("muted", "key", "good", "bad", "warn", "seat1", "seat2", "seat3", "seat4", "seat5"):
        colour = Color.from_rich_color(styles[name].color)
        for ground in grounds[: 1 if name == "muted" else 2]:
            assert _contrast(colour, ground) >= 4.5, (name, ground)
    assert _contrast(Color.from_rich_color(styles["quiet"].color), grounds[0]) >= 2.7


def _contrast(one: Color, other: Color) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    parts = [c / 255 for c in colour.rgb]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


async def test_settings_give_theme_and_keys(settings_home: Path) -> None:
    settings_home.parent.mkdir(parents=True)
    settings_home.write_text('theme = "simarena-light"\n[keys]\n"arena.filter" = "F"\n[keys.app]\npause = "b"\n')
    async with shown(talk()) as pilot:
        assert pilot.app.theme == "simarena-light"
        await press(pilot, "b")
        assert lines_with(pilot, "‖ paused")
        assert "F Filter" in text_of(pilot).split("\n")[-1]
        await press(pilot, "f")
        assert not pilot.app.screen.prompt.purpose
        await press(pilot, "F")
        assert pilot.app.screen.prompt.purpose == "filter"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('theme = "simarena-lite"', "did you mean 'simarena-light'"),
        ('[keys]\n"arena.fliter" = "F"', "did you mean 'arena.filter'"),
        ('[keys]\n"arena.filter" = 3', "give a key such as"),
        ("colour = 1", "unknown setting 'colour'"),
        ("theme = ", "cannot read"),
    ],
)
def test_wrong_settings_are_refused_in_words(settings_home: Path, text: str, words: str) -> None:
    settings_home.parent.mkdir(parents=True)
    settings_home.write_text(text)
    with pytest.raises(SimArenaError, match=words):
        settings.load(tuple(theme.name for theme in THEMES), tuple(known_actions()))


def test_action_ids_are_distinct_keys_of_the_settings() -> None:
    ids = set(known_actions())
    assert {"arena.filter", "sheet.down", "reader.fold", "replay.step", "app.quit", "why.shade"} <= ids
    assert all("." in one for one in ids)


async def test_copying_says_where_the_text_went(tmp_path: Path) -> None:
    async with shown(talk()) as pilot:
        await press(pilot, "enter", "y")
        assert lines_with(pilot, "to the terminal's clipboard")
        assert pilot.app.clipboard == "assistant: hello, how can i help?"
        await press(pilot, "Y")
        assert pilot.app.clipboard.startswith("user: good morning")


def test_copying_without_a_desktop_also_writes_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    sent: list[str] = []
    told = clipboard.copy("hello", sent.append)
    (file,) = tmp_path.glob("simarena-copied-*.txt")
    assert sent == ["hello"]
    assert str(file) in told
    assert file.read_text() == "hello"
    assert file.stat().st_mode & 0o777 == 0o600
    told = clipboard.copy("x" * 80_000, sent.append)
    assert sent == ["hello"]
    assert "too long for the terminal" in told


def test_copying_uses_the_desktop_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "wl-copy"
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/got\n")
    program.chmod(0o755)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    told = clipboard.copy("hello", lambda text: pytest.fail("the terminal is not needed"))
    assert "wl-copy" in told
    assert (tmp_path / "got").read_text() == "hello"


async def test_q_quits_with_exit_code_zero() -> None:
    async with shown(talk()) as pilot:
        await pilot.press("q")
        await pilot.pause()
    assert pilot.app.return_value == 0


@pytest.mark.parametrize("breaks", [False, True])
async def test_an_app_that_breaks_down_is_exit_code_one(monkeypatch: pytest.MonkeyPatch, breaks: bool) -> None:
    def first_look(app: WatchApp) -> None:
        if breaks:
            raise RuntimeError("a defect")
        app.call_later(app.action_quit)

    monkeypatch.setattr(WatchApp, "_look", first_look)
    monkeypatch.setattr(WatchApp, "run_async", partialmethod(WatchApp.run_async, headless=True))
    assert await run_app(talk()) == int(breaks)


async def test_pausing_and_stopping_a_run_asks_first_and_resuming_does_not() -> None:
    source = FakeSource()
    async with shown(source, (120, 30)) as pilot:
        await press(pilot, "P", "X")
        assert source.asked == []
        assert not lines_with(pilot, "Stop run"), "nobody can be asked here"
        source.set(run="running")
        await press(pilot, "2")
        assert lines_with(pilot, "P Pause run")
        await press(pilot, "P")
        assert lines_with(pilot, "the run pauses when its step is done, for everyone: P again does it")
        assert source.asked == []
        await press(pilot, "X")
        assert lines_with(pilot, "it is saved, and train --resume goes on: X again does it")
        assert source.asked == [], "another key is no yes"
        await press(pilot, "X")
        assert source.asked == ["stop"]
        source.set(run="paused")
        await press(pilot, "1")
        assert lines_with(pilot, "the run is paused")
        await press(pilot, "P")
        assert source.asked == ["stop", "resume"]
        source.set(run="stopping")
        await press(pilot, "P", "X", "X")
        assert source.asked == ["stop", "resume"]
