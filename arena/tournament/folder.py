"""The tournament folder: what a tournament leaves behind, and what it goes on from.

    run.json         the script as it was resolved, versions, and at the end the table
    results.jsonl    one line per match, in the order they ended; only ever appended to. The record
    episodes/        round-NNN.jsonl, one line per match: what was said. `simarena replay FOLDER EPISODE` shows it;
                     round-NNN.index, from the end on, by which a viewer opens it without reading it
    judges.jsonl     one line per judge and match, where judges decide
    standings.json   the table so far, written anew while it runs
    report.html, standings.csv, results.csv, matches.txt   written at the end

A run folder of its own kind, so every command that reads runs reads it. A kill at any moment loses only matches
that had not ended: an episode is written before its result, and `mend` drops what has no result.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simarena.arena import index
from simarena.arena.episodes import Episode
from simarena.arena.errors import RecordError, RunFolderError
from simarena.arena.record import RunFolder
from simarena.arena.tournament.results import Result

RESULTS = "results.jsonl"
STANDINGS = "standings.json"


class TournamentFolder(RunFolder):
    """A tournament folder, open for reading; `create` and `resume` open it for writing."""

    def record(self, result: Result, episode: Episode) -> None:
        """Append one match: first what was said, then what came of it."""
        self.append(f"episodes/{_batch(result.match.round)}.jsonl", episode.model_dump_json())
        self.append(RESULTS, result.model_dump_json(exclude_defaults=True))

    def results(self) -> list[Result]:
        """All results on file, in the order they were written."""
        return [
            _result(line, f"{self.path / RESULTS}:{number}") for number, line in enumerate(self.lines(RESULTS), 1)
        ]

    def episode(self, result: Result) -> Episode | None:
        """What was said in this match; None if it is not on file."""
        mark = f'{{"id":{json.dumps(result.episode, ensure_ascii=False)},'
        lines = self.lines(f"episodes/{_batch(result.match.round)}.jsonl")
        found = next((line for line in lines if line.startswith(mark)), None)
        return None if found is None else Episode.model_validate_json(found)

    def mend(self) -> None:
        """After a kill: drop torn lines, and episodes whose result was not written any more."""
        lines = self.lines(RESULTS)
        if (self.path / RESULTS).exists():
            self._whole(RESULTS, "".join(f"{line}\n" for line in lines))
        known = {result.episode for result in self.results()}
        for batch in self.batches():
            name = f"episodes/{batch}.jsonl"
            kept = [line for line in self.lines(name) if _id(line) in known]
            if len(kept) < (self.path / name).read_text(encoding="utf-8").count("\n") or _torn(self.path / name):
                self._whole(name, "".join(f"{line}\n" for line in kept))

    def show(self, table: dict[str, Any]) -> None:
        """Write standings.json."""
        self._whole(STANDINGS, json.dumps(table, indent=1) + "\n")

    def write(self, name: str, text: str) -> None:
        """Write a file that others read, such as report.html, whole or not at all."""
        self._whole(name, text)

    def index(self) -> None:
        """Write the index of every batch that has none of its present state."""
        for batch in self.batches():
            self._whole(f"episodes/{batch}.index", index.write(self.listing(batch)))

    def append(self, name: str, line: str) -> None:
        """Append one line to a file."""
        try:
            with (self.path / name).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise RunFolderError(f"cannot write {self.path / name}: {error.strerror or error}") from error

    def lines(self, name: str) -> list[str]:
        """Complete lines; a torn last one is left out."""
        path = self.path / name
        return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


def _batch(round: int) -> str:
    return f"round-{round:03}"


def _id(line: str) -> str:
    return str(json.loads(line)["id"])


def _torn(path: Path) -> bool:
    return not path.read_text(encoding="utf-8").endswith("\n")


def _result(line: str, where: str) -> Result:
    try:
        return Result.model_validate_json(line)
    except (ValidationError, RecordError) as error:
        raise RunFolderError(f"{where} is not a result: {str(error).splitlines()[0]}; restore the file") from None
