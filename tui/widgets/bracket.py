"""A bracket as a tree of lines: who met whom, round by round from left to right, and who went on. Pure.

Draws the halves of single and double elimination from the graph of meetings that a format tells. Meetings that
must still come about stand open; where byes make it unknown who they join, they are left out.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
from rich.text import Text

from simarena.arena.text import one_line
from simarena.tui.widgets.listing import middle_cut

_LONGEST = 16
"""Columns of a name at most."""
_LEAST = 5
"""Columns of a name below which early rounds are left out instead."""
_RULE = 4
"""Columns from the end of a name to the next one."""
_TITLES = {"upper": "Upper half", "lower": "Lower half"}
Pairs = Collection[frozenset[str]]
"""Who plays against whom just now."""


@dataclass(slots=True)
class _Meeting:
    """Two sides; each an entrant, or who comes out of an earlier meeting."""

    round: int
    entrants: tuple[str, str]
    winner: str = ""
    playing: bool = False
    before: tuple["_Meeting | None", "_Meeting | None"] = (None, None)


def bracket(graph: "nx.DiGraph[str]", width: int, playing: Pairs = ()) -> list[Text]:
    """All of it in at most so many columns."""
    halves = dict.fromkeys(str(graph.nodes[node]["half"]) for node in graph)
    double = "lower" in halves or "final" in halves
    lines: list[Text] = []
    for half in (half for half in ("upper", "lower") if half in halves):
        if lines:
            lines.append(Text())
        lines.append(Text(f" {_TITLES[half] if double else 'Bracket'}", "strong"))
        lines += _tree(_roots(graph, half, playing), width)
    if "final" in halves:
        lines += [Text(), Text(" Final", "strong"), *_finals(graph, playing)]
    return lines


def _roots(graph: "nx.DiGraph[str]", half: str, playing: Pairs) -> list[_Meeting]:
    """The meetings of a half that lead to no later one in it, with all that led to them."""
    made: dict[str, _Meeting] = {}
    inner: set[str] = set()
    for node in graph:  # in the order of the rounds
        told: Mapping[str, Any] = graph.nodes[node]
        if told["half"] != half:
            continue
        came = {
            edge["entrant"]: before
            for before, _, edge in graph.in_edges(node, data=True)
            if edge["won"] and before in made
        }
        inner |= set(came.values())
        one, other = told["entrants"]
        before = (made.get(came.get(one, "")), made.get(came.get(other, "")))
        live = not told["winner"] and frozenset((one, other)) in playing
        made[node] = _Meeting(int(told["round"]), (one, other), str(told["winner"]), live, before)
    roots = [meeting for node, meeting in made.items() if node not in inner]
    return _joined(roots, int(graph.graph.get("entrants", 0))) if half == "upper" else roots


def _joined(roots: list[_Meeting], entrants: int) -> list[_Meeting]:
    """With the meetings that must still come about, up to the last one."""
    fair = len({root.round for root in roots}) == 1 and len(roots) & (len(roots) - 1) == 0
    byes = roots and roots[0].round == 1 and 2 * len(roots) != entrants
    while fair and not byes and len(roots) > 1:
        pairs = zip(roots[::2], roots[1::2], strict=True)
        roots = [_Meeting(one.round + 1, (one.winner, other.winner), before=(one, other)) for one, other in pairs]
    return roots


def _tree(roots: Sequence[_Meeting], width: int) -> Iterator[Text]:
    meetings = [meeting for root in roots for meeting in _all(root)]
    rounds = sorted({meeting.round for meeting in meetings})
    longest = min(_LONGEST, max((len(one_line(n)) for m in meetings for n in m.entrants), default=_LEAST))
    while len(rounds) > 1 and _fits(width, len(rounds)) < min(longest, _LEAST):
        rounds = rounds[1:]
    name = max(_LEAST, min(longest, _fits(width, len(rounds))))
    drawing = _Drawing({number: place for place, number in enumerate(rounds)}, name)
    for place, root in enumerate(roots):
        if place:
            drawing.rows.append({})
        drawing.place(root)
    heads = [f"round {number}" for number in rounds]
    yield Text(" " + "".join(head[: name + 2].ljust(name + _RULE) for head in heads), "muted")
    for row in drawing.lines():
        row.truncate(width - 1, overflow="ellipsis")
        yield Text(" ").append_text(row)


def _fits(width: int, rounds: int) -> int:
    """Columns of a name so that all rounds and the winner have room."""
    return (width - 2 - _RULE * rounds) // (rounds + 1)


def _all(meeting: _Meeting) -> Iterator[_Meeting]:
    for before in meeting.before:
        if before is not None:
            yield from _all(before)
    yield meeting


class _Drawing:
    """Rows of cells, one cell a round: a name, a rule, a corner."""

    def __init__(self, columns: Mapping[int, int], name: int) -> None:
        self._columns, self._name = columns, name
        self.rows: list[dict[int, Text]] = []

    def place(self, meeting: _Meeting) -> int:
        """Draw it with all before it; returns the row on which its winner goes on."""
        column = self._columns[meeting.round]
        top, bottom = (self._side(meeting, i, column) for i in (0, 1))
        self._close(top, column, "┐")
        for row in range(top + 1, bottom):
            self.rows[row][column] = Text(" " * (self._name + 2) + "│ ", "faint")
        self._close(bottom, column, "┴")
        self.rows[bottom][column + 1] = self._winner(meeting)
        return bottom

    def _side(self, meeting: _Meeting, place: int, column: int) -> int:
        """One side of a meeting; returns its row."""
        entrant, before = meeting.entrants[place], meeting.before[place]
        if before is None or before.round not in self._columns:
            self.rows.append({column: self._label(entrant, meeting)})
            return len(self.rows) - 1
        row, since = self.place(before), self._columns[before.round] + 1
        if entrant:
            self.rows[row][since] = self._label(entrant, meeting)
        for passed in range(since, column):  # rounds that it sat out
            label = self.rows[row].get(passed, Text())
            self.rows[row][passed] = self._ruled(label, self._name + _RULE)
            self.rows[row][passed + 1] = Text()
        return row

    def _label(self, entrant: str, meeting: _Meeting) -> Text:
        ink = "plain" if not meeting.winner else ("good" if entrant == meeting.winner else "muted")
        return Text(middle_cut(one_line(entrant), self._name), "key" if meeting.playing else ink)

    def _winner(self, meeting: _Meeting) -> Text:
        if meeting.winner:
            return Text(middle_cut(one_line(meeting.winner), self._name), "good")
        return Text("● now", "key") if meeting.playing else Text("·", "faint")

    def _close(self, row: int, column: int, corner: str) -> None:
        label = self.rows[row].get(column, Text())
        self.rows[row][column] = self._ruled(label, self._name + 2).append(f"{corner} ", "faint")

    def _ruled(self, label: Text, width: int) -> Text:
        text = label.copy()
        text.append(" " if text.plain else "─", "faint")
        return text.append("─" * max(0, width - text.cell_len), "faint")

    def lines(self) -> Iterator[Text]:
        for row in self.rows:
            line = Text()
            for column in range(max(row, default=-1) + 1):
                cell = row.get(column, Text())
                line.append_text(cell).append(" " * max(0, self._name + _RULE - cell.cell_len))
            line.rstrip()
            yield line


def _finals(graph: "nx.DiGraph[str]", playing: Pairs) -> Iterator[Text]:
    """The meeting of the two halves, and the one more that it takes if the unbeaten side loses it."""
    for node in graph:
        told: Mapping[str, Any] = graph.nodes[node]
        if told["half"] != "final":
            continue
        winner, line = str(told["winner"]), Text(" ")
        for place, name in enumerate(told["entrants"]):
            line.append(" – " if place else "", "faint")
            line.append(
                one_line(str(name), _LONGEST), "good" if name == winner else "muted" if winner else "plain"
            )
        if winner:
            line.append(f"   {one_line(winner, _LONGEST)} wins", "good")
        elif frozenset(told["entrants"]) in playing:
            line.append("   ● now", "key")
        yield line
