"""The cache folder: entries appear whole, once, or not at all."""

from pathlib import Path

import pytest

from simarena.agents import cache
from simarena.arena.errors import UsageError


def test_a_cache_entry_is_made_once_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMARENA_HOME", str(tmp_path))
    made: list[Path] = []

    def build(draft: Path) -> None:
        made.append(draft)
        (draft / "part").write_text("x")
        if len(made) == 1:
            raise RuntimeError("killed half-way")

    with pytest.raises(RuntimeError):
        cache.once("thing", build)
    assert list(tmp_path.iterdir()) == []
    entry = cache.once("thing", build)
    assert entry == cache.once("thing", build) == tmp_path / "thing"
    assert (len(made), [p.name for p in tmp_path.iterdir()]) == (2, ["thing"])


def test_two_builders_of_one_entry_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMARENA_HOME", str(tmp_path))

    def slower(draft: Path) -> None:
        cache.once("thing", lambda other: (other / "by").write_text("the faster"))
        (draft / "by").write_text("the slower")

    assert (cache.once("thing", slower) / "by").read_text() == "the faster"
    assert [p.name for p in tmp_path.iterdir()] == ["thing"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SIMARENA_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(UsageError, match="set SIMARENA_HOME"):
        cache.once("thing", lambda draft: None)
