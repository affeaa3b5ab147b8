"""Charts of a tournament as inline SVG and HTML tables: intervals, lines over time, the cross-table, the bracket.

Pure functions of numbers and names to markup; every name passes `page.safe`.
"""

from collections.abc import Mapping, Sequence

import networkx as nx

from simarena.arena.page import safe
from simarena.arena.tournament.results import Standing

STYLE = """
.num{text-align:right}td.cell{text-align:center;padding:.15rem .3rem;min-width:2.6rem;font-size:12px}
th.side{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:400;font-size:12px;padding:.3rem 0}
.wide{overflow-x:auto}svg.bar{width:320px;height:16px;border:0;vertical-align:middle}
.bar line{stroke:var(--accent);stroke-width:2}.bar .zero{stroke:var(--line);stroke-width:1}
.trail{stroke-width:1.4;fill:none}.band{fill:var(--accent);opacity:.15}
details{margin:.3rem 0}summary{cursor:pointer}
.bracket{display:flex;gap:1.4rem;align-items:center;overflow-x:auto}
.bracket>div{display:flex;flex-direction:column;justify-content:space-around;gap:.5rem;min-width:9rem}
.meet{border:1px solid var(--line);border-radius:6px;padding:.15rem .5rem;font-size:13px}
.meet div{color:var(--soft)}.meet .won{color:var(--ink);font-weight:600}
"""
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _EDGE = 760, 300, 46, 150, 18
_HUES = ("#2563a8", "#c2571a", "#1b7f4d", "#8a3fa0", "#b8860b", "#0f8b8d", "#c2185b", "#5b6b7f")


def whisker(row: Standing, low: float, high: float) -> str:
    """A dot with its interval, on a scale from `low` to `high` that all rows share."""
    wide = (high - low) or 1.0

    def x(value: float) -> str:
        return f"{4 + (value - low) / wide * 312:.1f}"

    return (
        '<svg class="bar" viewBox="0 0 320 16" preserveAspectRatio="none" role="img">'
        '<line class="zero" x1="4" x2="316" y1="8" y2="8"/>'
        f'<line x1="{x(row.low)}" x2="{x(row.high)}" y1="8" y2="8"/>'
        f'<circle cx="{x(row.rating)}" cy="8" r="3.5"/></svg>'
    )


def lines(series: Mapping[str, Sequence[tuple[float, float]]], x_name: str, form: str) -> str:
    """One line per name over a common x axis, named at its right end."""
    points = [point for line in series.values() for point in line]
    scale = _Scale(points, form)
    drawn = []
    labels = _spread({name: scale.y(line[-1][1]) for name, line in series.items()})
    for number, (name, line) in enumerate(series.items()):
        hue = _HUES[number % len(_HUES)]
        path = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in line)
        drawn.append(
            f'<polyline class="trail" style="stroke:{hue}" points="{path}"/>'
            f'<text x="{scale.x(line[-1][0]) + 6:.1f}" y="{labels[name] + 3:.1f}" style="fill:{hue}">'
            f"{safe(name)}</text>"
        )
    return scale.drawing(drawn, x_name)


def curve(
    points: Sequence[tuple[float, float, float, float]], x_name: str, form: str, levels: Mapping[str, float]
) -> str:
    """A line of (x, value, low, high) with its band, and level lines of others that have no x."""
    heights = [(x, y) for x, *ys in points for y in ys] + [(points[0][0], y) for y in levels.values()]
    scale = _Scale(heights, form)
    upper = [f"{scale.x(x):.1f},{scale.y(high):.1f}" for x, _, _, high in points]
    lower = [f"{scale.x(x):.1f},{scale.y(low):.1f}" for x, _, low, _ in reversed(points)]
    path = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y, _, _ in points)
    dots = "".join(f'<circle cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}" r="3"/>' for x, y, _, _ in points)
    drawn = [f'<polygon class="band" points="{" ".join(upper + lower)}"/><polyline points="{path}"/>{dots}']
    labels = _spread({name: scale.y(level) for name, level in levels.items()})
    for name, level in levels.items():
        y, end = f"{scale.y(level):.1f}", _WIDTH - _RIGHT
        drawn.append(
            f'<line class="axis" stroke-dasharray="4 4" x1="{_LEFT}" x2="{end}" y1="{y}" y2="{y}"/>'
            f'<text x="{end + 6}" y="{labels[name] + 3:.1f}">{safe(name)}</text>'
        )
    return scale.drawing(drawn, x_name)


