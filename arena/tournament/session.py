"""A session: one sitting of a tournament, from a script and an open folder to the table and the files it leaves.

    async with SimulatorArena(...) as arena:
        final = await Session(script, folder, agents).play(arena)

Owns when the table is made anew and what the folder holds. Knows no command line and no screen.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from simarena.arena.arena import SimulatorArena
from simarena.arena.protocols import Judge, Scenario
from simarena.arena.specs import build_scenario
from simarena.arena.tournament.contest import Contest
from simarena.arena.tournament.export import matches_text, results_csv, standings_csv
from simarena.arena.tournament.findings import find
from simarena.arena.tournament.folder import TournamentFolder
from simarena.arena.tournament.report import render
from simarena.arena.tournament.results import Result, Standing
from simarena.arena.tournament.script import Script
from simarena.arena.tournament.tournament import Players, Tournament

if TYPE_CHECKING:
    from simarena.arena.tournament.ratings.table import Table

EVERY = 2.0
"""Seconds between tables while it runs, at least; longer where one takes long to fit."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a tournament stands. Producer: the session. Consumers: screens, standings.json."""

    name: str
    method: str
    round: int
    matches: int
    """Played so far."""
    planned: int
    """At the end of what is drawn: of this round, or of all where no result decides who meets next."""
    seconds: float
    final: bool
    stopped: str
    """Why it ended before its schedule did; empty if it did not."""
    standings: tuple[Standing, ...]
    words: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {**asdict(self), "standings": [standing.model_dump() for standing in self.standings]}


Watch = Callable[[Snapshot], None]


@dataclass
class Session:
    """Plays one tournament in one folder."""

    script: Script
    folder: TournamentFolder
    players: Players
    watch: Watch = lambda snapshot: None
    judge: Judge | None = None
    """Who scores finished matches where the scenario does not."""
    remarks: Callable[[], Sequence[str]] = tuple
    """Sentences about the judges, asked for at the end."""
    _began: float = field(default_factory=time.monotonic)
    _next_table: float = 0.0

    def __post_init__(self) -> None:
        self._next_table = self._began + EVERY
        self.scenario: Scenario[Any] = build_scenario(self.script.scenario.name, self.script.scenario.options)
        self.contest: Contest = self.script.contest(self.scenario)

    async def play(self, arena: SimulatorArena) -> Snapshot:
        """Play what is not on file; returns the final table, which is in the folder then."""
        self.folder.mend()
        tournament = Tournament(
            self.script,
            self.scenario,
            self.contest,
            self.players,
            arena,
            self.judge,
            self.folder.record,
            self._decided,
            self._progress,
        )
        results = await tournament.play(self.folder.results())
        return self._finish(results, tournament.stopped)

    def _rated(self, results: Sequence[Result], fast: bool) -> "Table":
        """The ratings of these results: `fast` with sandwich intervals, else with the cluster bootstrap."""
        from simarena.arena.tournament.ratings.table import rate

        return rate(
            results,
            self.script.method(self.contest),
            entrants=self.contest.entrants,
            covariates=self.script.rating.covariates,
            intervals="sandwich" if fast else None,
            seed=self.script.seed,
        )

    def _decided(self, results: Sequence[Result]) -> bool:
        error = self.script.stop.error
        if error is None:
            return False
        from simarena.arena.tournament.ratings.sequential import leader

        return leader(results, self.contest.entrants, error) is not None

    def _progress(self, results: Sequence[Result], planned: int) -> None:
        """A new table now and then; never more than a tenth of the time goes into them."""
        now = time.monotonic()
        if now < self._next_table:
            return
        table = self._rated(results, fast=True)
        self._tell(results, planned, table.method, table.standings, table.words)
        self._next_table = time.monotonic() + max(EVERY, 10 * (time.monotonic() - now))

    def _finish(self, results: Sequence[Result], stopped: str) -> Snapshot:
        """The exact table, and everything the folder keeps for readers."""
        found = find(self.script, self.contest, results, stopped, self._rated, self.folder.episode)
        found = replace(found, words=[*found.words, *self.remarks()])
        self.folder.index()
        self.folder.write("report.html", render(found))
        self.folder.write("results.csv", results_csv(results))
        self.folder.write("standings.csv", standings_csv(found.standings))
        self.folder.write("matches.txt", matches_text(self.script.name, self.script.scenario.name, results))
        return self._tell(
            results, len(results), found.method, found.standings, found.words, stopped=stopped, final=True
        )

    def _tell(
        self,
        results: Sequence[Result],
        planned: int,
        method: str,
        standings: Sequence[Standing],
        words: Sequence[str],
        *,
        stopped: str = "",
        final: bool = False,
    ) -> Snapshot:
        snapshot = Snapshot(
            name=self.script.name,
            method=method,
            round=max((result.match.round for result in results), default=0),
            matches=len(results),
            planned=planned,
            seconds=round(time.monotonic() - self._began, 3),
            final=final,
            stopped=stopped,
            standings=tuple(standings),
            words=tuple(words),
        )
        self.folder.show(snapshot.data())
        self.watch(snapshot)
        return snapshot
