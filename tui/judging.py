"""Judging a tournament: the panel of a script, and what it found on file beside the matches.

Keeps `judges.jsonl` in the tournament's folder, one ballot a line, so that a resumed tournament reports on all of
them.
"""

from collections.abc import Sequence

from simarena.arena.episodes import Episode
from simarena.arena.protocols import Verdict
from simarena.arena.tournament.folder import TournamentFolder
from simarena.arena.tournament.script import Jury
from simarena.simulators.judges import Panel
from simarena.simulators.judges.panel import Ballot

BALLOTS = "judges.jsonl"


def panel_of(jury: Jury) -> Panel:
    """The panel. Raises UsageError or UnknownName for jurors that cannot be."""
    return Panel(jury.question, list(jury.jurors), jury.families)


class Judges:
    """An `arena.Judge` that writes down every ballot."""

    def __init__(self, jury: Jury, folder: TournamentFolder) -> None:
        self._panel, self._folder = panel_of(jury), folder

    async def judge(self, episode: Episode) -> Verdict:
        verdict = await self._panel.judge(episode)
        for ballot in self._panel.ballots:
            self._folder.append(BALLOTS, ballot.model_dump_json())
        self._panel.ballots.clear()
        return verdict

    def remarks(self) -> Sequence[str]:
        """Agreement and bias of the judges, over the matches on file, in sentences."""
        from simarena.simulators.judges.report import report

        scored = {result.episode for result in self._folder.results()}
        ballots = map(Ballot.model_validate_json, self._folder.lines(BALLOTS))
        newest = {(ballot.episode, ballot.juror): ballot for ballot in ballots if ballot.episode in scored}
        return report(list(newest.values())).words if newest else ()
