"""A picture of the screen as SVG, for a README or a report: the same app, drawn without a terminal.

Needs no fonts or hosts of others when it is looked at. Knows no screen's contents.
"""

import re
from collections.abc import Sequence

from textual.pilot import Pilot

from simarena.tui.app import WatchApp
from simarena.tui.feed.source import Source

SIZE = (132, 38)
"""Columns and lines."""
_FONTS = re.compile(r"@font-face \{[^}]*\}\s*")
_FAMILY = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


async def picture(
    source: Source,
    *,
    query: str = "",
    keys: Sequence[str] = (),
    size: tuple[int, int] = SIZE,
    theme: str = "",
) -> str:
    """The screen of a started source after these keys, as SVG. Its clock stands at the newest message."""
    newest = max((row.updated for row in source.conversations), default=0.0)
    app = WatchApp(source, query, now=lambda: newest, theme=theme)
    drawn: list[str] = []

    async def shoot(pilot: Pilot[object]) -> None:
        await _settled(pilot)
        for key in keys:
            await pilot.press(key)
            await _settled(pilot)
        drawn.append(app.export_screenshot(title=f"simarena watch {source.title}", simplify=True))
        app.exit(0)

    await app.run_async(headless=True, size=size, auto_pilot=shoot)
    return _alone(drawn[0])


async def _settled(pilot: Pilot[object]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.3)


def _alone(svg: str) -> str:
    """The picture without what it would load from elsewhere."""
    return _FONTS.sub("", svg).replace("Fira Code, monospace", _FAMILY)
