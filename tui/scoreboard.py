"""The scoreboard: where a tournament stands, read from its folder while it is played and after.

Rereads only what is new. Every text is made safe to show here; ids are raw where they are named `key`. Knows no
screen.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
from pydantic import ValidationError

from simarena.arena.errors import SimArenaError
from simarena.arena.text import one_line
from simarena.arena.tournament.contest import Contest
from simarena.arena.tournament.folder import RESULTS, STANDINGS
from simarena.arena.tournament.results import Result, Standing
from simarena.arena.tournament.script import parse
from simarena.arena.tournament.tally import cross_table

_DUEL = {"one": ("one",), "other": ("other",)}
"""Two sides, by whatever names: who met whom does not depend on them."""


@dataclass(frozen=True, slots=True)
class Table:
    """The table as it was written last."""

    name: str = ""
    method: str = ""
    round: int = 0
    matches: int = 0
    planned: int = 0
    final: bool = False
    stopped: str = ""
    standings: tuple[Standing, ...] = ()
    words: tuple[str, ...] = ()

    def number(self, value: float) -> str:
        """A rating as its method is read."""
        return f"{value:.3f}" if self.method == "score" else f"{value:.{int(self.method == 'openskill')}f}"


class Scoreboard:
    """A tournament folder, looked at again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._table_time = 0
        self._offset = 0
        self.table = Table()
        self.results: list[Result] = []
        self.trouble = ""
        """What cannot be read, in one line."""

    @staticmethod
    def holds(folder: Path | None, facts: Mapping[str, Any]) -> bool:
        """Whether this run folder is a tournament's."""
        return folder is not None and ("script" in facts or (folder / STANDINGS).exists())

    def look(self) -> bool:
        """Read what is new; says whether anything was."""
        try:
            fresh = self._read_table()
            return self._read_results() or fresh
        except (OSError, ValueError) as error:
            self.trouble = one_line(f"cannot read {self._folder}: {error}", 200)
            return True

    def _read_table(self) -> bool:
        path = self._folder / STANDINGS
        if not path.exists() or path.stat().st_mtime_ns == self._table_time:
            return False
        self._table_time = path.stat().st_mtime_ns
        data = json.loads(path.read_text(encoding="utf-8"))
        self.table = Table(
            name=one_line(str(data["name"])),
            method=str(data["method"]),
            round=int(data["round"]),
            matches=int(data["matches"]),
            planned=int(data["planned"]),
            final=bool(data["final"]),
            stopped=one_line(str(data["stopped"])),
            standings=tuple(map(Standing.model_validate, data["standings"])),
            words=tuple(one_line(str(word)) for word in data["words"]),
        )
        return True

    def _read_results(self) -> bool:
        """Complete lines after those read before; the last may still be in the writing."""
        path = self._folder / RESULTS
        if not path.exists():
            return False
        if path.stat().st_size < self._offset:  # mended after a kill
            self._offset, self.results = 0, []
        with path.open("rb") as file:
            file.seek(self._offset)
            whole, _, _ = file.read().rpartition(b"\n")
        if not whole:
            return False
        self._offset += len(whole) + 1
        for line in whole.split(b"\n"):
            try:
                self.results.append(Result.model_validate_json(line))
            except (ValidationError, SimArenaError):
                self.trouble = one_line(f"{path.name} holds a line that is no result: {line[:60]!r}", 200)
        return True

    def entrants(self) -> Sequence[str]:
        """Everyone, best first; before the first table by name."""
        if self.table.standings:
            return [standing.entrant for standing in self.table.standings]
        return sorted({name for result in self.results for name in result.match.seats.values()})

    def cross_table(self) -> "nx.DiGraph[str]":
        """Edge a → b: the points a took from b, or scored where the rating is the score, and their matches."""
        return cross_table(self.results, scored=self.table.method == "score")

    def bracket(self, facts: Mapping[str, Any]) -> "nx.DiGraph[str] | None":
        """Who met whom on the way to the final; None for a format without a bracket."""
        try:
            script = parse(facts["script"])
            draw = getattr(script.format, "bracket", None)
            if draw is None:
                return None
            contest = Contest(  # without the scenario's rules: looking at a folder imports nothing that it names
                entrants=tuple(script.entrants),
                seed=script.seed,
                sides=script.sides or _DUEL,
                mirrored=script.mirrored,
                best_of=script.best_of,
                trials=script.trials,
            )
            graph: nx.DiGraph[str] = draw(contest, self.results)
            graph.graph["entrants"] = len(contest.entrants)
        except (SimArenaError, KeyError, ValidationError):
            return None
        return graph
