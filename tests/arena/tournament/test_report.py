"""The report says what was found, in words first; every name and fault in it is data."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from coins import contest, favourites, play

from simarena.arena.tournament.findings import Findings, find
from simarena.arena.tournament.formats import Block, DoubleElimination, RoundRobin, Swiss
from simarena.arena.tournament.ratings.table import rate
from simarena.arena.tournament.report import render
from simarena.arena.tournament.results import Match, Result
from simarena.arena.tournament.script import parse

VOID = {"meta"}


class Checker(HTMLParser):
    """Collects tags and refuses those that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def found(results: list[Result], frame: Any, **more: Any) -> Findings:
    entrants = dict.fromkeys(frame.entrants, "echo")
    plain = {"scenario": "duels:Duel", "entrants": entrants, "format": {"kind": "round-robin"}}
    script = parse({"name": "cup", **plain, **more})

    def rated(some: Any, fast: bool) -> Any:
        method = script.method(frame)
        return rate(some, method, entrants=frame.entrants, intervals="sandwich")

    return find(script, frame, results, "", rated, lambda one: None)


def test_a_round_robin_has_all_its_parts() -> None:
    frame = contest(6, best_of=4)
    page = render(found(play(frame, RoundRobin())[1], frame))
    seen = Checker(page).seen
    for part in (
        "Standings",
        "Who beat whom",
        "Rating against time",
        "Most surprising matches",
        "Faults",
        "Settings",
    ):
        assert f"<h2>{part}</h2>" in page
    assert seen.count("details") == 8
    assert "script" not in seen
    assert not re.search(r"(?:src|href)\s*=|url\(|@import", page)
    assert all(name in page for name in frame.entrants)
    assert '<td><span class="by">echo</span></td>' in page  # who plays under each name
    assert re.search(r"round 1: e\d+ \(a\) [01.5]+ – e\d+ \(b\)", page)  # and from which seat
    assert "triples" in page


def test_an_elimination_has_its_bracket() -> None:
    frame = contest(5)
    page = render(
        found(play(frame, DoubleElimination(), favourites)[1], frame, format={"kind": "double-elimination"})
    )
    Checker(page)
    assert page.count('class="meet"') == 8
    assert "<div class=won>e0000</div>" in page


def test_who_plays_alone_gets_reliability_and_no_cross_table() -> None:
    frame = contest(3, sides={"a": ("a",)}, best_of=5, trials=2)
    _, results = play(frame, Block(), lambda match: float(match.seats["a"] == "e0000"))
    page = render(found(results, frame))
    Checker(page)
    assert "Reliability" in page
    assert "pass^2" in page
    assert "Who beat whom" not in page


def test_checkpoints_get_a_curve_over_steps() -> None:
    frame = contest(2).model_copy(update={"entrants": ("step-10", "step-0", "step-5", "teacher")})
    page = render(found(play(frame, RoundRobin())[1], frame))
    Checker(page)
    assert "Rating against training step" in page


def test_faults_are_counted_by_who_and_how_and_shown_as_text() -> None:
    frame = contest(4)
    _, results = play(frame, RoundRobin())
    match: Match = results[0].match
    bad = "e0001: <img src=x onerror=alert(1)>\x1b[2J"
    results[0] = Result(match=match, ending="crash", outcome=dict.fromkeys(match.seats, 0.0), fault=bad)
    results[1] = Result(match=results[1].match, ending="void", fault="the table collapsed")
    page = render(found(results, frame))
    Checker(page)
    assert "<td>e0001</td><td>crash</td>" in page
    assert "nobody: played again, never scored" in page
    assert "\x1b" not in page
    assert "<img" not in page


@pytest.mark.parametrize("size", [2, 30])
def test_small_and_large_fields(size: int) -> None:
    frame = contest(size)
    Checker(render(found(play(frame, Swiss(rounds=1))[1], frame)))
