"""A curve over steps: one line or a few, a band where there is a spread, the newest value beside the name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from simarena.arena.text import one_line
from simarena.tui.widgets.braille import Canvas, Point
from simarena.tui.widgets.sheet import inked


@dataclass(frozen=True, slots=True)
class Series:
    """One line."""

    name: str
    points: Sequence[Point]
    """(step, value)."""
    ink: str = "key"
    spread: Sequence[tuple[float, float, float]] = ()
    """(step, low, high) of a band around the line."""


@dataclass(frozen=True, slots=True)
class Plot:
    """What one curve shows."""

    title: str
    series: Sequence[Series] = ()
    floor: float | None = None
    """The axis reaches at least down to here."""
    ceiling: float | None = None
    percent: bool = False


_LABEL = 6
"""Columns of the labels at the left."""


class Curve(Widget):
    """A plot in a box of its own size: name, lines, steps."""

    plot: reactive[Plot] = reactive(Plot(""), layout=False)

    def __init__(self, plot: Plot | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(Curve.plot, plot or Plot(""))
        self._drawn: tuple[Plot, int, int] | None = None
        self._rows: list[Text] = []

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self._drawn != (self.plot, width, height):
            self._rows, self._drawn = rows(self.plot, width, height), (self.plot, width, height)
        if y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        return inked(self._rows[y], width, self.app.console).apply_style(self.rich_style)


def rows(plot: Plot, width: int, height: int) -> list[Text]:
    """The plot as `height` lines of `width` columns."""
    series = [one for one in plot.series if one.points]
    head = _head(plot, series, width)
    if height < 4 or width < _LABEL + 8 or not series:
        return [head, *([Text("  no figures yet", "faint")] if not series and height > 1 else [])]
    x, y = _window(plot, series)
    canvas = Canvas(width - _LABEL - 1, height - 2, x, y)
    for one in series:
        canvas.band(one.spread, "faint")
    for one in reversed(series):
        canvas.line(one.points, one.ink)
    labels = {0: figure(y[1], plot.percent), canvas.height - 1: figure(y[0], plot.percent)}
    if y[0] == y[1]:
        labels = {(canvas.height - 1) // 2: figure(y[0], plot.percent)}
    body = [
        Text.assemble((labels.get(i, "").rjust(_LABEL), "muted"), ("▏", "faint"), canvas.row(i))
        for i in range(canvas.height)
    ]
    left, right = f"{x[0]:g}", f"{x[1]:g}"
    gap = max(1, width - _LABEL - 1 - len(left) - len(right))
    return [head, *body, Text(" " * (_LABEL + 1) + left + " " * gap + right, "muted")]


def _head(plot: Plot, series: Sequence[Series], width: int) -> Text:
    """Its name, and at the right the newest values; where not all fit, the names of the lines in their inks."""
    text = Text(one_line(plot.title), "strong")
    values = [Text(figure(one.points[-1][1], plot.percent), one.ink) for one in series]
    if len(series) > 1:
        named = zip(series, values, strict=True)
        values = [Text.assemble((f"  {one_line(one.name)} ", "muted"), value) for one, value in named]
        if text.cell_len + sum(value.cell_len for value in values) + 1 > width:
            values = [Text(f" {one_line(one.name)}", one.ink) for one in series]
    newest = Text()
    for value in values:
        if newest.cell_len + value.cell_len + 4 <= width:
            newest.append_text(value)
    text.truncate(max(4, width - newest.cell_len - 2), overflow="ellipsis")
    return Text.assemble(text, " " * max(1, width - text.cell_len - newest.cell_len - 1), newest)


def _window(plot: Plot, series: Sequence[Series]) -> tuple[Point, Point]:
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points if math.isfinite(y)]
    ys += [edge for one in series for _, *edges in one.spread for edge in edges if math.isfinite(edge)]
    ys += [edge for edge in (plot.floor, plot.ceiling) if edge is not None]
    return (min(xs), max(xs)), (min(ys, default=0.0), max(ys, default=1.0))


def figure(value: float, percent: bool = False) -> str:
    """A number in at most six columns."""
    if not math.isfinite(value):
        return "–"
    if percent:
        return f"{value:.0%}"
    size = abs(value)
    if size >= 10_000:
        return f"{value / 1000:.0f}k"
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    if size >= 0.01:
        return f"{value:.2f}"
    return f"{value:.0e}" if size < 0.001 else f"{value:.3f}"
