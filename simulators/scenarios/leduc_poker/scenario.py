"""The scenario `leduc-poker`: six cards, a board card, two rounds. The table is `simulators/poker`."""

from simarena.simulators.poker.rules import LimitPoker
from simarena.simulators.poker.table import PokerTable
from simarena.simulators.splits import Split

RULES = (
    "leduc poker. the cards are two jacks, two queens and two kings. each pays 1 chip. a bet is 2 chips, after "
    "the board card it is 4 chips; two bets in a round at most. a pair with the board wins, else the higher card."
)


class LeducPoker(PokerTable):
    """Leduc poker (2005). Options: `split` (the same game), `explain` (the instructions tell the rules)."""

    def __init__(self, split: Split = "train", explain: bool = True) -> None:
        cards = ("jack", "queen", "king")
        game = LimitPoker(deck=tuple(card for card in cards for _ in range(2)), bets=(2, 4), raises=2)
        super().__init__("leduc-poker", game, RULES, split, explain)
