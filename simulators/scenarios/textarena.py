"""The scenario `textarena`: any game of the TextArena package that runs offline, as a scenario like any other.

Owns the adaptation: seats from players, messages with audiences from typed observations, chance from the deal
instead of the global generator, outcomes from rewards. Knows no game. Needs `pip install simarena[textarena]`.
"""

import contextlib
import copy
import random
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simarena.arena.errors import MissingExtra, UnknownName, UsageError
from simarena.arena.messages import WORLD, Action, Draft, Observation, Text, View, say
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import derive, uniform

MOST_PLAYERS = 15
_TRIED: tuple[int, ...] = (2, 1, *range(3, MOST_PLAYERS + 1))
"""Numbers of players, in the order in which a game is asked whether it takes them."""


@dataclass(frozen=True)
class Table:
    """A game in play. Its value is the deal and the moves; `game` is what they lead to, and never stepped
    itself."""

    seed: int
    moves: tuple[str, ...]
    prompts: Mapping[str, str] = field(compare=False)
    """By seat: the rules as the game tells them."""
    news: tuple[Draft, ...] = field(compare=False)
    """What the game has told since the last move."""
    game: Any = field(compare=False, repr=False)


class TextArena(Scenario[Table]):
    """Options: `game`, an id such as `TicTacToe-v0`; `players`, left out: as few as the game allows, two at best.

    Raises MissingExtra without the package, UnknownName for a game it does not have, UsageError for a number of
    players it does not take.
    """

    def __init__(self, game: str, players: int | None = None) -> None:
        registry = _registry()
        if game not in registry:
            raise UnknownName("TextArena game", game, registry)
        self.game = game
        self.players: int = players or _players(game)
        if players is not None and (problem := _refusal(game, players)):
            raise UsageError(f"game {game!r} does not take {players} players: {problem}")
        self.name = f"textarena:{game}"
        self.seats = tuple(f"player-{number}" for number in range(self.players))

    def deal(self, rng: random.Random) -> Table:
        seed = rng.getrandbits(63)
        game = _make(self.game)
        with _chance(seed, "deal"):
            game.reset(num_players=self.players, seed=derive(seed, "reset") % (1 << 31))
        prompts, news = self._drain(game, mover=None)
        return Table(seed, (), prompts, news, game)

    def opening(self, state: Table) -> tuple[Draft, ...]:
        return state.news

    def to_act(self, state: Table) -> frozenset[str]:
        return frozenset({self._seat(state.game.state.current_player_id)})

    def view(self, state: Table, seat: str) -> View:
        return View(instructions=state.prompts.get(seat, ""))

    def labels(self, state: Table) -> Mapping[str, str]:
        return {"game": self.game}

    def apply(self, state: Table, actions: Mapping[str, Action]) -> Step[Table]:
        ((seat, action),) = actions.items()
        game = copy.deepcopy(state.game)
        with _chance(state.seed, len(state.moves)):
            done, _ = game.step(action.text)
        _, news = self._drain(game, mover=(seat, action.text))
        after = Table(state.seed, (*state.moves, action.text), state.prompts, news, game)
        if not done:
            return Step(after, news)
        rewards, info = game.close()
        earned = {self._seat(player): float(value) for player, value in (rewards or {}).items()}
        valid = not any(dict(about).get("invalid_move") for about in dict(info or {}).values())
        return Step(after, news, earned, "finished", {"no_invalid_move": valid}, self._outcome(earned))

    def _outcome(self, earned: Mapping[str, float]) -> dict[str, float]:
        """Rewards in [−1, 1] (in [0, 1] for a game alone) as outcomes in [0, 1]."""
        low = 0.0 if self.players == 1 else -1.0
        return {seat: min(1.0, max(0.0, (earned.get(seat, 0.0) - low) / (1.0 - low))) for seat in self.seats}

    def _drain(self, game: Any, mover: tuple[str, str] | None) -> tuple[dict[str, str], tuple[Draft, ...]]:
        """Take what the game has for each player: rules by seat, and drafts in the order they were told."""
        prompts: dict[str, str] = {}
        told: dict[tuple[str, str, int], list[str]] = {}
        for player, waiting in game.state.observations.items():
            seen: dict[tuple[str, str], int] = {}
            for sender, text, kind in waiting:
                seat, kind = self._seat(player), getattr(kind, "name", "")  # some games leave the kind out
                if kind == "PROMPT":
                    prompts[seat] = "\n".join(filter(None, (prompts.get(seat), text)))
                    continue
                speaker = self._seat(sender) if sender >= 0 and kind == "PLAYER_ACTION" else WORLD
                repeat = seen[speaker, text] = seen.get((speaker, text), -1) + 1
                told.setdefault((speaker, text, repeat), []).append(seat)
            game.state.observations[player] = []
        drafts = [self._draft(speaker, text, seats) for (speaker, text, _), seats in told.items()]
        if mover is not None and not any(draft.seat == mover[0] for draft in drafts):
            drafts.insert(0, self._draft(mover[0], mover[1], [mover[0]]))  # a move the game keeps to itself
        return prompts, tuple(drafts)

    def _draft(self, speaker: str, text: str, seats: list[str]) -> Draft:
        audience = None if set(seats) >= set(self.seats) else tuple(sorted({*seats} - {WORLD}))
        kind = "notice" if speaker == WORLD else "speech"
        return Draft(seat=speaker, kind=kind, parts=(Text(text=text),), audience=audience)

    def _seat(self, player: int) -> str:
        return f"player-{player}"


