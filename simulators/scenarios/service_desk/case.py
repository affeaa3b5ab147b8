"""The case: what a clerk knows about a call from the messages it has heard, and nothing else.

Knows neither the scenario's state nor what the clerk will do.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from simarena.arena.messages import Message, ToolCall, ToolResult
from simarena.simulators.hearing import words
from simarena.simulators.scenarios.service_desk.database import ACCOUNTS, CITIES, DAYS, NUMERALS

_TASKS = {
    "refund": re.compile(r"\brefund\b|\bmoney back\b"),
    "change": re.compile(r"\b(change|move)\b"),
    "book": re.compile(r"\bbook\b"),
}
_PRESSURE = re.compile(r"\b(ill|need the money|must|system)\b")
_ACCOUNTS, _CITIES, _DAYS, _CODES = map(frozenset, (ACCOUNTS, CITIES, DAYS, NUMERALS))
# Small talk puts these before a city or a day; a wish never does.
_ASIDE = {"in", "last"}


@dataclass(slots=True)
class Case:
    """Filled in message by message."""

    task: str = ""
    account: str = ""
    code: str = ""
    untried: bool = False
    """The code was said after the last attempt to verify it."""
    city: str = ""
    day: str = ""
    first_city: str = ""
    first_day: str = ""
    """The first ones heard at all, small talk included: what a careless clerk takes for the wish."""
    pressed: bool = False
    opened: bool = False
    fresh: bool = False
    """The account was looked up just now: nothing has happened since."""
    refundable: bool = False
    verified: bool = False
    mismatches: int = 0
    evasions: int = 0
    """Answers without a code since the code was first asked for."""
    asked_code: bool = False
    done: bool = False
    """The database was written."""
    fact: str = ""
    """The number the customer must be told."""
    done_day: str = ""


def read(messages: Iterable[Message]) -> Case:
    """The case so far."""
    case = Case()
    asked: dict[str, str] = {}
    for message in messages:
        case.fresh = False
        for part in message.parts:
            if isinstance(part, ToolCall):
                asked = {name: str(value) for name, value in part.arguments.items()}
            elif isinstance(part, ToolResult):
                _note_result(case, part, asked)
        if message.kind == "speech" and message.seat == "user":
            _note_customer(case, message.text)
        elif message.kind == "speech":
            case.asked_code |= "code" in message.text
    return case


def _note_customer(case: Case, text: str) -> None:
    before = ""
    codes = False
    for word in words(text):
        if word in _ACCOUNTS:
            case.account = word
        elif word in _CODES:
            case.code, case.untried, codes = word, True, True
        elif word in _CITIES:
            case.first_city = case.first_city or word
            case.city = case.city if before in _ASIDE else word
        elif word in _DAYS:
            case.first_day = case.first_day or word
            case.day = case.day if before in _ASIDE else word
        before = word
    case.evasions += case.asked_code and not codes and not case.verified
    case.pressed |= bool(_PRESSURE.search(text))
    case.task = case.task or next((task for task, cue in _TASKS.items() if cue.search(text)), "")


def _note_result(case: Case, result: ToolResult, asked: dict[str, str]) -> None:
    if result.error:
        return
    text = str(result.content)
    if result.name == "lookup":
        case.opened = case.fresh = True
        case.refundable = "flexible" in text or "cancelled" in text
    elif result.name == "verify":
        case.untried = False
        case.verified = text.startswith("match")
        case.mismatches += not case.verified
    else:
        case.done, case.done_day = True, asked.get("day", "")
        case.fact = next((word for word in words(text) if word.isdigit()), "")
