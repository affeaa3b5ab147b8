"""`simarena list` and `simarena doctor`: the names one may write, and whether the demo can run."""

import json

import pytest

from simarena.tui import checkup


def test_list_names_what_can_be_written(cli) -> None:
    found = json.loads(cli("list", "--json").out)
    assert list(found) == ["scenarios", "recipes", "models", "agents", "personas", "credit", "losses", "runs"]
    assert "service-desk" in found["scenarios"]
    assert {"service-desk-tiny", "service-desk-smollm2"} <= set(found["recipes"])
    assert {"human", "policy"} <= set(found["agents"])
    assert found["personas"]["terse"].startswith("train")
    assert {"trajectory", "returns", "gigpo"} <= set(found["credit"])
    assert all(found["credit"].values())
    assert found["runs"] == {}


def test_one_kind_alone(cli) -> None:
    done = cli("list", "losses")
    assert done.out.splitlines()[0] == "losses"
    assert "grpo" in done.out
    assert "personas" not in done.out
    wrong = cli("list", "persona")
    assert wrong.code == 2
    assert "did you mean 'personas'" in wrong.err


def test_lists_fit_the_screen(cli) -> None:
    assert max(map(len, cli("list").out.splitlines())) <= 80


def test_doctor_is_well_here(cli) -> None:
    done = cli("doctor", "--json")
    report = json.loads(done.out)
    assert done.code == 0
    assert report["ok"] is True
    by_name = {finding["name"]: finding for finding in report["findings"]}
    assert by_name["torch"]["found"]
    assert by_name["embedded server"]["found"] == "starts and answers"
    assert by_name["cpu"]["found"].endswith(")")


def test_doctor_says_what_to_do_and_fails(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "PACKAGES", ("rich", "no-such-package"))
    monkeypatch.setenv("SIMARENA_REDIS_URL", "redis://:hunter2@127.0.0.1:1/0")
    done = cli("doctor")
    assert done.code == 1
    assert "✗ no-such-package      not installed" in done.out
    assert "make setup" in done.out
    assert "SIMARENA_REDIS_URL" in done.out
    assert "hunter2" not in done.out
    assert "the demo cannot run yet" in done.out


def test_a_missing_extra_is_not_fatal(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "EXTRAS", {"no-such-extra": "pip install it"})
    done = cli("doctor", "--json")
    assert done.code == 0
    (finding,) = [one for one in json.loads(done.out)["findings"] if one["name"] == "no-such-extra"]
    assert finding["fix"] == "pip install it"
    assert finding["needed"] is False


def test_an_unwritable_cache_is_found(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMARENA_HOME", "/proc/simarena")
    done = cli("doctor")
    assert done.code == 1
    assert "set SIMARENA_HOME" in done.out
