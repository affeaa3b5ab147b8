"""Best response: how much a strategy can be beaten by, exactly, in zero-sum games for two that are small enough.

Walks the whole tree once per responder; all chance is at the root, as in a scenario's deal. Knows no cards, no
words and no policy: a strategy is a table from information sets to probabilities.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol, TypeVar

from simarena.arena.errors import UsageError

H = TypeVar("H", bound=Hashable)
Strategy = Mapping[str, Mapping[str, float]]
"""Information set → move → probability."""


class Game(Protocol[H]):
    """A two-player zero-sum game in extensive form, with perfect recall. `H` is a history, a hashable value."""

    def roots(self) -> Iterable[tuple[float, H]]:
        """Every outcome of chance with its probability."""
        ...

    def actor(self, history: H) -> int | None:
        """Whose move it is, 0 or 1; None at the end."""
        ...

    def moves(self, history: H) -> Sequence[str]: ...

    def play(self, history: H, move: str) -> H: ...

    def key(self, history: H) -> str:
        """The information set of whoever is to move."""
        ...

    def utility(self, history: H) -> float:
        """What player 0 wins at the end; player 1 loses as much."""
        ...


def exploitability(game: Game[H], strategy: Strategy) -> float:
    """NashConv / 2: the mean of what the best response to each seat's strategy wins; 0 at an equilibrium.

    NashConv as in Lanctot et al. 2017 (arXiv 1711.00832). Raises UsageError for an information set that the
    strategy leaves out.
    """
    return sum(best_response(game, strategy, player) for player in (0, 1)) / 2


def best_response(game: Game[H], strategy: Strategy, player: int) -> float:
    """What the best answer of `player` to the other's part of `strategy` wins, per game."""
    reach = _reach(game, strategy, player)

    @cache
    def value(history: H) -> float:
        actor = game.actor(history)
        if actor is None:
            return game.utility(history) * (1 if player == 0 else -1)
        if actor == player:
            return value(game.play(history, best(game.key(history))))
        chances = _at(strategy, game.key(history))
        return sum(
            chances.get(move, 0.0) * value(game.play(history, move))
            for move in game.moves(history)
            if chances.get(move)
        )

    @cache
    def best(key: str) -> str:
        members = reach[key]
        moves = game.moves(members[0][1])
        return max(moves, key=lambda move: sum(p * value(game.play(history, move)) for p, history in members))

    return sum(chance * value(root) for chance, root in game.roots())


def value(game: Game[H], strategy: Strategy) -> float:
    """What player 0 wins per game when both play their part of `strategy`."""

    def of(history: H) -> float:
        if game.actor(history) is None:
            return game.utility(history)
        chances = _at(strategy, game.key(history))
        return sum(p * of(game.play(history, move)) for move, p in chances.items() if p)

    return sum(chance * of(root) for chance, root in game.roots())


def information_sets(game: Game[H]) -> dict[str, tuple[H, ...]]:
    """Every information set with its histories, in the order of the tree."""
    found: dict[str, list[H]] = defaultdict(list)
    _walk(game, lambda history: found[game.key(history)].append(history))
    return {key: tuple(histories) for key, histories in found.items()}


def uniform(game: Game[H]) -> Strategy:
    """Every move equally likely."""
    sets = {key: game.moves(histories[0]) for key, histories in information_sets(game).items()}
    return {key: dict.fromkeys(moves, 1 / len(moves)) for key, moves in sets.items()}


def _walk(game: Game[H], visit: Callable[[H], None]) -> None:
    todo = [root for _, root in game.roots()][::-1]
    while todo:
        history = todo.pop()
        if game.actor(history) is not None:
            visit(history)
            todo += [game.play(history, move) for move in game.moves(history)][::-1]


def _reach(game: Game[H], strategy: Strategy, player: int) -> dict[str, list[tuple[float, H]]]:
    """The histories of each of the player's information sets, with the chance that the others lead there."""
    found: dict[str, list[tuple[float, H]]] = defaultdict(list)
    todo = list(game.roots())
    while todo:
        chance, history = todo.pop()
        actor = game.actor(history)
        if actor is None:
            continue
        own = actor == player
        if own:
            found[game.key(history)].append((chance, history))
        chances = {} if own else _at(strategy, game.key(history))
        todo += [
            (chance if own else chance * chances.get(move, 0.0), game.play(history, move))
            for move in game.moves(history)
        ]
    return found


def _at(strategy: Strategy, key: str) -> Mapping[str, float]:
    if key not in strategy:
        raise UsageError(f"the strategy has no move for information set {key!r}")
    return strategy[key]
