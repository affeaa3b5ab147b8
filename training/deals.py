"""Deals: which ones a step plays. Drawn by hash, or stratified: every value of some labels comes equally often.

Which people or cards a step happens to meet is luck that the policy has no part in, and with few deals a step it
can outweigh all else. Stratified sampling takes that luck out of the gradient and out of the curves. Deals follow
from (seed, step) alone. Knows no episode.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any

from simarena.arena.errors import UsageError
from simarena.arena.protocols import Scenario
from simarena.arena.seeds import cards, derive, rng
from simarena.arena.specs import build_scenario
from simarena.training.config import Recipe
from simarena.training.evaluation import options_of

LOOKED_AT = 16
"""Deals drawn for each that is wanted: what values there are is seen from these."""


class Deals:
    """The deals of one step, as many as are asked for, the same whenever they are."""

    def __init__(self, recipe: Recipe, step: int) -> None:
        self._recipe, self._step = recipe, step
        self._drawn = self._stratified() if recipe.rollout.balance else self._hashed()

    @cached_property
    def _rules(self) -> Scenario[Any]:
        return build_scenario(self._recipe.scenario.name, options_of(self._recipe, "train"))

    def take(self, wanted: int) -> list[int]:
        """The next deals."""
        return [next(self._drawn) for _ in range(wanted)]

    def _hashed(self) -> Iterator[int]:
        for number in count():
            yield derive("deals", self._recipe.seed, self._step, number) % 2**31

    def _stratified(self) -> Iterator[int]:
        """Rounds with one deal of every value, in another order each round."""
        hashed = self._hashed()
        chance = rng("strata", self._recipe.seed, self._step)
        while True:
            strata: dict[tuple[str, ...], list[int]] = defaultdict(list)
            for _ in range(LOOKED_AT * self._recipe.rollout.deals):
                deal = next(hashed)
                strata[self._values(deal)].append(deal)
            for _ in range(min(map(len, strata.values()))):
                for value in chance.sample(sorted(strata), len(strata)):
                    yield strata[value].pop()

    def _values(self, deal: int) -> tuple[str, ...]:
        """The labels that are balanced. Raises UsageError for one that the scenario does not give."""
        rules = self._rules
        labels = rules.labels(rules.deal(cards(rules.name, deal)))
        for name in self._recipe.rollout.balance:
            if name not in labels:
                known = ", ".join(labels) or "none"
                raise UsageError(
                    f"rollout.balance: {rules.name!r} gives a deal no label {name!r}; its labels: {known}"
                )
        return tuple(labels[name] for name in self._recipe.rollout.balance)
