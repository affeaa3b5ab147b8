"""The scenario `deal`: see README.md for its rules and rewards."""

from simarena.simulators.scenarios.deal.scenario import Deal

__all__ = ["Deal"]
