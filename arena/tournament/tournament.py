"""The runner: draws matches, plays what of them is not on file, writes it down, and goes on until none is drawn.

Its only state is the list of results, so it goes on from any folder, and its table is the same for any order in
which matches end and any number of workers: draws are made from complete draws only, and everything random has a
name. Where no result decides who meets next, all rounds are one draw, and no worker waits for a round to end.
Matches that fail by nobody's fault are played again; one that keeps failing is void. Knows no rating, no screen.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.errors import Fault, SimArenaError
from simarena.arena.protocols import Judge, Scenario
from simarena.arena.specs import AgentSpec
from simarena.arena.text import one_line
from simarena.arena.tournament.contest import Contest
from simarena.arena.tournament.results import Match, Result
from simarena.arena.tournament.scoring import score
from simarena.arena.tournament.script import Script

ATTEMPTS = 3
"""Times a match is played before faults of the harness make it void."""
VOIDS_IN_A_ROW = 8
"""Void matches with no other between them that stop the tournament: then it is not the match that is broken."""

Players = Mapping[str, AgentSpec | Mapping[str, AgentSpec]]
"""Entrant → who plays for it: one agent whatever the seat, or a team with one for each seat."""
Record = Callable[[Result, Episode], None]
Decided = Callable[[Sequence[Result]], bool]
Progress = Callable[[Sequence[Result], int], None]


@dataclass
class Tournament:
    """One session of a tournament."""

    script: Script
    scenario: Scenario[Any]
    contest: Contest
    players: Players
    arena: SimulatorArena
    judge: Judge | None
    """Who scores finished matches; None: the scenario's outcome counts."""
    record: Record
    decided: Decided
    """Asked at the end of each round, if the script may stop early; true ends the tournament."""
    progress: Progress
    """Told all results so far, and how many there will be at the end of what is drawn, after each match."""
    stopped: str = ""
    """Why it ended before its schedule did; empty if it did not."""
    _short: str = ""
    """The budget that ends the schedule with the matches drawn last; empty while it holds them all."""
    _seen: list[Result] = field(default_factory=list)
    _tokens: int = 0
    _voids: list[tuple[Result, Episode]] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    async def play(self, on_file: Iterable[Result] = ()) -> list[Result]:
        """Play to the end; returns the results of every drawn match in the order of the schedule."""
        earlier = {result.match.id: result for result in on_file}
        done: list[Result] = []
        while not (self.stopped or self._short) and (drawn := self._next(done)):
            for matches in self._stages(drawn):
                await self._play(matches, earlier)
                place = {match.id: index for index, match in enumerate(matches)}
                done += sorted(self._seen[len(done) :], key=lambda result: place[result.match.id])
                if not self.stopped and self.decided(done):
                    self.stopped = f"decided after round {matches[0].round}"
                if self.stopped:
                    break
        self.stopped = self.stopped or self._short
        self._flush()
        return done

    def _stages(self, drawn: Sequence[Match]) -> list[list[Match]]:
        """What is played before anything is decided: all of a draw, or its rounds where one may be the last."""
        if self.script.stop.error is None:
            return [list(drawn)]
        return [list(matches) for _, matches in groupby(drawn, key=lambda match: match.round)]

    def _next(self, done: Sequence[Result]) -> list[Match]:
        """The matches of the next round, as far as the budget goes; whole mirrored sets only."""
        drawn = [self.contest.matches(meeting) for meeting in self.script.format.draw(self.contest, done)]
        budget = self.script.budget.matches
        chosen: list[Match] = []
        for meeting in drawn:
            if budget is not None and len(done) + len(chosen) + len(meeting) > budget:
                self._short = f"budget of {budget} matches"
                break
            chosen += meeting
        return chosen

    async def _play(self, matches: Sequence[Match], earlier: Mapping[str, Result]) -> None:
        """Play those of these matches that were not played earlier, `concurrency` at a time."""
        found = [earlier[match.id] for match in matches if match.id in earlier]
        planned = len(self._seen) + len(matches)
        self._seen += found
        self._tokens += sum(result.tokens for result in found)
        waiting = asyncio.Queue[tuple[Match, int]]()
        for match in matches:
            if match.id not in earlier:
                waiting.put_nowait((match, 1))

        async def work() -> None:
            while not waiting.empty() and not self._spent():
                match, attempt = waiting.get_nowait()
                episode = await self._episode(match)
                result = await self._result(match, episode)
                if result.ending == "void" and attempt < ATTEMPTS:
                    waiting.put_nowait((match, attempt + 1))
                    continue
                self._note(result, episode)
                self.progress(self._seen, planned)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.script.concurrency, len(matches))):
                    group.create_task(work())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _episode(self, match: Match) -> Episode:
        """Play one match. Its id names its deal and all chance in it."""
        seats = {seat: self._player(who, seat) for seat, who in match.seats.items()}
        played = self.arena.play(
            self.scenario,
            options=self.script.scenario.options,
            seats={**self.script.seats, **seats},
            deals=[match.deal],
            prefix=match.id,
        )
        (episode,) = [episode async for episode in played]
        return episode

    def _player(self, entrant: str, seat: str) -> AgentSpec:
        found = self.players[entrant]
        return found if isinstance(found, AgentSpec) else found[seat]

    async def _result(self, match: Match, episode: Episode) -> Result:
        """What the match counts for. A judge that fails is nobody's fault."""
        if self.judge is None or episode.ending != "finished":
            return score(match, episode)
        try:
            verdict = await self.judge.judge(episode)
        except Fault as fault:
            why = one_line(f"the judge failed: {fault}")
            return Result(match=match, ending="void", fault=why, episode=episode.id)
        return score(match, episode, verdict.scores)

    def _note(self, result: Result, episode: Episode) -> None:
        """Write a result down. Voids wait for one that is not, so that a broken harness leaves no trace on
        file."""
        self._seen.append(result)
        self._tokens += result.tokens
        if result.ending == "void":
            self._voids.append((result, episode))
            if len(self._voids) >= VOIDS_IN_A_ROW:
                raise SimArenaError(
                    f"{len(self._voids)} matches in a row failed by nobody's fault, the last: {result.fault}; "
                    "mend it and go on with --resume"
                )
            return
        self._flush()
        self.record(result, episode)

    def _flush(self) -> None:
        for void in self._voids:
            self.record(*void)
        self._voids.clear()

    def _spent(self) -> bool:
        """Whether a budget of tokens or minutes is used up."""
        budget = self.script.budget
        if budget.tokens is not None and self._tokens >= budget.tokens:
            self.stopped = f"budget of {budget.tokens} tokens"
        elif budget.minutes is not None and time.monotonic() - self._began >= budget.minutes * 60:
            self.stopped = f"budget of {budget.minutes:g} minutes"
        else:
            return False
        return True
