"""Poker: rules by worked hands, the conversation around them, and exploitability against OpenSpiel's."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from simarena.arena.conformance import check_scenario
from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, call, say
from simarena.arena.specs import build_scenario
from simarena.simulators.best_response import best_response, exploitability, information_sets, uniform, value
from simarena.simulators.poker.rules import FORFEIT, Hand
from simarena.simulators.poker.table import PokerTable
from simarena.simulators.scenarios.kuhn_poker import KuhnPoker
from simarena.simulators.scenarios.leduc_poker import LeducPoker

GAMES = {"kuhn_poker": KuhnPoker(), "leduc_poker": LeducPoker()}


@pytest.mark.parametrize("table", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("explain", [True, False])
def test_it_keeps_the_contract(table: PokerTable, explain: bool) -> None:
    check_scenario(build_scenario(table.name, {"explain": explain}))


@pytest.mark.parametrize(
    ("cards", "moves", "chips"),
    [
        ("jack king", "check check", -1),
        ("queen jack", "bet call", 2),
        ("jack king", "bet fold", 1),
        ("queen king", "check bet call", -2),
        ("king queen", "check bet fold", -1),
        ("king queen", "bet forfeit", 2),
        ("king queen", "forfeit", -2),
    ],
)
def test_kuhn_hands(cards: str, moves: str, chips: float) -> None:
    first, second = cards.split()
    hand = Hand((first, second), "", tuple(moves.split()))
    assert KuhnPoker().poker.utility(hand) == chips
    assert KuhnPoker().poker.actor(hand) is None


@pytest.mark.parametrize(
    ("cards", "board", "moves", "chips"),
    [
        ("queen king", "queen", "check check check check", 1),
        ("queen king", "jack", "bet raise call check bet call", -9),
        ("queen queen", "king", "check bet raise call bet raise call", 0),
        ("jack king", "king", "bet call bet raise fold", -7),
        ("jack king", "jack", "check bet raise call bet raise call", 13),
    ],
)
def test_leduc_hands(cards: str, board: str, moves: str, chips: float) -> None:
    first, second = cards.split()
    assert LeducPoker().poker.utility(Hand((first, second), board, tuple(moves.split()))) == chips


def play(table: PokerTable, *texts: str) -> Any:
    state = Hand(("king", "queen"), "jack" if table.name == "leduc-poker" else "")
    for text in texts:
        (seat,) = table.to_act(state)
        step = table.apply(state, {seat: say(text)})
        state = step.state
    return step


def test_the_first_word_is_the_move_whatever_its_case_and_what_follows() -> None:
    step = play(KuhnPoker(), "Bet! You are bluffing.", "fold")
    assert step.rewards == {"first": 1.0, "second": -1.0}
    assert step.outcome == {"first": 0.75, "second": 0.25}
    assert step.checks == {"spoke_clearly": True}
    assert [draft.parts[0].text for draft in step.messages] == ["fold", "first wins 1."]


@pytest.mark.parametrize("text", ["call", "raise", "hm", "", "i check"])
def test_what_is_no_legal_move_forfeits_the_hand_and_a_chip(text: str) -> None:
    step = play(KuhnPoker(), text)
    assert (step.rewards["first"], step.checks["spoke_clearly"]) == (-2.0, False)


def test_there_are_no_tools_at_the_table() -> None:
    table = KuhnPoker()
    step = table.apply(Hand(("king", "jack")), {"first": Action(parts=call("bet").parts)})
    assert (step.checks["spoke_clearly"], len(step.messages)) == (False, 1)


def test_the_board_is_told_once_and_only_after_the_first_round() -> None:
    table = LeducPoker()
    assert [draft.seat for draft in play(table, "check").messages] == ["first"]
    assert play(table, "check", "check").messages[1].parts[0].text == "the board is jack."
    assert len(play(table, "check", "check", "check").messages) == 1


def test_situations_are_the_information_sets_as_their_owner_sees_them() -> None:
    for table, count in ((KuhnPoker(), 12), (LeducPoker(), 288)):
        situations = table.situations()
        assert len(situations) == count
        assert situations.keys() == information_sets(table.game).keys()
    seen = KuhnPoker(explain=False).situations()["queen check bet"]
    assert (seen.seat, seen.moves) == ("first", ("fold", "call"))
    assert seen.view.instructions == "you hold the queen."
    assert [(m.seat, m.text) for m in seen.messages] == [("first", "check"), ("second", "bet")]
    board = LeducPoker().situations()["king jack check check"]
    assert [m.text for m in board.messages] == ["check", "check", "the board is jack."]


def equilibrium(alpha: float) -> dict[str, dict[str, float]]:
    """Kuhn's family of equilibria: `first` bets a jack with probability alpha, a king with three times that."""
    chances = {
        "jack": alpha,
        "queen": 0.0,
        "king": 3 * alpha,
        "jack check bet": 0.0,
        "queen check bet": alpha + 1 / 3,
        "king check bet": 1.0,
        "jack check": 1 / 3,
        "queen check": 0.0,
        "king check": 1.0,
        "jack bet": 0.0,
        "queen bet": 1 / 3,
        "king bet": 1.0,
    }
    return {
        key: {active: chances[key], passive: 1 - chances[key]}
        for key, (passive, active) in ((key, one.moves) for key, one in KuhnPoker().situations().items())
    }


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_every_equilibrium_of_kuhn_is_found_unexploitable(alpha: float) -> None:
    game = KuhnPoker().game
    assert exploitability(game, equilibrium(alpha)) == pytest.approx(0.0, abs=1e-12)
    assert value(game, equilibrium(alpha)) == pytest.approx(-1 / 18)


