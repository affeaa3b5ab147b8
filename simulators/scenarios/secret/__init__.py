"""The scenario `secret`: see README.md for its rules and rewards."""

from simarena.simulators.scenarios.secret.scenario import Secret

__all__ = ["Secret"]
