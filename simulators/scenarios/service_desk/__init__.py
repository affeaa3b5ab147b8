"""The scenario `service-desk`: see README.md for its rules, checks and rewards."""

from simarena.simulators.scenarios.service_desk.clerk import Clerk
from simarena.simulators.scenarios.service_desk.scenario import ServiceDesk

__all__ = ["Clerk", "ServiceDesk"]
