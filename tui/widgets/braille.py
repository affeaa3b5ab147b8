"""Lines over steps as braille dots: eight points to a cell, one ink to a cell.

Pure: numbers in, texts in inks out. Knows no widget and no metric.
"""

import math
from collections.abc import Iterable, Sequence

from rich.text import Text

Point = tuple[float, float]
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bit of the dot in column x (0 or 1) and row y (0 at the top) of a cell."""


class Canvas:
    """Dots in a window of the plane; what is drawn later lies on top."""

    def __init__(self, width: int, height: int, x: tuple[float, float], y: tuple[float, float]) -> None:
        """`width` and `height` in cells; `x` and `y` the values at the edges."""
        self.width, self.height = max(1, width), max(1, height)
        self._x, self._y = _opened(x), _opened(y)
        self._bits = [[0] * self.width for _ in range(self.height)]
        self._inks = [["plain"] * self.width for _ in range(self.height)]

    def line(self, points: Sequence[Point], ink: str) -> None:
        """Join the points by straight lines; a number that is not finite breaks the line."""
        dots = [self._dot(point) for point in points]
        for here, there in zip(dots, [*dots[1:], None], strict=True):
            if here is not None:
                for dot in _between(here, there if there is not None else here):
                    self._set(*dot, ink)

    def band(self, points: Sequence[tuple[float, float, float]], ink: str) -> None:
        """Fill between (x, low, high) in every other dot."""
        dots = [(self._dot((x, low)), self._dot((x, high))) for x, low, high in points]
        for (bottom, top), (low, high) in zip(dots, dots[1:] or dots, strict=False):
            if bottom is None or top is None or low is None or high is None:
                continue
            for x in range(bottom[0], low[0] + 1):
                share = (x - bottom[0]) / max(1, low[0] - bottom[0])
                first = round(top[1] + share * (high[1] - top[1]))
                last = round(bottom[1] + share * (low[1] - bottom[1]))
                for y in range(first, last + 1):
                    if (x + y) % 2 == 0:
                        self._set(x, y, ink)

    def row(self, y: int) -> Text:
        """One line of cells."""
        text = Text(no_wrap=True, end="")
        for bits, ink in zip(self._bits[y], self._inks[y], strict=True):
            text.append(chr(0x2800 + bits) if bits else " ", ink if bits else "plain")
        return text

    def _dot(self, point: Point) -> tuple[int, int] | None:
        if not all(map(math.isfinite, point)):
            return None
        (left, right), (bottom, top) = self._x, self._y
        x = (point[0] - left) / (right - left) * (2 * self.width - 1)
        y = (top - point[1]) / (top - bottom) * (4 * self.height - 1)
        return round(x), round(y)

    def _set(self, x: int, y: int, ink: str) -> None:
        if 0 <= x < 2 * self.width and 0 <= y < 4 * self.height:
            if self._inks[y // 4][x // 2] != ink:
                self._inks[y // 4][x // 2] = ink
                self._bits[y // 4][x // 2] = 0
            self._bits[y // 4][x // 2] |= _DOTS[x % 2][y % 4]


def _opened(edges: tuple[float, float]) -> tuple[float, float]:
    """A window of no size is opened around its value."""
    low, high = edges
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _between(a: tuple[int, int], b: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """The dots of the straight line from a to b, both among them."""
    steps = max(abs(b[0] - a[0]), abs(b[1] - a[1]), 1)
    for i in range(steps + 1):
        yield round(a[0] + (b[0] - a[0]) * i / steps), round(a[1] + (b[1] - a[1]) * i / steps)


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as blocks of eight heights."""
    shown = [value for value in values if math.isfinite(value)][-width:]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    span = high - low or 1.0
    return "".join("▁▂▃▄▅▆▇█"[min(7, int((value - low) / span * 8))] for value in shown)


def bar(share: float, width: int, ink: str = "key") -> Text:
    """A share in [0, 1] as a line of half columns on a faint track."""
    whole, half = divmod(round(max(0.0, min(1.0, share)) * width * 2), 2)
    line = "━" * whole + "╸" * half
    return Text.assemble((line, ink), ("─" * (width - len(line)), "faint"))
