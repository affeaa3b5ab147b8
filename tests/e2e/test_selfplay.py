"""Self-play as it is shipped, in short: the policy becomes harder to exploit than always playing alike."""

import os
from pathlib import Path

import pytest
from commands import finish

pytestmark = pytest.mark.slow
ONE_WAY = 0.33
"""Exploitability that self-play without regularisation falls to and stays at: much the same with every card."""


def test_kuhn_selfplay_gets_harder_to_exploit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMARENA_HOME", os.fspath(tmp_path / "home"))
    short = ("-s", "steps=40", "-s", "rollout.deals=16", "-s", "evaluation.deals=8")
    report = finish(tmp_path / "run", *short, recipe=Path("kuhn-selfplay"))
    assert 0.4 < report["before"]["exploitability"] < 0.6  # type: ignore[index]
    assert report["after"]["exploitability"] < ONE_WAY  # type: ignore[index]
