"""The table: limit poker as a conversation. Each player sees its own card and says one move a turn.

The first word of a turn is the move; anything but a legal move forfeits the hand. Owns turn order, views, notices
and rewards; the rules of the game are `rules.py`'s.
"""

import random
from collections.abc import Mapping
from dataclasses import replace

from simarena.arena.messages import Action, Draft, Message, Text, View, drafts, notice, say
from simarena.arena.protocols import Scenario, Step
from simarena.arena.specs import AgentSpec
from simarena.simulators.best_response import Game, information_sets
from simarena.simulators.hearing import words
from simarena.simulators.poker.rules import FORFEIT, Hand, LimitPoker
from simarena.simulators.situations import Situation
from simarena.simulators.splits import Split

SEATS = FIRST, SECOND = "first", "second"
HOLD = "you hold the {card}."
BOARD = "the board is {card}."
WON, DRAWN = "{seat} wins {chips}.", "nobody wins."
MOVES = "say one word a turn: check or bet; fold, call or raise once there is a bet."


class PokerTable(Scenario[Hand]):
    """A game of limit poker between seats `first` and `second`.

    With `explain` the instructions tell the rules; a policy that is trained needs only its card. `split` changes
    nothing: the game has few deals, and all of them are played in both.
    """

    seats = SEATS
    forfeit = FORFEIT

    def __init__(self, name: str, game: LimitPoker, rules: str, split: Split, explain: bool) -> None:
        self.name, self.poker, self.split = name, game, split
        self._rules, self._explain = rules, explain

    @property
    def game(self) -> Game[Hand]:
        """The game in extensive form, for exact best responses."""
        return self.poker

    def legal(self, moves: tuple[str, ...]) -> tuple[str, ...]:
        """What may be said after these moves."""
        return self.poker.spoken(Hand(("", ""), moves=moves))

    def deal(self, rng: random.Random) -> Hand:
        return self.poker.drawn(rng.sample(self.poker.deck, len(self.poker.deck)))

    def to_act(self, state: Hand) -> frozenset[str]:
        return frozenset((SEATS[self.poker.actor(state) or 0],))

    def view(self, state: Hand, seat: str) -> View:
        card = HOLD.format(card=state.cards[SEATS.index(seat)])
        return View(instructions=f"{self._rules} {MOVES} {card}" if self._explain else card)

    def apply(self, state: Hand, actions: Mapping[str, Action]) -> Step[Hand]:
        ((seat, action),) = actions.items()
        legal = self.poker.spoken(state)
        said = words(action.text)[:1]
        move = said[0] if said and said[0] in legal else FORFEIT
        after = self.poker.play(state, move)
        messages = list(drafts(seat, _spoken(action)))
        round_before, pot = self.poker.pot(state).round, self.poker.pot(after)
        if pot.actor is not None:
            if pot.round > round_before:
                messages.append(notice(BOARD.format(card=after.board)))
            return Step(after, tuple(messages))
        chips = self.poker.utility(after)
        messages.append(notice(_result(chips)))
        share = 0.5 + chips / (2 * self.poker.stake)
        return Step(
            after,
            tuple(messages),
            rewards={FIRST: chips, SECOND: -chips},
            ending="finished",
            checks={"spoke_clearly": move != FORFEIT},
            outcome={FIRST: share, SECOND: 1 - share},
        )

    def cast(self) -> Mapping[str, AgentSpec]:
        """Uniform players unless the caller seats others."""
        return dict.fromkeys(SEATS, AgentSpec(agent="simarena.simulators.poker.players:Uniform"))

    def labels(self, state: Hand) -> Mapping[str, str]:
        """The cards: `first`, `second` and `board`."""
        board = {"board": state.board} if state.board else {}
        return {FIRST: state.cards[0], SECOND: state.cards[1], **board}

    def state_key(self, state: Hand, seat: str) -> str:
        """The information set."""
        return self.poker.key(state)

    def secrets(self, state: Hand, seat: str) -> tuple[str, ...]:
        """Its card, unless both hold the same rank: then each reads of its own what it must not of the other's."""
        if len(set(state.cards)) < len(state.cards):
            return ()
        return (HOLD.format(card=state.cards[SEATS.index(seat)]).rstrip("."),)

    def lexicon(self) -> tuple[str, ...]:
        rules = (self._rules, MOVES) if self._explain else ()
        texts = (HOLD, BOARD, WON, DRAWN, *rules, *SEATS, *self.poker.ranks, "check bet fold call raise")
        spoken = {word for text in texts for word in words(text.replace("{", " ").replace("}", " "))}
        numbers = {str(number) for number in range(self.poker.stake + 1)}
        return tuple(sorted(spoken - {"seat", "card", "chips"} | numbers))

    def situations(self) -> dict[str, Situation]:
        """Every information set that clear play can reach, as the conversation its owner sees."""
        found = {}
        for key, (hand, *_) in information_sets(self.poker).items():
            if FORFEIT not in hand.moves:
                found[key] = self._situation(hand)
        return found

    def _situation(self, hand: Hand) -> Situation:
        state, messages = replace(hand, moves=()), []
        for turn, move in enumerate(hand.moves, 1):
            seat = SEATS[self.poker.actor(state) or 0]
            step = self.apply(state, {seat: say(move)})
            messages += [_stamped(draft, f"{turn}-{n}") for n, draft in enumerate(step.messages, 1)]
            state = step.state
        seat = SEATS[self.poker.actor(state) or 0]
        return Situation(seat, self.view(state, seat), tuple(messages), self.poker.spoken(state))


def _spoken(action: Action) -> Action:
    """The action without tool calls: there are no tools at the table."""
    return Action(parts=tuple(part for part in action.parts if isinstance(part, Text)))


def _result(chips: float) -> str:
    return WON.format(seat=FIRST if chips > 0 else SECOND, chips=f"{abs(chips):g}") if chips else DRAWN


def _stamped(draft: Draft, place: str) -> Message:
    return Message(episode="", id=place, seat=draft.seat, kind=draft.kind, parts=draft.parts)
