"""Phrasebooks: how simulated people put things, as templates by speech act. One per scenario and split.

A phrasebook is named by its import path, so that a person's private view can carry the name instead of
the book. Knows no persona and no scenario.
"""

import functools
import importlib
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from simarena.arena.seeds import derive

_CHOICE = re.compile(r"\(([^()]*)\)")


def spelled_out(template: str) -> tuple[str, ...]:
    """Every template that one with choices stands for: `(hi|hello), you` gives `hi, you` and `hello, you`."""
    parts = [part.split("|") if place % 2 else [part] for place, part in enumerate(_CHOICE.split(template))]
    return tuple("".join(chosen) for chosen in itertools.product(*parts))


def book(lines: Mapping[str, tuple[str, ...]]) -> "Phrasebook":
    """A phrasebook of templates with choices, spelled out."""
    return Phrasebook({act: tuple(t for line in told for t in spelled_out(line)) for act, told in lines.items()})


@dataclass(frozen=True)
class Phrasebook:
    """Templates by act; `{name}` is replaced by the fact of that name."""

    lines: Mapping[str, tuple[str, ...]]

    def __contains__(self, act: str) -> bool:
        return act in self.lines

    def say(self, act: str, facts: Mapping[str, str], *chance: str | int) -> str:
        """One line of this act, chosen by this path of chance."""
        lines = self.lines[act]
        return lines[derive(*chance, act) % len(lines)].format_map(facts)

    def templates(self) -> Iterable[str]:
        """All templates, of all acts."""
        return (line for lines in self.lines.values() for line in lines)


@functools.cache
def phrasebook(path: str) -> Phrasebook:
    """The book at `module:NAME`."""
    module, _, name = path.partition(":")
    return cast("Phrasebook", getattr(importlib.import_module(module), name))
