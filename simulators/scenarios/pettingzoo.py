"""The scenario `pettingzoo`: any classic game of the PettingZoo package (AEC), with its observations as text.

Owns the adaptation: seats from agents, notices from what an agent observes, moves by name from numbers, outcomes
from rewards. How a board, a hand of cards or a game of chess is told is in `_told`; knows no other game. Needs
`pip install simarena[pettingzoo]`.
"""

import copy
import importlib
import os
import pkgutil
import random
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from simarena.arena.errors import MissingExtra, UnknownName, UsageError
from simarena.arena.messages import WORLD, Action, Draft, Observation, Text, View, say
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import uniform
from simarena.arena.text import one_line

RULES = "you play {game} as {seat}. answer with one of the moves that you are shown."
SIGNS = ".xo#"
"""How a square of a board is drawn: empty, one's own, the other's, both."""


@dataclass(frozen=True)
class Table:
    """A game in play. Its value is the deal and the moves; `game` is what they lead to, and never stepped
    itself."""

    seed: int
    moves: tuple[int, ...]
    earned: Mapping[str, float] = field(compare=False)
    """Rewards so far by seat."""
    game: Any = field(compare=False, repr=False)


class PettingZoo(Scenario[Table]):
    """Options: `game`, a module such as `tictactoe_v3`; `options`, what its environment takes, such as
    `{"board_size": 9}` for `go_v5`.

    Each seat sees what its agent observes, and hears nobody else. The outcome is the reward relative to the
    largest won or lost: 1 for the winner, ½ where nothing was won. Who makes no legal move loses, the others win.

    Raises MissingExtra without the package, UnknownName for a game it does not have, UsageError for options the
    game does not take.
    """

    def __init__(self, game: str, options: Mapping[str, JsonValue] | None = None) -> None:
        known = games()
        if game not in known:
            raise UnknownName("PettingZoo game", game, known)
        self.game, self._options = game, dict(options or {})
        try:
            self.seats = tuple(map(str, self._make().possible_agents))
        except Exception as error:  # a game is anyone's code
            raise UsageError(f"game {game!r} cannot be set up: {type(error).__name__}: {error}") from None
        self.name = f"pettingzoo:{game}"

    def deal(self, rng: random.Random) -> Table:
        seed = rng.getrandbits(31)
        game = self._make()
        game.reset(seed=seed)
        return Table(seed, (), dict.fromkeys(self.seats, 0.0), game)

    def opening(self, state: Table) -> tuple[Draft, ...]:
        return (self._shown(state.game),)

    def to_act(self, state: Table) -> frozenset[str]:
        return frozenset({str(state.game.agent_selection)})

    def view(self, state: Table, seat: str) -> View:
        return View(instructions=RULES.format(game=self.game, seat=seat))

    def labels(self, state: Table) -> Mapping[str, str]:
        return {"game": self.game}

    def apply(self, state: Table, actions: Mapping[str, Action]) -> Step[Table]:
        ((seat, action),) = actions.items()
        said = Draft(seat=seat, kind="speech", parts=(Text(text=action.text or "..."),), audience=(seat,))
        moves = _told(state.game, seat)[1]
        meant = {name for name in moves if name in re.findall(r"[\w+-]+", action.text.lower())}
        if len(meant) != 1:
            outcome = {other: float(other != seat) for other in self.seats}
            return Step(state, (said,), {}, "finished", {"no_invalid_move": False}, outcome)
        move = moves[meant.pop()]
        game, earned = _twin(state.game), dict(state.earned)
        won = self._step(game, move)
        earned = {name: value + won[name] for name, value in earned.items()}
        after = Table(state.seed, (*state.moves, move), earned, game)
        if not _over(game):
            return Step(after, (said, self._shown(game)), won)
        return Step(after, (said,), won, "finished", {"no_invalid_move": True}, _outcome(earned))

    def _step(self, game: Any, move: int) -> dict[str, float]:
        """Make the move, let agents go who are out, and say what everyone earned."""
        game.step(move)
        won = {seat: float(game.rewards.get(seat, 0.0)) for seat in self.seats}
        while not _over(game) and _out(game, game.agent_selection):
            game.step(None)
        return won

    def _shown(self, game: Any) -> Draft:
        """What the agent to move observes, for it alone."""
        seat = str(game.agent_selection)
        picture, moves = _told(game, seat)
        text = "\n".join(filter(None, (picture, f"moves: {' '.join(moves)}")))
        return Draft(seat=WORLD, kind="notice", parts=(Text(text=text),), audience=(seat,))

    def _make(self) -> Any:
        return _module(self.game).raw_env(**self._options)


