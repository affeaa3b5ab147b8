"""Tournaments as they are played: order and workers change nothing, faults are ruled on, budgets hold."""

import asyncio
from collections.abc import Iterable
from typing import Any

import duels
import pytest

from simarena.arena import Limits, SimulatorArena
from simarena.arena.clock import run_virtual
from simarena.arena.errors import SimArenaError, UsageError
from simarena.arena.specs import AgentSpec
from simarena.arena.tournament.contest import Meeting
from simarena.arena.tournament.results import Result
from simarena.arena.tournament.script import Script, parse
from simarena.arena.tournament.tournament import Tournament


def script(**more: Any) -> Script:
    fighters = {f"f{n}": {"agent": "duels:Fighter", "options": {"skill": 2 * n}} for n in range(7)}
    plain = {"scenario": "duels:Duel", "format": {"kind": "swiss", "rounds": 4}, "entrants": fighters}
    return parse({**plain, **more})


def play(
    chosen: Script, on_file: Iterable[Result] = (), decided: Any = lambda results: False, **arena: Any
) -> Any:
    """(results, the tournament, what was written down) on a virtual clock."""
    written: list[Result] = []

    async def session() -> tuple[list[Result], Tournament]:
        agents = {name: AgentSpec(agent=e.agent, options=e.options) for name, e in chosen.entrants.items()}
        limits = Limits(turn_seconds=9)
        async with SimulatorArena(seed=chosen.seed, limits=limits, people=chosen.people, **arena) as opened:
            game = Tournament(
                chosen,
                rules := duels.Duel(),
                chosen.contest(rules),
                agents,
                opened,
                None,
                lambda result, episode: written.append(result),
                decided,
                lambda results, planned: None,
            )
            return await game.play(on_file), game

    results, game = run_virtual(session())
    return results, game, written


def bare(results: Iterable[Result]) -> list[Result]:
    """Results without what depends on luck."""
    return [result.model_copy(update={"seconds": 0.0, "at": 0.0}) for result in results]


def test_concurrency_and_hosts_change_nothing() -> None:
    calm, _, _ = play(script(concurrency=1))
    for concurrency, people in ((3, 1), (64, 3)):
        busy, _, written = play(script(concurrency=concurrency, people=people))
        assert bare(busy) == bare(calm)
        assert sorted(bare(written), key=lambda r: r.match.id) == sorted(bare(calm), key=lambda r: r.match.id)
    assert len(calm) == 4 * 3 * 2


def test_it_goes_on_from_any_part_of_its_results() -> None:
    whole, _, written = play(script())
    for kept in (0, 1, 7, 12, 23, 24):
        resumed, _, fresh = play(script(), written[:kept])
        assert bare(resumed) == bare(whole)
        assert len(fresh) == len(whole) - kept


def test_mirrored_matches_share_the_deal_and_swap_seats() -> None:
    results, _, _ = play(script())
    by_pair: dict[str, list[Result]] = {}
    for result in results:
        by_pair.setdefault(result.match.pair, []).append(result)
    for one, other in by_pair.values():
        assert one.match.deal == other.match.deal
        assert one.match.seats == {"a": other.match.seats["b"], "b": other.match.seats["a"]}


@pytest.mark.parametrize(
    ("agent", "ending"),
    [("toys:Broken", "crash"), ("toys:Silent", "timeout"), ("toys:Windbag", "invalid"), ("remote", "forfeit")],
)
def test_a_side_that_fails_loses_and_the_others_win(agent: str, ending: str) -> None:
    chosen = script(entrants={"good": "duels:Fighter", "bad": agent}, format={"kind": "round-robin"})
    if agent == "remote":

        async def session() -> list[Result]:
            agents = {"good": AgentSpec(agent="duels:Fighter"), "bad": AgentSpec.of_remote("nobody")}
            async with SimulatorArena(limits=Limits(turn_seconds=9)) as arena:
                rules = duels.Duel()
                nothing = (lambda *_: None, lambda _: False, lambda *_: None)
                return await Tournament(chosen, rules, chosen.contest(rules), agents, arena, None, *nothing).play()

        results = run_virtual(session())
    else:
        results, _, _ = play(chosen)
    assert [result.ending for result in results] == [ending] * 2
    for result in results:
        assert {result.match.seats[seat]: value for seat, value in result.outcome.items()} == {"good": 1, "bad": 0}
        assert result.fault.startswith("bad: ")


