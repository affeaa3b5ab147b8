"""Names for new runs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simarena.arena.errors import RunFolderError
from simarena.arena.record import RunFolder
from simarena.tui import runs


def test_runs_begun_in_one_second_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs.time, "strftime", lambda form: "20261201-120000")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(runs.fresh, ["seat"] * 8))
    stem = "runs/seat-20261201-120000"
    assert sorted(map(str, made)) == [stem, *(f"{stem}-{number}" for number in range(2, 9))]
    for path in made:
        RunFolder.create(path).close()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").write_text("a file where the folder should be")
    with pytest.raises(RunFolderError, match="cannot make runs/"):
        runs.fresh("seat")