class _Scale:
    """Axes: data to picture, with the extremes written at their ends."""

    def __init__(self, points: Sequence[tuple[float, float]], form: str) -> None:
        across, up = [x for x, _ in points], [y for _, y in points]
        self.left, self.right = min(across), max(across)
        self.low, self.high = min(up), max(up)
        self._form = form

    def x(self, value: float) -> float:
        return _LEFT + (value - self.left) / ((self.right - self.left) or 1.0) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _EDGE + (self.high - value) / ((self.high - self.low) or 1.0) * (_HEIGHT - 3 * _EDGE)

    def drawing(self, parts: Sequence[str], x_name: str) -> str:
        base, end = _HEIGHT - 2 * _EDGE + 4, _WIDTH - _RIGHT
        return (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
            f'<line class="axis" x1="{_LEFT}" x2="{end}" y1="{base}" y2="{base}"/>{"".join(parts)}'
            f'<text x="4" y="{self.y(self.high) + 4:.1f}">{self.high:{self._form}}</text>'
            f'<text x="4" y="{self.y(self.low) + 4:.1f}">{self.low:{self._form}}</text>'
            f'<text x="{_LEFT}" y="{base + 14}">{self.left:g}</text>'
            f'<text x="{end}" y="{base + 14}" text-anchor="end">{self.right:g} {safe(x_name)}</text></svg>'
        )


def _spread(heights: Mapping[str, float], gap: float = 12.0) -> dict[str, float]:
    """Heights of labels, moved down just so far that none covers another."""
    placed: dict[str, float] = {}
    last = -gap
    for name in sorted(heights, key=heights.__getitem__):
        last = max(heights[name], last + gap)
        placed[name] = last
    return placed


def cross_table(table: "nx.DiGraph[str]", names: Sequence[str]) -> str:
    """Points a match that the row's entrant took from the column's, darker for more."""
    heads = "".join(f'<th class="side">{safe(name)}</th>' for name in names)
    rows = "".join(
        f"<tr><td>{safe(one)}</td>{''.join(_cell(table, one, other) for other in names)}</tr>" for one in names
    )
    return f'<div class="wide"><table><tr><th></th>{heads}</tr>{rows}</table></div>'


def _cell(table: "nx.DiGraph[str]", one: str, other: str) -> str:
    if not table.has_edge(one, other):
        return '<td class="cell">' + ("·" if one == other else "") + "</td>"
    edge = table.edges[one, other]
    share = edge["points"] / edge["matches"]
    about = f"{one} against {other}: {edge['points']:g} points of {edge['matches']} matches"
    heat = f"background:rgba(var(--heat),{0.55 * share:.2f})"
    return f'<td class="cell" style="{heat}" title="{safe(about)}">{share:.2f}</td>'


def bracket(graph: "nx.DiGraph[str]") -> str:
    """One column per round, the upper half above the lower; who goes on is bold."""
    columns: dict[int, list[str]] = {}
    order = {"upper": 0, "final": 1, "lower": 2}
    for node in sorted(graph.nodes.values(), key=lambda node: (node["round"], order[node["half"]])):
        names = "".join(
            f"<div{' class=won' if name == node['winner'] else ''}>{safe(name)}</div>" for name in node["entrants"]
        )
        columns.setdefault(node["round"], []).append(f'<div class="meet">{names}</div>')
    drawn = "".join(f"<div>{''.join(meets)}</div>" for meets in columns.values())
    return f'<div class="bracket">{drawn}</div>'
