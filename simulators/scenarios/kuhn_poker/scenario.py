"""The scenario `kuhn-poker`: three cards, one bet, twelve information sets. The table is `simulators/poker`."""

from simarena.simulators.poker.rules import LimitPoker
from simarena.simulators.poker.table import PokerTable
from simarena.simulators.splits import Split

RULES = "kuhn poker. the cards are jack, queen and king. each pays 1 chip, a bet is 1 chip, the higher card wins."


class KuhnPoker(PokerTable):
    """Kuhn poker (1950). Options: `split` (the same game), `explain` (the instructions tell the rules)."""

    def __init__(self, split: Split = "train", explain: bool = True) -> None:
        game = LimitPoker(deck=("jack", "queen", "king"), bets=(1,), raises=1)
        super().__init__("kuhn-poker", game, RULES, split, explain)