class Dice:
    """A player that knows no game: says one of the moves in brackets it was last shown, by lot."""

    async def act(self, observation: Observation) -> Action:
        chance = uniform(observation.seed, observation.turn)
        heard = [message.text for message in observation.messages if message.seat == WORLD]
        for text in [*reversed(heard[-3:]), observation.view.instructions]:
            moves = sorted(set(re.findall(r"\[[^\[\]\n]{1,24}\]", text)) - {"[GAME]", "[ ]"})
            if moves:
                return say(moves[int(chance * len(moves))])
        return say(f"[{int(chance * 10)}]")


def games() -> tuple[str, ...]:
    """One id per game of the package: the plain variant, or the first where there is none."""
    first: dict[str, str] = {}
    for game in _registry():
        if not game.endswith(("-raw", "-train")):
            stem = game.partition("-v")[0]
            if stem not in first or len(game) < len(first[stem]):
                first[stem] = game
    return tuple(sorted(first.values()))


def _registry() -> Mapping[str, Any]:
    try:
        from textarena.envs.registration import ENV_REGISTRY
    except ImportError:
        raise MissingExtra("TextArena", "pip install 'simarena[textarena]'") from None
    return dict(ENV_REGISTRY)


def _make(game: str) -> Any:
    import textarena

    return textarena.make(game)


def _players(game: str) -> int:
    """As few players as the game takes, two if it can."""
    problem = ""
    for players in _TRIED:
        problem = _refusal(game, players)
        if not problem:
            return players
    raise UsageError(f"game {game!r} cannot be set up with 1 to {MOST_PLAYERS} players: {problem}")


def _refusal(game: str, players: int) -> str:
    """Why the game cannot be set up with so many players; empty if it can."""
    try:
        with _chance("players", game, players):
            _make(game).reset(num_players=players, seed=0)
    except Exception as error:  # a game is anyone's code
        return f"{type(error).__name__}: {error}"
    return ""


@contextlib.contextmanager
def _chance(*path: str | int) -> Iterator[None]:
    """Games draw from the global generators; here these are seeded by name for a moment, and put back."""
    numpy = sys.modules.get("numpy")
    before, before_numpy = random.getstate(), numpy.random.get_state() if numpy else None
    random.seed(derive(*path))
    if numpy:
        numpy.random.seed(derive(*path) % (1 << 32))
    try:
        yield
    finally:
        random.setstate(before)
        if numpy:
            numpy.random.set_state(before_numpy)
