"""Situations: what a scenario offers that is small enough to list every information set. Knows no policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from simarena.arena.messages import Message, View
from simarena.simulators.best_response import Game


@dataclass(frozen=True, slots=True)
class Situation:
    """One information set as its owner meets it."""

    seat: str
    view: View
    messages: tuple[Message, ...]
    moves: tuple[str, ...]
    """What may be said, one word each; saying anything else is the game's `forfeit`."""


@runtime_checkable
class Solvable(Protocol):
    """A scenario that is an extensive-form game: a policy's exploitability in it is exact."""

    forfeit: str
    """The move of who says no legal one."""

    @property
    def game(self) -> Game[Any]: ...

    def situations(self) -> Mapping[str, Situation]:
        """By information set: every one that clear play can reach."""
        ...
