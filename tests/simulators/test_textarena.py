"""TextArena's games are scenarios like any other: checked, forked, played to the end, the same every time."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from simarena.arena import SimulatorArena, check_scenario
from simarena.arena.clock import run_virtual
from simarena.arena.episodes import Episode
from simarena.arena.errors import UnknownName, UsageError
from simarena.simulators.scenarios.textarena import TextArena, games

DICE = "simarena.simulators.scenarios.textarena:Dice"
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "textarena_games.py"
SAMPLE = (
    "TicTacToe-v0",
    "KuhnPoker-v0",
    "IteratedPrisonersDilemma-v0",
    "LiarsDice-v0",
    "GuessTheNumber-v0",
    "Nim-v0",
)


def play(game: str, deal: int = 0) -> Episode:
    async def one() -> Episode:
        rules = TextArena(game)
        async with SimulatorArena() as arena:
            played = arena.play(rules, seats=dict.fromkeys(rules.seats, DICE), deals=[deal])
            (episode,) = [episode async for episode in played]
            return episode

    return run_virtual(one())


@pytest.mark.parametrize("game", SAMPLE)
def test_a_game_passes_the_conformance_check(game: str) -> None:
    check_scenario(TextArena(game))


@pytest.mark.parametrize("game", SAMPLE[:3])
def test_equal_deals_give_equal_games_and_others_other_ones(game: str) -> None:
    assert play(game).digest() == play(game).digest()
    assert len({play(game, deal).digest() for deal in range(3)}) == 3


def test_a_hidden_card_is_heard_by_its_owner_only() -> None:
    episode = play("KuhnPoker-v0")
    cards = [m for m in episode.messages if "Your card is" in m.text]
    assert {m.audience for m in cards} == {("player-0",), ("player-1",)}


def test_unknown_games_and_wrong_numbers_of_players_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'TicTacToe-v0"):
        TextArena("TicTacTo-v0")
    with pytest.raises(UsageError, match="does not take 5 players"):
        TextArena("TicTacToe-v0", players=5)


@pytest.mark.slow
def test_at_least_sixty_games_come_to_an_end() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE), "5"], capture_output=True, text=True, timeout=290)
    assert done.returncode == 0, done.stderr
    ended = re.search(r"(\d+) of (\d+) games came to an end", done.stdout)
    assert ended, done.stdout
    assert int(ended[1]) >= 60, done.stdout
    assert int(ended[2]) == len(games())
