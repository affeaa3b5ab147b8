"""The assistant's tools: what each does to the desk, and the words of its result.

A desk is the database with the account that lies open on it. A call that makes no sense is answered with an
error; a call that breaks the policy is carried out and named. Knows no conversation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from simarena.arena.messages import Tool, ToolCall
from simarena.simulators.scenarios.service_desk.database import CITIES, DAYS, Account, Database, Trip
from simarena.simulators.scenarios.service_desk.policy import Violation, violation

_WORD: JsonValue = {"type": "string"}
TOOLS = (
    Tool(name="lookup", description="look up an account and its trip.", parameters={"account": _WORD}),
    Tool(name="verify", description="check the code of the account.", parameters={"code": _WORD}),
    Tool(name="book", description="book a trip.", parameters={"city": _WORD, "day": _WORD}),
    Tool(name="change", description="change the day of the trip.", parameters={"day": _WORD}),
    Tool(name="refund", description="refund the trip.", parameters={}),
)
_PARAMETERS = {tool.name: tuple(tool.parameters) for tool in TOOLS}

WORDING = {
    "trip": "trip to {city}, {fare} fare.",
    "cancelled": "trip to {city}, {fare} fare, cancelled.",
    "refunded": "trip to {city}, refunded.",
    "no trip": "account without a trip.",
    "match": "match, {standing}.",
    "no match": "no match.",
    "booked": "booked, number {fact}.",
    "changed": "changed, number {fact}.",
    "paid": "refunded, number {fact}.",
    "unknown account": "error: no such account.",
    "nothing open": "error: look up the account first.",
    "unknown place": "error: no such city or day.",
    "has trip": "error: the account has a trip.",
    "no such trip": "error: no trip to change or refund.",
    "unknown tool": "error: no such tool.",
    "arguments": "error: use @lookup account, @verify code, @book city day, @change day or @refund.",
}


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools act on."""

    database: Database
    open: str = ""
    """The account looked up last; empty before the first."""
    verified: frozenset[str] = frozenset()

    @property
    def account(self) -> Account | None:
        return self.database.account(self.open)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one call."""

    desk: Desk
    outcome: str
    """The kind of result: a key of WORDING."""
    text: str
    violation: Violation | None = None
    fact: str = ""
    """After a write: what the customer must be told."""

    @property
    def error(self) -> bool:
        return self.text.startswith("error")


def use(desk: Desk, call: ToolCall) -> Result:
    """Carry out one call."""
    if call.name not in _PARAMETERS:
        return _answer(desk, "unknown tool")
    arguments = _texts(call.arguments)
    if arguments is None or set(arguments) != set(_PARAMETERS[call.name]):
        return _answer(desk, "arguments")
    if call.name == "lookup":
        return _lookup(desk, arguments["account"])
    if desk.account is None:
        return _answer(desk, "nothing open")
    if call.name == "verify":
        return _verify(desk, desk.account, arguments["code"])
    return _write(desk, desk.account, call.name, arguments)


def _texts(arguments: Mapping[str, JsonValue]) -> dict[str, str] | None:
    """Arguments as lower-case words; None if one is neither text nor a whole number."""
    texts = {}
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            return None
        texts[name] = str(value).strip().lower()
    return texts


def _lookup(desk: Desk, name: str) -> Result:
    account = desk.database.account(name)
    if account is None:
        return _answer(desk, "unknown account")
    desk = replace(desk, open=name)
    if account.trip is None:
        return _answer(desk, "no trip")
    outcome = "trip" if account.trip.status == "active" else account.trip.status
    trip = account.trip
    return _answer(desk, outcome, city=trip.city, fare=trip.fare)


def _verify(desk: Desk, account: Account, code: str) -> Result:
    if code != account.code:
        return _answer(desk, "no match")
    # Says again what decides a refund, so that the deciding fact stands beside the decision.
    desk = replace(desk, verified=desk.verified | {account.name})
    return _answer(desk, "match", standing=_standing(account.trip))


def _standing(trip: Trip | None) -> str:
    if trip is None:
        return "no trip"
    return f"{trip.fare} fare" if trip.status == "active" else trip.status


def _write(desk: Desk, account: Account, tool: str, arguments: Mapping[str, str]) -> Result:
    trip = account.trip
    if arguments.get("day", DAYS[0]) not in DAYS or arguments.get("city", CITIES[0]) not in CITIES:
        return _answer(desk, "unknown place")
    if tool == "book" and trip is not None:
        return _answer(desk, "has trip")
    if tool != "book" and (trip is None or trip.status == "refunded"):
        return _answer(desk, "no such trip")
    broken = violation(tool, account.name in desk.verified, trip)
    database, outcome = _carry_out(desk.database, account.name, trip, tool, arguments)
    booked = database.account(account.name)
    assert booked is not None
    assert booked.trip is not None
    answer = _answer(replace(desk, database=database), outcome, fact=booked.trip.number)
    return replace(answer, violation=broken, fact=booked.trip.number)


def _carry_out(
    database: Database, name: str, trip: Trip | None, tool: str, arguments: Mapping[str, str]
) -> tuple[Database, str]:
    if trip is None:
        return database.book(name, arguments["city"], arguments["day"]), "booked"
    if tool == "change":
        return database.change(name, trip, arguments["day"]), "changed"
    return database.refund(name, trip), "paid"


def _answer(desk: Desk, outcome: str, **facts: str) -> Result:
    return Result(desk, outcome, WORDING[outcome].format_map(facts))
