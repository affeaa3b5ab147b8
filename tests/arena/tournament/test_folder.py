"""The folder survives a kill at any byte, and what it holds for readers is whole and harmless."""

import csv
import io
from pathlib import Path

import pytest
from coins import by_lot, contest, play, result
from hypothesis import given, settings
from hypothesis import strategies as st

from simarena.arena.episodes import Episode, Seat
from simarena.arena.errors import RunFolderError
from simarena.arena.specs import AgentSpec
from simarena.arena.tournament.export import matches_text, results_csv
from simarena.arena.tournament.folder import RESULTS, TournamentFolder
from simarena.arena.tournament.formats import Swiss
from simarena.arena.tournament.results import Result

FRAME = contest(6)
PLAYED = [one.model_copy(update={"episode": f"{one.match.id}/0"}) for one in play(FRAME, Swiss(rounds=3))[1]]


def episode(one: Result) -> Episode:
    seats = {seat: Seat(spec=AgentSpec(agent="echo")) for seat in one.match.seats}
    return Episode(id=one.episode, scenario="duel", deal=one.match.deal, seats=seats, ending="finished")


def filled(path: Path) -> TournamentFolder:
    folder = TournamentFolder.create(path)
    folder.describe({"name": "cup"})
    for one in PLAYED:
        folder.record(one, episode(one))
    return folder


def test_what_was_recorded_reads_back(tmp_path: Path) -> None:
    folder = filled(tmp_path / "cup")
    assert folder.results() == PLAYED
    assert folder.batches() == ["round-001", "round-002", "round-003"]
    assert {found.id for found in folder.episodes()} == {one.episode for one in PLAYED}
    found = folder.episode(PLAYED[3])
    assert found is not None
    assert found.id == PLAYED[3].episode
    assert folder.episode(PLAYED[3].model_copy(update={"episode": "r1/nobody"})) is None


@given(cut=st.floats(0, 1), lost=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_a_kill_at_any_byte_leaves_matches_whole_or_absent(tmp_path_factory, cut: float, lost: float) -> None:
    """An episode is written before its result; so results may be cut anywhere, episodes only behind them."""
    path = tmp_path_factory.mktemp("kill") / "cup"
    filled(path).close()
    text = (path / RESULTS).read_bytes()
    (path / RESULTS).write_bytes(text[: int(cut * len(text))])
    last = path / "episodes" / "round-003.jsonl"
    if not (path / RESULTS).read_text().count('"round":3'):
        last.write_bytes(last.read_bytes()[: int(lost * last.stat().st_size)])
    folder = TournamentFolder.resume(path)
    folder.mend()
    kept = folder.results()
    assert kept == PLAYED[: len(kept)]
    assert sorted(found.id for found in folder.episodes()) == sorted(one.episode for one in kept)
    for one in PLAYED[len(kept) :]:
        folder.record(one, episode(one))
    assert folder.results() == PLAYED
    assert len(list(folder.episodes())) == len(PLAYED)
    folder.close()


def test_an_index_tells_what_a_batch_holds_without_reading_it(tmp_path: Path) -> None:
    """The batches are overwritten, byte for byte, after they were indexed: a listing does not look at them."""
    folder = filled(tmp_path / "cup")
    read = {batch: folder.listing(batch) for batch in folder.batches()}
    folder.index()
    for batch in read:
        path = folder.path / "episodes" / f"{batch}.jsonl"
        path.write_bytes(b"#" * path.stat().st_size)
        assert folder.listing(batch) == read[batch]


def test_an_index_of_an_earlier_state_is_not_believed(tmp_path: Path) -> None:
    folder = filled(tmp_path / "cup")
    folder.index()
    first = next(one for one in PLAYED if one.match.round == 1)
    more = first.model_copy(update={"episode": "r1/more/0"})
    folder.record(more, episode(more))
    assert folder.listing("round-001")[-1].episode == "r1/more/0"
    folder.index()
    assert folder.listing("round-001")[-1].episode == "r1/more/0"


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    folder = filled(tmp_path / "cup")
    path = folder.path / RESULTS
    path.write_text(path.read_text().replace('"ending"', '"endng"', 1))
    with pytest.raises(RunFolderError, match=r"results\.jsonl:1 is not a result"):
        folder.results()


def hostile() -> Result:
    match = FRAME.matches(Swiss(rounds=1).draw(FRAME, [])[0])[0]
    fault = '=cmd|"/c calc"!A1\x1b]0;owned\x07 <script>alert(1)</script>'
    return result(match, 1.0).model_copy(update={"ending": "crash", "fault": fault})


def test_csv_has_a_row_per_seat_and_runs_nothing() -> None:
    rows = list(csv.DictReader(io.StringIO(results_csv([*PLAYED, hostile()]))))
    assert len(rows) == 2 * (len(PLAYED) + 1)
    assert {row["entrant"] for row in rows} == set(FRAME.entrants)
    assert rows[-1]["fault"].startswith("'=cmd")
    assert "\x1b" not in results_csv([hostile()])
    assert (
        sum(float(row["outcome"]) for row in rows if row["outcome"])
        == sum(by_lot(one.match) >= 0 for one in PLAYED) + 1
    )


def test_matches_text_has_a_tagged_record_per_match() -> None:
    text = matches_text("cup", "duel", [*PLAYED, hostile()])
    records = text.split("\n\n")
    assert len(records) == len(PLAYED) + 1
    assert records[0].splitlines()[0] == '[Event "cup"]'
    assert f'[Seat a "{PLAYED[0].match.seats["a"]}"]' in records[0]
    assert '\\"/c calc\\"' in records[-1]
    assert "\x1b" not in text
