"""Who hears whom, drawn: seats as boxes, a line where one can hear the other, brighter where more was said.

The layout is networkx's; the lines are braille dots with the boxes and counts on top. Pure: knows no widget.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from simarena.arena.text import one_line
from simarena.tui.themes import seat_ink
from simarena.tui.widgets.braille import Canvas

Edge = tuple[str, str]
_NAME = 16
"""Columns of a box's name at most."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How much one seat said that another could hear."""

    messages: int = 0
    words: int = 0
    private: int = 0
    """Messages that not everyone could hear."""


@dataclass(slots=True)
class _Cell:
    sign: str = " "
    ink: str = "plain"


def drawing(graph: "nx.DiGraph[str]", traffic: Mapping[Edge, Traffic], width: int, height: int) -> list[Text]:
    """The graph in `height` lines of `width` columns. An edge a → b means that b hears a."""
    seats = list(graph)
    if not seats or width < 20 or height < 5:
        return []
    cells = _lines(graph, traffic, width, height)
    places = _places(seats, graph, width, height)
    for a, b in _pairs(graph):
        _counts(cells, places[a], places[b], _label(a, b, graph, traffic, places))
    for i, seat in enumerate(seats):
        _box(cells, places[seat], seat, seat_ink(i))
    return [_row(row) for row in cells]


def _pairs(graph: "nx.DiGraph[str]") -> list[Edge]:
    """Each two seats of which one can hear the other, once."""
    return sorted({(min(edge), max(edge)) for edge in graph.edges})


def _places(seats: Sequence[str], graph: "nx.DiGraph[str]", width: int, height: int) -> dict[str, tuple[int, int]]:
    """The middle of each box, in cells."""
    if len(seats) == 1:
        return {seats[0]: (width // 2, height // 2)}
    layout = nx.circular_layout(graph) if len(seats) > 2 else {seats[0]: (-1.0, 0.0), seats[1]: (1.0, 0.0)}
    reach = min(width / 2 - _NAME / 2 - 3, 2.4 * (height / 2 - 2) if len(seats) > 2 else 30)
    return {
        seat: (round(width / 2 + x * reach), round(height / 2 - 0.5 + y * (height / 2 - 2)))
        for seat, (x, y) in layout.items()
    }


def _lines(
    graph: "nx.DiGraph[str]", traffic: Mapping[Edge, Traffic], width: int, height: int
) -> list[list[_Cell]]:
    canvas = Canvas(width, height, (0, width - 1), (-(height - 1), 0))
    places = _places(list(graph), graph, width, height)
    most = max((t.messages for t in traffic.values()), default=0)
    for a, b in sorted(_pairs(graph), key=lambda pair: _said(pair, traffic)):
        said = _said((a, b), traffic)
        ink = "faint" if not said else ("key" if said >= most else "muted")
        (x1, y1), (x2, y2) = places[a], places[b]
        canvas.line([(x1, -y1), (x2, -y2)], ink)
    rows = [canvas.row(y) for y in range(height)]
    return [[_Cell(char, ink) for char, ink in _signs(row, width)] for row in rows]


def _signs(row: Text, width: int) -> list[tuple[str, str]]:
    inks = ["plain"] * width
    for span in row.spans:
        inks[span.start : span.end] = [str(span.style)] * (span.end - span.start)
    return list(zip(row.plain.ljust(width), inks, strict=False))


def _said(pair: Edge, traffic: Mapping[Edge, Traffic]) -> int:
    a, b = pair
    return traffic.get((a, b), Traffic()).messages + traffic.get((b, a), Traffic()).messages


def _label(
    a: str,
    b: str,
    graph: "nx.DiGraph[str]",
    traffic: Mapping[Edge, Traffic],
    places: Mapping[str, tuple[int, int]],
) -> list[str]:
    """What went over the line, an arrow for each direction in which one can hear the other."""
    arrows = []
    for source, target in ((a, b), (b, a)):
        if graph.has_edge(source, target):
            count = traffic.get((source, target), Traffic()).messages
            arrows.append(_arrow(places[source], places[target]).format(f"{count:,}"))
    return arrows


def _arrow(source: tuple[int, int], target: tuple[int, int]) -> str:
    angle = math.atan2(source[1] - target[1], target[0] - source[0])
    sign = "→↗↑↖←↙↓↘"[round(angle / (math.pi / 4)) % 8]
    return f" {{}} {sign} " if sign in "→↗↘↑" else f" {sign} {{}} "


def _counts(cells: list[list[_Cell]], a: tuple[int, int], b: tuple[int, int], labels: Sequence[str]) -> None:
    x, y = (a[0] + b[0]) // 2, (a[1] + b[1]) // 2
    for i, label in enumerate(labels):
        _put(cells, x - len(label) // 2, y + i - len(labels) // 2, label, "strong")


def _box(cells: list[list[_Cell]], middle: tuple[int, int], name: str, ink: str) -> None:
    label = one_line(name)
    size = min(cell_len(label), _NAME)
    label = set_cell_size(label, size)
    left = middle[0] - size // 2 - 2
    for dy, text in ((-1, f"╭{'─' * (size + 2)}╮"), (0, f"│ {label} │"), (1, f"╰{'─' * (size + 2)}╯")):
        _put(cells, left, middle[1] + dy, text, ink)


def _put(cells: list[list[_Cell]], x: int, y: int, text: str, ink: str) -> None:
    if not 0 <= y < len(cells):
        return
    for sign in text:
        for part in (sign, *[""] * (cell_len(sign) - 1)):
            if 0 <= x < len(cells[y]):
                cells[y][x] = _Cell(part, ink)
            x += 1


def _row(cells: Sequence[_Cell]) -> Text:
    text = Text(no_wrap=True, end="")
    for cell in cells:
        text.append(cell.sign, cell.ink)
    return text
