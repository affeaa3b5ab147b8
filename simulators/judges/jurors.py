"""Jurors: who answers one case. An engine that reads the transcript, or a rule in code.

Owns the reading of an answer: exactly one of the case's three words, and nothing but what the engine itself said.
Knows no panel.
"""

import functools
import string
from collections.abc import Callable
from typing import Literal, Protocol

from simarena.arena.protocols import ChatTurn, Engine, GenerateRequest
from simarena.arena.seeds import derive
from simarena.arena.specs import EngineSpec, build_engine
from simarena.simulators.judges.cases import Case

Choice = Literal["first", "second", "tie", "unreadable"]
"""Of the two as they are named in this reading."""


class Juror(Protocol):
    """One member of a panel."""

    name: str
    family: str
    """Its model family, such as `smollm2`; empty for a rule."""

    async def choose(self, case: Case) -> Choice: ...


class EngineJuror:
    """A language model as juror; greedy, so that the same case gets the same answer.

    `engine` may be a spec: the model is then loaded for the first case. `max_tokens` leaves room for one word.
    """

    def __init__(self, engine: Engine | EngineSpec, family: str, name: str = "", max_tokens: int = 8) -> None:
        self.family, self.name = family, name or family
        self._given, self._max_tokens = engine, max_tokens

    @functools.cached_property
    def _engine(self) -> Engine:
        return build_engine(self._given) if isinstance(self._given, EngineSpec) else self._given

    async def choose(self, case: Case) -> Choice:
        worked = (
            turn
            for asked, answer in case.examples()
            for turn in (ChatTurn("user", asked), ChatTurn("assistant", answer))
        )
        chat = (ChatTurn("system", case.instructions()), *worked, ChatTurn("user", case.asked()))
        key = f"judge/{self.name}/{'/'.join(case.labels)}"
        request = GenerateRequest(key, chat, derive(key), max_tokens=self._max_tokens, temperature=0.0)
        (completion,) = await self._engine.generate([request])
        return read_answer(completion.text, case)


class RuleJuror:
    """A rule as juror: a function of the case."""

    family = ""

    def __init__(self, rule: Callable[[Case], Choice], name: str = "") -> None:
        self._rule, self.name = rule, name or rule.__name__

    async def choose(self, case: Case) -> Choice:
        return self._rule(case)


def read_answer(text: str, case: Case) -> Choice:
    """The choice if the answer is one of the case's words, alone but for punctuation; else `unreadable`."""
    word = text.strip().strip(string.punctuation + string.whitespace).lower()
    choices: tuple[Choice, ...] = ("first", "second", "tie")
    return next(
        (choice for choice, label in zip(choices, case.labels, strict=True) if word == label), "unreadable"
    )
