"""The iterated prisoner's dilemma, and the classic strategies as agents."""

from simarena.simulators.scenarios.prisoners_dilemma.scenario import PrisonersDilemma
from simarena.simulators.scenarios.prisoners_dilemma.strategies import Prisoner

__all__ = ["Prisoner", "PrisonersDilemma"]
