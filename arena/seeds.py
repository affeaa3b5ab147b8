"""Chance. Every random number of a run comes from a name, never from a global generator.

A seed is the sha256 of a path such as ("run", 7, "service-desk", "deal", 12), so it is the same in any
process, in any order, under any parallelism.
"""

import hashlib
import random

Name = str | int


def derive(*path: Name) -> int:
    """A 63-bit seed from a path of names. Equal paths give equal seeds on every machine."""
    text = "\x1f".join(f"{type(part).__name__[0]}{part}" for part in path)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def rng(*path: Name) -> random.Random:
    """A generator of its own for this path."""
    return random.Random(derive(*path))


def cards(scenario: str, deal: int) -> random.Random:
    """What the deal of this number is drawn from in this scenario: the same wherever it is played."""
    return rng("deal", scenario, deal)


def uniform(*path: Name) -> float:
    """One number in [0, 1) for this path, without building a generator."""
    return (derive(*path) >> 10) / float(1 << 53)