def clear(table: PokerTable, draw: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    return {key: dict(zip(one.moves, draw[key], strict=True)) for key, one in table.situations().items()}


def drawn(table: PokerTable, seed: int) -> dict[str, list[float]]:
    chance = random.Random(seed)
    found = {}
    for key, one in table.situations().items():
        weights = [chance.expovariate(1.0) for _ in one.moves]
        found[key] = [weight / sum(weights) for weight in weights]
    return found


def test_a_policy_that_forfeits_is_beaten_by_more() -> None:
    game = KuhnPoker().game
    even = clear(KuhnPoker(), {key: [0.5, 0.5] for key in KuhnPoker().situations()})
    assert exploitability(game, even) == pytest.approx(0.458333333)
    assert exploitability(game, uniform(game)) > 1.0
    slip = {key: {move: 0.9 * p for move, p in row.items()} | {FORFEIT: 0.1} for key, row in even.items()}
    assert exploitability(game, even) < exploitability(game, slip) < exploitability(game, uniform(game))
    assert best_response(game, even, 0) + best_response(game, even, 1) == pytest.approx(2 * 0.458333333)


def test_a_strategy_with_a_hole_is_refused() -> None:
    with pytest.raises(UsageError, match="'queen bet'"):
        exploitability(KuhnPoker().game, {k: v for k, v in equilibrium(0.1).items() if k != "queen bet"})


@pytest.mark.parametrize(("name", "seed"), [("kuhn_poker", 0), ("kuhn_poker", 1), ("leduc_poker", 0)])
def test_exploitability_equals_that_of_openspiel(name: str, seed: int) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="no OpenSpiel wheel for this platform")
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability as theirs

    table = GAMES[name]
    probabilities = drawn(table, seed)
    game = pyspiel.load_game(name)

    def at(state: Any) -> dict[int, float]:
        """Our probabilities; both list legal actions from passive to aggressive."""
        return dict(zip(state.legal_actions(), probabilities[key_of(table, state.history())], strict=True))

    tabular = policy.tabular_policy_from_callable(game, at)
    expected = theirs.exploitability(game, tabular)
    assert exploitability(table.game, clear(table, probabilities)) == pytest.approx(expected, abs=1e-9)


def key_of(table: PokerTable, history: list[int]) -> str:
    """Our information set of one of their histories."""
    kuhn = table.name == "kuhn-poker"
    cards = [table.poker.ranks[c if kuhn else c // 2] for c in history[:2]]
    hand = Hand((cards[0], cards[1]), "" if kuhn else "?")
    for action in history[2:]:
        pot = table.poker.pot(hand)
        if pot.round and hand.board == "?":
            hand = Hand(hand.cards, table.poker.ranks[action // 2], hand.moves)
            continue
        moves = table.poker.spoken(hand)
        if kuhn:
            move = moves[action]
        elif pot.facing:
            move = ("fold", "call", "raise")[action]
        else:
            move = {1: "check", 2: "bet"}[action]
        hand = table.poker.play(hand, move)
    return table.poker.key(hand)
