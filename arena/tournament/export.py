"""Exports: results and standings as files that other programs read.

    results.csv     one row per seat of each match
    standings.csv   one row per entrant
    matches.txt     one tagged record per match, in the manner of chess's PGN

Text of agents passes the sanitiser; cells that a spreadsheet would run as a formula are defused.
"""

import csv
import io
import time
from collections.abc import Sequence

from simarena.arena.text import one_line
from simarena.arena.tournament.results import Result, Standing


def results_csv(results: Sequence[Result]) -> str:
    """One row per seat of each match."""
    rows = [
        (
            result.match.round,
            result.match.id,
            result.match.pair,
            result.match.deal,
            seat,
            entrant,
            result.outcome.get(seat, ""),
            result.ending,
            result.fault,
            result.tokens,
            result.seconds,
            result.episode,
        )
        for result in results
        for seat, entrant in result.match.seats.items()
    ]
    heads = "round match pair deal seat entrant outcome ending fault tokens seconds episode"
    return _csv(heads.split(), rows)


def standings_csv(standings: Sequence[Standing]) -> str:
    """One row per entrant, best first."""
    return _csv(list(Standing.model_fields), [tuple(row.model_dump().values()) for row in standings])


def matches_text(name: str, scenario: str, results: Sequence[Result]) -> str:
    """Tag pairs and a result for each match; the moves are in `episodes/`, named by [Episode]."""
    return "\n".join(_record(name, scenario, result) for result in results)


def _record(name: str, scenario: str, result: Result) -> str:
    tags = {
        "Event": name,
        "Site": scenario,
        "Date": time.strftime("%Y.%m.%d", time.gmtime(result.at)) if result.at else "????.??.??",
        "Round": str(result.match.round),
        **{f"Seat {seat}": entrant for seat, entrant in result.match.seats.items()},
        "Deal": str(result.match.deal),
        "Ending": result.ending,
        "Result": " - ".join(f"{score:g}" for score in result.scores().values()) or "*",
        **({"Fault": result.fault} if result.fault else {}),
        "Episode": result.episode,
    }
    return "".join(f'[{tag} "{_quoted(value)}"]\n' for tag, value in tags.items())


def _quoted(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _csv(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: object) -> object:
    text = one_line(value) if isinstance(value, str) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in ("=", "+", "-", "@") else text
