"""The company's database: accounts with a code and at most one trip. A value; every change is a new one.

Knows no conversation, tool or policy.
"""

from dataclasses import dataclass, replace
from typing import Literal

# Few values of each kind: a tiny policy learns to copy a value by meeting it often.
ACCOUNTS = ("amber", "birch", "cedar", "hazel", "iris", "jade", "maple", "olive")
CITIES = ("cairo", "lima", "oslo", "paris", "rome", "tokyo")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
NUMERALS = ("14", "17", "23", "28", "35", "39", "42", "51", "66", "74", "87", "98")
"""Codes and confirmation numbers; no deal uses one for both, so that a customer can tell them apart."""

Fare = Literal["fixed", "flexible"]
FARES: tuple[Fare, ...] = ("fixed", "flexible")


@dataclass(frozen=True, slots=True)
class Trip:
    city: str
    day: str
    fare: Fare
    number: str
    """The confirmation number of the last change to it."""
    status: Literal["active", "cancelled", "refunded"] = "active"
    """Cancelled: by the company."""

    @property
    def refundable(self) -> bool:
        """What the policy allows: a flexible fare, or a trip that the company cancelled."""
        return self.fare == "flexible" or self.status == "cancelled"


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    code: str
    trip: Trip | None = None


@dataclass(frozen=True, slots=True)
class Database:
    accounts: tuple[Account, ...]
    numbers: tuple[str, ...]
    """Confirmation numbers to come: one for each day, in the order of DAYS, and the last for a refund. Nobody
    can know one before the deed."""

    def account(self, name: str) -> Account | None:
        return next((account for account in self.accounts if account.name == name), None)

    def book(self, name: str, city: str, day: str) -> "Database":
        return self._with_trip(name, Trip(city, day, "flexible", self._number(day)))

    def change(self, name: str, trip: Trip, day: str) -> "Database":
        return self._with_trip(name, replace(trip, day=day, number=self._number(day)))

    def refund(self, name: str, trip: Trip) -> "Database":
        return self._with_trip(name, replace(trip, status="refunded", number=self.numbers[-1]))

    def _number(self, day: str) -> str:
        return self.numbers[DAYS.index(day)]

    def _with_trip(self, name: str, trip: Trip) -> "Database":
        accounts = tuple(replace(a, trip=trip) if a.name == name else a for a in self.accounts)
        return replace(self, accounts=accounts)