class Chance:
    """A player that knows no game: makes one of the moves it was last shown, by lot."""

    async def act(self, observation: Observation) -> Action:
        shown = [message.text for message in observation.messages if message.seat == WORLD][-1]
        moves = shown.rpartition("moves: ")[2].split()
        return say(moves[int(uniform(observation.seed, observation.turn) * len(moves))])


def games() -> tuple[str, ...]:
    """The classic games of the installed package, by module."""
    try:
        folder = importlib.import_module("pettingzoo.classic").__path__
    except ImportError:
        raise MissingExtra("PettingZoo", "pip install 'simarena[pettingzoo]'") from None
    return tuple(sorted(one.name for one in pkgutil.iter_modules(folder) if re.search(r"_v\d+$", one.name)))


def _module(game: str) -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it greets on stdout
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"pettingzoo.classic.{game}")


def _twin(game: Any) -> Any:
    """A copy of a game in play; `copy.deepcopy` would set up a new one, as most games say how they are pickled."""
    twin = object.__new__(type(game))
    parts = game.__dict__
    drawing = {id(parts[name]): parts[name] for name in ("screen", "clock") if name in parts}  # nobody draws here
    twin.__dict__ = copy.deepcopy(parts, drawing)
    return twin


def _out(game: Any, agent: Any) -> bool:
    return bool(game.terminations.get(agent) or game.truncations.get(agent))


def _over(game: Any) -> bool:
    return all(_out(game, agent) for agent in game.agents)


def _outcome(earned: Mapping[str, float]) -> dict[str, float]:
    most = max(map(abs, earned.values())) or 1.0
    return {seat: (1.0 + value / most) / 2.0 for seat, value in earned.items()}


def _told(game: Any, seat: str) -> tuple[str, dict[str, int]]:
    """What an agent observes as text, and its moves by name."""
    seen = game.observe(seat)
    masked = isinstance(seen, dict)
    mask = seen["action_mask"] if masked else [1] * game.action_space(seat).n
    legal = [number for number, allowed in enumerate(mask) if allowed]
    place = list(map(str, game.possible_agents)).index(seat)
    if hasattr(game, "env"):  # cards of RLCard, which has words of its own
        names = [str(getattr(action, "name", action)).lower() for action in game.env.actions]
        return _cards(game.env.get_state(place)["raw_obs"]), {names[n]: n for n in legal}
    if hasattr(game, "board") and hasattr(game.board, "fen"):
        return _chess(game.board, place, legal)
    if masked:
        return _drawn(seen["observation"]), {str(n): n for n in legal}
    words = [*map(str.lower, game._moves)]  # rock, paper, scissors; it tells the other's last one
    return f"the other's last move: {words[int(seen)]}", {words[n]: n for n in legal}


def _cards(seen: Mapping[str, Any]) -> str:
    """Cards and chips, a line each; what moves there are is said apart."""
    told = {name: value for name, value in seen.items() if name not in ("legal_actions", "current_player")}
    return "\n".join(f"{name.replace('_', ' ')}: {_plain(value)}" for name, value in told.items())


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None else one_line(str(getattr(value, "name", value))).lower()


def _chess(board: Any, place: int, legal: Sequence[int]) -> tuple[str, dict[str, int]]:
    """The board with White's pieces in capitals, and the moves as from-to squares."""
    from pettingzoo.classic.chess.chess_utils import action_to_move

    colour = ("white, in capitals", "black")[place]
    return f"you are {colour}\n{board}", {str(action_to_move(board, n, place)): n for n in legal}


def _drawn(planes: Any) -> str:
    """A board from its first two planes: one's own pieces and the other's."""
    rows = [[SIGNS[int(square[0] > 0) + 2 * int(square[1] > 0)] for square in row] for row in planes]
    return "x is yours, o the other's\n" + "\n".join(map(" ".join, rows))
