"""The rules of limit poker for two with a few cards, as an extensive-form game. Kuhn and Leduc are settings of it.

Kuhn: H. W. Kuhn, "A simplified two-person poker" (1950). Leduc: Southey et al., "Bayes' bluff" (2005). One move
is added to both, `forfeit`: what a player does who says no legal move. It loses one chip more than folding, so no
best response uses it. Knows no conversation.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations

CHECK, BET, FOLD, CALL, RAISE, FORFEIT = "check", "bet", "fold", "call", "raise", "forfeit"
ANTE, FINE = 1, 1
"""Chips each pays before the cards, and beyond folding for saying no legal move."""


@dataclass(frozen=True, slots=True)
class Hand:
    """One hand as played so far: both private cards, the board card (empty if there is none), and the moves."""

    cards: tuple[str, str]
    board: str = ""
    moves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pot:
    """Where the betting stands, whatever the cards."""

    round: int = 0
    actor: int | None = 0
    paid: tuple[int, int] = (ANTE, ANTE)
    raises: int = 0
    """Bets and raises of this round."""
    opened: bool = False
    """Somebody has moved in this round."""
    lost: tuple[int, int] | None = None
    """(who gave up, how many chips that costs)."""

    @property
    def facing(self) -> bool:
        """Whether the actor faces a bet."""
        return self.paid[0] != self.paid[1]


@dataclass(frozen=True)
class LimitPoker:
    """A `best_response.Game`."""

    deck: tuple[str, ...]
    """Ranks from low to high, each as often as it is in the deck."""
    bets: tuple[int, ...]
    """Size of a bet in each round; a second round has a board card."""
    raises: int
    """Most bets and raises in one round."""
    ranks: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", tuple(dict.fromkeys(self.deck)))

    @property
    def stake(self) -> int:
        """Most chips that can change hands."""
        return ANTE + self.raises * sum(self.bets)

    def drawn(self, cards: Sequence[str]) -> Hand:
        """The hand of a shuffled deck."""
        return Hand((cards[0], cards[1]), cards[2] if len(self.bets) > 1 else "")

    def roots(self) -> Iterator[tuple[float, Hand]]:
        hands = Counter(self.drawn(order) for order in permutations(self.deck, 2 if len(self.bets) == 1 else 3))
        for hand, times in sorted(hands.items(), key=lambda item: str(item[0])):
            yield times / hands.total(), hand

    def pot(self, hand: Hand) -> Pot:
        return _pot(self.bets, hand.moves)

    def actor(self, history: Hand) -> int | None:
        return self.pot(history).actor

    def spoken(self, hand: Hand) -> tuple[str, ...]:
        """The legal moves, but for forfeiting."""
        pot = self.pot(hand)
        more = pot.raises < self.raises
        if pot.facing:
            return (FOLD, CALL, RAISE) if more else (FOLD, CALL)
        return (CHECK, BET) if more else (CHECK,)

    def moves(self, history: Hand) -> tuple[str, ...]:
        return (*self.spoken(history), FORFEIT)

    def play(self, history: Hand, move: str) -> Hand:
        return Hand(history.cards, history.board, (*history.moves, move))

    def key(self, history: Hand) -> str:
        pot = self.pot(history)
        own = history.cards[pot.actor or 0]
        return " ".join((own, *([history.board] if pot.round else []), *history.moves))

    def utility(self, history: Hand) -> float:
        pot = self.pot(history)
        if pot.lost is not None:
            loser, chips = pot.lost
            return float(chips if loser == 1 else -chips)
        mine, theirs = (self._strength(card, history.board) for card in history.cards)
        return float(pot.paid[0] * ((mine > theirs) - (mine < theirs)))

    def _strength(self, card: str, board: str) -> tuple[bool, int]:
        """A pair with the board beats everything, then the higher card."""
        return card == board, self.ranks.index(card)


@cache
def _pot(bets: tuple[int, ...], moves: tuple[str, ...]) -> Pot:
    if not moves:
        return Pot()
    before, move = _pot(bets, moves[:-1]), moves[-1]
    actor = before.actor
    assert actor is not None, f"a move after the end: {moves}"
    if move in (FOLD, FORFEIT):
        chips = before.paid[actor] + (FINE if move == FORFEIT else 0)
        return Pot(before.round, None, before.paid, before.raises, True, (actor, chips))
    high = max(before.paid)
    if move in (BET, RAISE):
        paid = _with(before.paid, actor, high + bets[before.round])
        return Pot(before.round, 1 - actor, paid, before.raises + 1, True)
    paid = _with(before.paid, actor, high)
    if move == CHECK and not before.opened:
        return Pot(before.round, 1 - actor, paid, before.raises, True)
    following = before.round + 1
    return Pot(following, 0 if following < len(bets) else None, paid)


def _with(paid: tuple[int, int], actor: int, chips: int) -> tuple[int, int]:
    return (chips, paid[1]) if actor == 0 else (paid[0], chips)
