"""Scripted players of the poker table: they see what a seat sees, and know no strategy beyond their name."""

from collections.abc import Mapping

from simarena.arena.messages import Action, Observation, say
from simarena.arena.seeds import uniform
from simarena.arena.specs import build_scenario
from simarena.simulators.hearing import words
from simarena.simulators.poker.table import PokerTable


class Uniform:
    """Says every legal move equally often."""

    async def act(self, observation: Observation) -> Action:
        return _draw(observation, dict.fromkeys(_legal(observation), 1.0))


class Caller:
    """Never bets and never folds."""

    async def act(self, observation: Observation) -> Action:
        return say(next(move for move in ("check", "call") if move in _legal(observation)))


class Maniac:
    """Bets and raises whenever it may, else calls."""

    async def act(self, observation: Observation) -> Action:
        legal = _legal(observation)
        return say(next(move for move in ("raise", "bet", "call", "check") if move in legal))


def _legal(observation: Observation) -> tuple[str, ...]:
    """What may be said now, from what was said; a scenario's rules are looked up by its name."""
    table = build_scenario(observation.scenario)
    assert isinstance(table, PokerTable), f"{observation.scenario!r} is not a poker table"
    spoken = tuple(words(m.text)[0] for m in observation.messages if m.kind == "speech")
    return table.legal(spoken)


def _draw(observation: Observation, chances: Mapping[str, float]) -> Action:
    point = uniform(observation.seed, observation.turn) * sum(chances.values())
    for move, chance in chances.items():
        point -= chance
        if point < 0:
            return say(move)
    return say(move)
