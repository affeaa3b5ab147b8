"""Screens in tests: the app on a source in memory, with a fixed clock, and what stands on it as plain text."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from simarena.tui.app import WatchApp

NOON = 1_796_126_400.0
"""2026-12-01 12:00:00 UTC."""


@asynccontextmanager
async def shown(source: Any, size: tuple[int, int] = (120, 40), **more: Any) -> AsyncIterator[Pilot[int]]:
    """The app on this source, drawn once."""
    app = WatchApp(source, now=lambda: NOON, **more)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the screen has looked at the source and everything begun by that is done."""
    for _ in range(2):  # the second has nothing to replace
        pilot.app._look()  # type: ignore[attr-defined]
        with suppress(WorkerCancelled):  # a newer look took its place
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def until(pilot: Pilot[Any], words: str) -> None:
    """Wait for what comes by itself; a busy machine may take its time."""
    for _ in range(400):
        if lines_with(pilot, words):
            return
        await pilot.pause(0.05)
    raise AssertionError(f"{words!r} never appeared:\n{text_of(pilot)}")


async def typed(pilot: Pilot[Any], text: str) -> None:
    """Type into whatever asks for it."""
    await pilot.press(*("space" if sign == " " else sign for sign in text))
    await settled(pilot)


def text_of(pilot: Pilot[Any]) -> str:
    """The whole screen as lines of plain text."""
    screen = pilot.app.screen
    strips = screen._compositor.render_strips(screen.size)
    return "\n".join(strip.text.rstrip() for strip in strips)


def lines_with(pilot: Pilot[Any], words: str) -> list[str]:
    return [line for line in text_of(pilot).split("\n") if words in line]
