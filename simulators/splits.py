"""Splits: what a policy trains on and what it is judged on never overlap.

Deals are divided by the hash of what is asked for, so no held-out request can occur in training whatever
seed is drawn; tables (personas, phrasings) are compared when they are loaded. Knows no scenario.
"""

from collections.abc import Iterable
from typing import Literal

from simarena.arena.errors import ScenarioError
from simarena.arena.seeds import derive

Split = Literal["train", "heldout"]
SPLITS: tuple[Split, ...] = ("train", "heldout")
HELDOUT_SHARE = 4
"""One request in this many is held out."""


def split_of(*request: str) -> Split:
    """The split a request belongs to, by its hash."""
    return "heldout" if derive("split", *request) % HELDOUT_SHARE == 0 else "train"


def require_disjoint(what: str, train: Iterable[str], heldout: Iterable[str]) -> None:
    """Raise ScenarioError if anything is in both splits."""
    if both := sorted(set(train) & set(heldout)):
        raise ScenarioError(f"{what} in both splits: {', '.join(map(repr, both))}; remove them from one")
