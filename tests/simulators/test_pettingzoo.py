"""PettingZoo's classic games are scenarios like any other: checked, played to the end, the same every time."""

import pytest

from simarena.arena import Limits, SimulatorArena, check_scenario
from simarena.arena.clock import run_virtual
from simarena.arena.episodes import Episode
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.messages import Action, Observation
from simarena.arena.specs import AgentSpec
from simarena.simulators.scenarios.pettingzoo import Chance, PettingZoo, games

pytest.importorskip("pettingzoo", reason="an extra: pip install 'simarena[pettingzoo]'")

CHANCE = "simarena.simulators.scenarios.pettingzoo:Chance"
SHORT = {
    "chess_v6": 4000,
    "connect_four_v3": 42,
    "leduc_holdem_v4": 20,
    "rps_v2": 40,
    "texas_holdem_no_limit_v6": 60,
    "texas_holdem_v4": 60,
    "tictactoe_v3": 9,
}
"""Games that come to an end by chance, with the turns that is sure to take."""


def play(game: str, deal: int = 0, turns: int = 60, **seats: object) -> Episode:
    async def one() -> Episode:
        rules = PettingZoo(game)
        who = {seat: seats.get(seat.replace("-", "_"), CHANCE) for seat in rules.seats}
        limits = Limits(turns=turns, episode_seconds=1e6, message_chars=100_000)
        async with SimulatorArena(limits=limits) as arena:
            (episode,) = [episode async for episode in arena.play(rules, seats=who, deals=[deal])]  # type: ignore[arg-type]
            return episode

    return run_virtual(one())


def lines(*said: str) -> AgentSpec:
    return AgentSpec(agent="lines", options={"lines": list(said)})


def by_chance(observation: Observation) -> Action:
    """`Chance` as a plain function; it waits for nothing."""
    try:
        Chance().act(observation).send(None)
    except StopIteration as done:
        return Action.model_validate(done.value)
    raise AssertionError("it waited")


@pytest.mark.parametrize("game", [*SHORT, "go_v5"])
def test_a_game_passes_the_conformance_check(game: str) -> None:
    rules = PettingZoo(game, {"board_size": 5} if game == "go_v5" else {})
    check_scenario(rules, deals=range(2), players=dict.fromkeys(rules.seats, by_chance), turns=10)


def test_every_game_of_the_package_is_known() -> None:
    assert {*SHORT, "go_v5"} <= set(games())


@pytest.mark.parametrize("game", [game for game in SHORT if game != "chess_v6"])
def test_a_game_comes_to_an_end_the_same_way_each_time(game: str) -> None:
    episode = play(game, turns=SHORT[game])
    assert episode.ending == "finished", episode.fault
    assert episode.checks == {"no_invalid_move": True}
    assert sum(episode.outcome.values()) == pytest.approx(1.0)
    assert play(game, turns=SHORT[game]).digest() == episode.digest()


def test_deals_of_cards_differ_and_a_hand_is_seen_by_its_owner_only() -> None:
    hands = set()
    for deal in range(6):
        episode = play("leduc_holdem_v4", deal)
        told = [m for m in episode.messages if "hand:" in m.text]
        assert all(m.audience is not None and len(m.audience) == 1 for m in told)
        hands.add(tuple(m.text for m in told[:2]))
    assert len(hands) > 1


def test_a_hidden_throw_is_not_heard_by_the_other() -> None:
    episode = play("rps_v2", player_0=lines("rock"), player_1=lines("paper"))
    assert all(m.audience == (m.seat,) for m in episode.messages if m.kind == "speech")
    assert episode.outcome == {"player_0": 0.0, "player_1": 1.0}
    boards = [m.text for m in episode.messages if m.audience == ("player_1",) and m.kind == "notice"]
    assert boards[0].splitlines()[0] == "the other's last move: none"
    assert boards[1].splitlines()[0] == "the other's last move: rock"


def test_a_board_is_drawn_and_three_in_a_row_win() -> None:
    one, other = lines("0", "i take 1 .", "[2]"), lines("3", "4", "5")
    episode = play("tictactoe_v3", player_1=one, player_2=other)
    assert episode.outcome == {"player_1": 1.0, "player_2": 0.0}
    boards = [m.text for m in episode.messages if m.kind == "notice"]
    assert boards[0] == "x is yours, o the other's\n. . .\n. . .\n. . .\nmoves: 0 1 2 3 4 5 6 7 8"
    assert boards[-1].splitlines()[1:4] == ["x x .", "o o .", ". . ."]


def test_chess_is_played_by_squares() -> None:
    fools = play("chess_v6", player_0=lines("f2f3", "g2g4"), player_1=lines("e7e5", "d8h4"))
    assert fools.outcome == {"player_0": 0.0, "player_1": 1.0}
    assert any(m.text.startswith("you are black\nr n b q k b n r") for m in fools.messages)


@pytest.mark.parametrize("said", ["9", "0 or 1", "hello"])
def test_who_makes_no_legal_move_loses(said: str) -> None:
    episode = play("tictactoe_v3", player_1=lines(said))
    assert (episode.checks, episode.outcome) == ({"no_invalid_move": False}, {"player_1": 0.0, "player_2": 1.0})


def test_unknown_games_and_options_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'tictactoe_v3'"):
        PettingZoo("tictacto_v3")
    with pytest.raises(UsageError, match="cannot be set up: TypeError"):
        PettingZoo("tictactoe_v3", {"boards": 2})
