"""The scenario `relay`: see README.md for its rules and rewards."""

from simarena.simulators.scenarios.relay.scenario import Relay

__all__ = ["Relay"]
