"""Phrasebooks: how simulated people put things, as templates by speech act. One per scenario and split.

A phrasebook is named by its import path, so that a person's private view can carry the name instead of
the book. Knows no persona and no scenario.
"""

import functools
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from simarena.arena.seeds import derive


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
