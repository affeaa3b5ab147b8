"""Snapshots: the past selves of a learner that a resume brings back.

Owns the files of `rollout.cross_policy`, one per learner and version. Knows no population.
"""

from pathlib import Path

from simarena.arena.arena import SimulatorArena
from simarena.training.config import Recipe
from simarena.training.learners import Learners


class PastSelves:
    """The versions of the learners that take turns of the past, kept for as long as a checkpoint needs them."""

    def __init__(self, recipe: Recipe, learners: Learners, home: Path) -> None:
        self._options, self._names = recipe.rollout.cross_policy, tuple(recipe.roster)
        self._learners, self._home = learners, home

    async def keep(self, version: int) -> None:
        """Write the learners down if this version is one that the past will be."""
        if self._options.every and self._options.past_of(version) == version:
            for name in self._names:
                await self._learners.snapshot(name, self._file(name, version))

    async def revive(self, arena: SimulatorArena, version: int) -> None:
        """Give engines that are as they began the past that belongs to this version; before it is published."""
        past = self._options.past_of(version) if self._options.every else 0
        for name in self._names if past else ():
            weights = await self._learners.revived(name, self._file(name, past))
            await arena.publish(name, past, weights)

    def prune(self, version: int) -> None:
        """Delete what a resume from this version on does not need."""
        if self._options.every:
            kept = {self._file(name, self._options.past_of(version)) for name in self._names}
            for path in set(self._home.glob("*.safetensors")) - kept:
                path.unlink()

    def _file(self, name: str, version: int) -> Path:
        return self._home / f"{name}@{version}.safetensors"
