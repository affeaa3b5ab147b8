"""The scenario `leduc-poker`: see README.md for its rules and rewards."""

from simarena.simulators.scenarios.leduc_poker.scenario import LeducPoker

__all__ = ["LeducPoker"]
