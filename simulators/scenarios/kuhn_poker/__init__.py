"""The scenario `kuhn-poker`: see README.md for its rules and rewards."""

from simarena.simulators.scenarios.kuhn_poker.scenario import KuhnPoker

__all__ = ["KuhnPoker"]