def test_faults_of_nobody_are_played_again_and_never_scored() -> None:
    calm, _, _ = play(script())
    duels.BREAKS[:] = [True, False, True, True, False]
    stormy, _, _ = play(script())
    assert bare(stormy) == bare(calm)


def test_what_keeps_failing_is_void_and_the_rest_goes_on() -> None:
    chosen = script(
        entrants={"x": "duels:Fighter", "y": "duels:Fighter"}, format={"kind": "round-robin"}, concurrency=1
    )
    duels.BREAKS[:] = [False, True, True, True, False][::-1]
    results, _, written = play(chosen.model_copy(update={"best_of": 1}))
    duels.BREAKS.clear()
    assert sorted(result.ending for result in results) == ["finished", "void"]
    assert all((result.outcome == {}) == (result.ending == "void") for result in results)
    assert bare(written) != []


def test_a_broken_harness_stops_it_and_leaves_no_trace() -> None:
    duels.BREAKS[:] = [True] * 1000
    written: list[Result] = []
    try:
        with pytest.raises(SimArenaError, match="8 matches in a row failed by nobody's fault, the last: scenario"):
            written = play(script())[2]
    finally:
        duels.BREAKS.clear()
    assert written == []


@pytest.mark.parametrize("budget", [2, 7, 12, 24, 99])
def test_a_budget_of_matches_is_exact_in_whole_pairs(budget: int) -> None:
    whole, _, _ = play(script())
    results, game, _ = play(script(budget={"matches": budget}))
    assert len(results) == min(budget // 2 * 2, 24)
    assert bare(results) == bare(whole[: len(results)])
    assert bool(game.stopped) == (budget < 24)


@pytest.mark.parametrize(("more", "least"), [({}, 2), ({"trials": 3}, 6), ({"mirrored": False, "trials": 3}, 3)])
def test_a_budget_no_meeting_fits_in_is_refused(more: dict[str, Any], least: int) -> None:
    says = f"budget.matches = {least - 1} is less than one meeting.*give at least {least}$"
    with pytest.raises(UsageError, match=says):
        script(budget={"matches": least - 1}, **more).contest(duels.Duel())
    frame = script(budget={"matches": least}, **more).contest(duels.Duel())
    assert len(frame.matches(Meeting(1, ("f0", "f1")))) == least


def test_a_budget_of_minutes_stops_it() -> None:
    results, game, _ = play(script(budget={"minutes": 1e-9}))
    assert (results, game.stopped) == ([], "budget of 1e-09 minutes")


def test_a_budget_of_tokens_counts_those_of_earlier_sessions() -> None:
    _, _, written = play(script())
    spent = [result.model_copy(update={"tokens": 5}) for result in written[:4]]
    results, game, fresh = play(script(budget={"tokens": 20}), spent)
    assert (len(results), fresh, game.stopped) == (4, [], "budget of 20 tokens")
    results, game, _ = play(script(budget={"tokens": 21}), spent)
    assert (len(results), game.stopped) == (24, "")


def test_it_stops_when_the_question_is_decided() -> None:
    results, game, _ = play(script(), decided=lambda results: len(results) >= 12)
    assert (len(results), game.stopped) == (12, "decided after round 2")


def test_a_match_is_cut_by_the_turn_cap_as_a_tie() -> None:
    chosen = script(scenario="toys:Counting", entrants={"x": "toys:Counter", "y": "toys:Counter"})

    async def session() -> list[Result]:
        from toys import Counting

        agents = {name: AgentSpec(agent="toys:Counter") for name in ("x", "y")}
        nothing = (lambda *_: None, lambda _: False, lambda *_: None)
        one = chosen.model_copy(update={"format": parse({**RR, "scenario": "x"}).format})
        async with SimulatorArena(limits=Limits(turns=2)) as arena:
            rules = Counting(turns=9)
            return await Tournament(one, rules, one.contest(rules), agents, arena, None, *nothing).play()

    results = asyncio.run(session())
    assert [(result.ending, result.outcome) for result in results] == [("capped", {"a": 0.5, "b": 0.5})] * 2


RR = {"entrants": {"x": "echo", "y": "echo"}, "format": {"kind": "round-robin"}}
