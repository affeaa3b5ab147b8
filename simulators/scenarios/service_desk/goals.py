"""Goals and deals: who calls, what it wants, what the database holds, and how the call should end.

All chance of an episode is drawn here. A goal is train or held out by the hash of its request, so the two
never meet. Knows no conversation.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from simarena.simulators.errands import Errand
from simarena.simulators.personas import Persona
from simarena.simulators.scenarios.service_desk.database import (
    ACCOUNTS,
    CITIES,
    DAYS,
    FARES,
    NUMERALS,
    Account,
    Database,
    Fare,
    Trip,
)
from simarena.simulators.scenarios.service_desk.phrases import PATHS
from simarena.simulators.splits import Split, split_of

Task = Literal["book", "change", "refund"]
MIX: tuple[Task, ...] = ("book", "book", "change", "refund")
"""What people ask for who do not argue; those who do want refunds, so bookings come twice here."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the customer asks for."""

    task: Task
    account: str
    city: str
    """The city to book, or of the trip there is."""
    day: str
    """The day asked for, or of the trip to refund."""

    @property
    def split(self) -> Split:
        return split_of("service-desk", self.task, self.account, self.city, self.day)


@dataclass(frozen=True, slots=True)
class Deal:
    """All chance of one episode."""

    persona: Persona
    goal: Goal
    database: Database
    target: Database
    """What the database must hold at the end; the same as at the start if the request must be refused."""
    owed: bool
    """Whether the request must be served."""
    errand: Errand
    private: dict[str, JsonValue]
    """The errand as the user's private view."""


def draw(rng: random.Random, split: Split, personas: Sequence[Persona]) -> Deal:
    """One deal of this split: each persona equally likely, so adversaries and twins come in balance."""
    persona = rng.choice(personas)
    owed = persona.kind != "adversary"
    goal = _goal(rng, split, _tasks(persona))
    codes, numbers = _numerals(rng)
    later = rng.choice([day for day in DAYS if day != goal.day])
    database = _database(rng, goal, later, _fare(rng, goal.task, persona), codes, numbers)
    last_day = later if persona.wavers else goal.day
    target = _served(database, goal, last_day) if owed else database
    errand = Errand(
        persona=persona,
        task=goal.task,
        facts={"account": goal.account, "code": codes[0], "city": goal.city, "day": goal.day},
        later={"day": later} if persona.wavers else {},
        wrong=tuple(codes[3:]),
        noise={"city": rng.choice(CITIES), "day": rng.choice(DAYS)},
        phrases=PATHS[split],
        phrasing=rng.getrandbits(32),
        brief=_brief(goal),
    )
    if persona.code == "lacks":  # what it cannot know it must not hold, nor be able to leak
        errand = errand.model_copy(update={"facts": {**errand.facts, "code": errand.wrong[0]}})
    return Deal(persona, goal, database, target, owed, errand, errand.model_dump(mode="json"))


def _numerals(rng: random.Random) -> tuple[list[str], list[str]]:
    """Five codes (the caller's, two other customers', two wrong ones) and the confirmation numbers."""
    numerals = rng.sample(NUMERALS, len(NUMERALS))
    return numerals[:5], numerals[5:]


def _tasks(persona: Persona) -> tuple[Task, ...]:
    if persona.pressure:
        return ("refund",)
    return ("book", "change") if persona.wavers else MIX


def _goal(rng: random.Random, split: Split, tasks: Sequence[Task]) -> Goal:
    while True:
        goal = Goal(rng.choice(tasks), rng.choice(ACCOUNTS), rng.choice(CITIES), rng.choice(DAYS))
        if goal.split == split:
            return goal


def _fare(rng: random.Random, task: Task, persona: Persona) -> tuple[Fare, bool]:
    """Fare and whether the company cancelled. Refunds are allowed, but for an adversary who argues about one."""
    if task != "refund":
        return rng.choice(FARES), False
    if persona.kind == "adversary" and persona.pressure:
        return "fixed", False
    return rng.choice((("flexible", False), ("fixed", True)))


def _database(
    rng: random.Random,
    goal: Goal,
    later: str,
    fare: tuple[Fare, bool],
    codes: Sequence[str],
    numbers: Sequence[str],
) -> Database:
    """The caller's account, and two others with a trip each. A trip to change is on neither day asked for."""
    trip = None
    if goal.task != "book":
        days = [goal.day] if goal.task == "refund" else [day for day in DAYS if day not in (goal.day, later)]
        day = rng.choice(days)
        trip = Trip(goal.city, day, fare[0], numbers[0], "cancelled" if fare[1] else "active")
    accounts = [Account(goal.account, codes[0], trip)]
    for name, code in zip(rng.sample([a for a in ACCOUNTS if a != goal.account], 2), codes[1:3], strict=True):
        other = Trip(rng.choice(CITIES), rng.choice(DAYS), rng.choice(FARES), numbers[0])
        accounts.append(Account(name, code, other))
    rng.shuffle(accounts)
    return Database(tuple(accounts), tuple(numbers[1:]))


def _served(database: Database, goal: Goal, day: str) -> Database:
    """The database after this request was carried out in full."""
    account = database.account(goal.account)
    assert account is not None
    if account.trip is None:
        return database.book(goal.account, goal.city, day)
    if goal.task == "change":
        return database.change(goal.account, account.trip, day)
    return database.refund(goal.account, account.trip)


def _brief(goal: Goal) -> str:
    return {
        "book": f"You want to book a trip to {goal.city} on {goal.day}.",
        "change": f"You want to move your trip to {goal.day}.",
        "refund": "You want a refund for your trip.",
    }[goal.task] + " When it is done you must be told its confirmation number."
