"""The company's database: accounts with a code and at most one trip. A value; every change is a new one.

Knows no conversation, tool or policy.
"""

from dataclasses import dataclass, replace
from typing import Literal

ACCOUNTS = (
    "amber", "birch", "cedar", "coral", "daisy", "ember",
    "hazel", "iris", "jade", "laurel", "maple", "olive",
)  # fmt: skip
CITIES = ("berlin", "cairo", "lima", "london", "oslo", "paris", "rome", "tokyo")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Codes, seats and prices are disjoint, so that a number says what it is.
CODES = ("31", "34", "37", "42", "46", "48", "53", "57", "59", "62", "65", "68", "73", "76", "84", "89")
SEATS = ("11", "12", "13", "14", "15", "16", "17", "18", "19", "20")
PRICES = ("120", "140", "160", "180", "210", "240", "260", "290")

Fare = Literal["fixed", "flexible"]
FARES: tuple[Fare, ...] = ("fixed", "flexible")


@dataclass(frozen=True, slots=True)
class Trip:
    city: str
    day: str
    fare: Fare
    seat: str
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
    seats: tuple[str, ...]
    """The seat one gets on each day, in the order of DAYS; nobody can know it before booking."""
    price: str
    """What a refund pays back."""

    def account(self, name: str) -> Account | None:
        return next((account for account in self.accounts if account.name == name), None)

    def book(self, name: str, city: str, day: str) -> "Database":
        return self._with_trip(name, Trip(city, day, "flexible", self._seat(day)))

    def change(self, name: str, trip: Trip, day: str) -> "Database":
        return self._with_trip(name, replace(trip, day=day, seat=self._seat(day)))

    def refund(self, name: str, trip: Trip) -> "Database":
        return self._with_trip(name, replace(trip, status="refunded"))

    def _seat(self, day: str) -> str:
        return self.seats[DAYS.index(day)]

    def _with_trip(self, name: str, trip: Trip) -> "Database":
        accounts = tuple(replace(a, trip=trip) if a.name == name else a for a in self.accounts)
        return replace(self, accounts=accounts)
