"""The iterated prisoner's dilemma: its rules, and Axelrod's results by Axelrod's library."""

import itertools
import random
from collections.abc import Sequence

import axelrod
import numpy as np
import pytest

from simarena.arena import Observation, SimulatorArena, View, check_scenario, say
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.seeds import uniform
from simarena.arena.specs import AgentSpec
from simarena.arena.tournament.ratings.table import rate
from simarena.arena.tournament.results import Match, Result
from simarena.simulators.scenarios.prisoners_dilemma import Prisoner, PrisonersDilemma
from simarena.simulators.scenarios.prisoners_dilemma.scenario import read_move, score
from simarena.simulators.scenarios.prisoners_dilemma.strategies import STRATEGIES

REFERENCE = {
    "alternator": axelrod.Alternator,
    "cooperator": axelrod.Cooperator,
    "davis": axelrod.FirstByDavis,
    "defector": axelrod.Defector,
    "generous-tit-for-tat": axelrod.GTFT,
    "grudger": axelrod.Grudger,
    "hard-majority": axelrod.HardGoByMajority,
    "joss": axelrod.FirstByJoss,
    "pavlov": axelrod.WinStayLoseShift,
    "prober": axelrod.Prober,
    "random": axelrod.Random,
    "soft-majority": axelrod.GoByMajority,
    "suspicious-tit-for-tat": axelrod.SuspiciousTitForTat,
    "tit-for-tat": axelrod.TitForTat,
    "tit-for-two-tats": axelrod.TitFor2Tats,
    "two-tits-for-tat": axelrod.TwoTitsForTat,
}
CHANCY = {"generous-tit-for-tat", "joss", "random"}
ROUNDS = 200


def play(row: str, column: str, scenario: PrisonersDilemma, deal: int = 0) -> dict[str, int]:
    """Points by seat, by the scenario's own rules."""
    state = scenario.deal(random.Random(deal))
    for turn in range(scenario.rounds):
        actions = {}
        for seat, strategy in (("row", row), ("column", column)):
            private = scenario.view(state, seat).private
            chance = uniform(row, column, deal, seat, turn)
            move = STRATEGIES[strategy](private["own"], private["other"], chance)
            actions[seat] = say("cooperate" if move == "C" else "defect")
        state = scenario.apply(state, actions).state
    return {seat: score(state, seat) for seat in scenario.seats}


def tournament(strategies: Sequence[str], repetitions: int = 1) -> list[Result]:
    """Everybody against everybody else, each repetition one deal."""
    scenario, results = PrisonersDilemma(ROUNDS), []
    for row, column in itertools.combinations(strategies, 2):
        for deal in range(repetitions):
            points = play(row, column, scenario, deal)
            name = f"{row}/{column}/{deal}"
            match = Match(id=name, seats={"row": row, "column": column}, pair=name, deal=deal)
            outcome = {seat: value / (5 * ROUNDS) for seat, value in points.items()}
            results.append(Result(match=match, ending="finished", outcome=outcome))
    return results


def test_all_sixteen_are_held_against_the_library() -> None:
    assert REFERENCE.keys() == STRATEGIES.keys()


def test_it_keeps_the_contract() -> None:
    check_scenario(PrisonersDilemma(rounds=8, noise=0.2))


def test_every_match_score_equals_the_librarys() -> None:
    """All 91 pairings, self-play included, of the thirteen without chance: equal points after 200 rounds."""
    sure = sorted(REFERENCE.keys() - CHANCY)
    for row, column in itertools.combinations_with_replacement(sure, 2):
        expected = axelrod.Match((REFERENCE[row](), REFERENCE[column]()), turns=ROUNDS)
        expected.play()
        assert tuple(play(row, column, PrisonersDilemma(ROUNDS)).values()) == expected.final_score(), (row, column)


def test_axelrods_ranking_is_reproduced() -> None:
    """The same strategies, rounds and pairings: our table by mean score is the library's, score for score."""
    sure = sorted(REFERENCE.keys() - CHANCY)
    games = axelrod.Tournament([REFERENCE[name]() for name in sure], turns=ROUNDS, repetitions=1)
    played = games.play(progress_bar=False, processes=None)
    library = {name: float(np.mean(row)) / 5 for name, row in zip(sure, played.normalised_scores, strict=True)}
    table = rate(tournament(sure), "score")
    assert {row.entrant: row.rating for row in table.standings} == pytest.approx(library)
    assert [row.entrant for row in table.standings] == sorted(
        sure, key=lambda name: (-round(library[name], 9), name)
    )


