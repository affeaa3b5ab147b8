"""Splits: what a policy trains on, what its makers look at, and what it is judged on never overlap.

`train` is learned from, `validation` is for choosing settings, `heldout` for the figures one reports: nothing may
be changed after a look at its failures. Deals are divided by the hash of what is asked for, so no held-out request
can occur in training whatever seed is drawn; tables (personas, phrasings) are compared when they are loaded.
Knows no scenario.
"""

import itertools
from collections.abc import Iterable
from typing import Literal

from simarena.arena.errors import ScenarioError
from simarena.arena.seeds import derive

Split = Literal["train", "validation", "heldout"]
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")
PARTS = 8
"""One request in this many is held out, and as many are for validation."""


def split_of(*request: str) -> Split:
    """The split a request belongs to, by its hash."""
    part = derive("split", *request) % PARTS
    return "heldout" if part == 0 else "validation" if part == 1 else "train"


def require_disjoint(what: str, *splits: Iterable[str]) -> None:
    """Raise ScenarioError if anything is in two splits."""
    for one, other in itertools.combinations(map(set, splits), 2):
        if both := sorted(one & other):
            raise ScenarioError(f"{what} in two splits: {', '.join(map(repr, both))}; remove them from one")