@pytest.mark.parametrize("strategy", sorted(CHANCY))
def test_strategies_with_chance_agree_in_the_mean(strategy: str) -> None:
    """Ten matches each against five opponents: means within four standard errors of the library's."""
    for other in ("cooperator", "defector", "alternator", "tit-for-tat", "joss"):
        ours = np.array([play(strategy, other, PrisonersDilemma(ROUNDS), deal)["row"] for deal in range(10)])
        library = []
        for seed in range(10):
            match = axelrod.Match((REFERENCE[strategy](), REFERENCE[other]()), turns=ROUNDS, seed=seed)
            match.play()
            library.append(match.final_score()[0])
        error = np.sqrt((ours.var(ddof=1) + np.var(library, ddof=1)) / 10)
        assert abs(ours.mean() - np.mean(library)) <= 4 * error + 1e-9, other


def test_tit_for_tat_never_beats_anybody() -> None:
    """Why this game is ranked by score: by won matches tit for tat is at best a tie, and defector is first."""
    results = tournament(["tit-for-tat", "defector", "cooperator", "grudger", "pavlov"])
    assert rate(results, "score").standings[-1].entrant != "tit-for-tat"
    for result in results:
        seats = {entrant: seat for seat, entrant in result.match.seats.items()}
        if "tit-for-tat" in seats:
            (other,) = (seat for seat in ("row", "column") if seat != seats["tit-for-tat"])
            assert result.outcome[seats["tit-for-tat"]] <= result.outcome[other]
    assert rate(results, intervals="sandwich").standings[0].entrant == "defector"


async def test_agents_play_it_on_the_bus() -> None:
    cast = {
        "row": AgentSpec(agent="prisoner", options={"strategy": "prober"}),
        "column": AgentSpec(agent="prisoner", options={"strategy": "tit-for-tat"}),
    }
    async with SimulatorArena() as arena:
        episodes = [e async for e in arena.play(PrisonersDilemma(20), seats=cast, deals=[0])]
    (episode,) = episodes
    expected = play("prober", "tit-for-tat", PrisonersDilemma(20))
    assert episode.success
    assert {seat: round(value * 100) for seat, value in episode.outcome.items()} == expected
    assert episode.returns("row") == pytest.approx(episode.outcome["row"])


def test_noise_turns_moves_around() -> None:
    """Two cooperators with noise 0.1 keep about 0.9² of their rounds clean; the deal decides which."""
    scenario = PrisonersDilemma(ROUNDS, noise=0.1)
    points = [play("cooperator", "cooperator", scenario, deal)["row"] / ROUNDS for deal in range(20)]
    expected = 3 * 0.81 + 5 * 0.09 + 0 * 0.09 + 1 * 0.01
    assert np.mean(points) == pytest.approx(expected, abs=0.05)
    assert play("random", "joss", scenario, 3) == play("random", "joss", scenario, 3)


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("cooperate", "C"),
        ("I will DEFECT.", "D"),
        ("cooperate or defect?", ""),
        ("cooperation pays", ""),
        ("", ""),
        ("defect! defect!", "D"),
    ],
)
def test_moves_are_read_from_words(text: str, move: str) -> None:
    assert read_move(text) == move


def test_an_unreadable_move_is_answered_and_counts_as_defect() -> None:
    scenario = PrisonersDilemma(rounds=1)
    state = scenario.deal(random.Random(0))
    step = scenario.apply(state, {"row": say("hm"), "column": say("cooperate")})
    assert step.outcome == {"row": 1.0, "column": 0.0}
    assert step.checks == {"legible": False}
    assert [draft.audience for draft in step.messages] == [("row",), None]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="rounds = 0"):
        PrisonersDilemma(rounds=0)
    with pytest.raises(UsageError, match="unknown split"):
        PrisonersDilemma(split="dev")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean 'tit-for-tat'"):
        Prisoner("tit-for-tatt")


async def test_the_agent_is_a_function_of_what_it_sees() -> None:
    view = View(private={"own": "CC", "other": "CD"})
    seen = Observation(episode="e", scenario="prisoners-dilemma", seat="row", turn=3, seed=7, view=view)
    assert await Prisoner("tit-for-tat").act(seen) == say("defect")
    assert await Prisoner("random").act(seen) == await Prisoner("random").act(seen)
