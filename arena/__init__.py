"""The world everyone shares: messages, episodes, the contracts between rooms, the bus and the conductor.

Imports nothing of ours and, at import time, none of torch, ray, redis, transformers, vllm or textual.
"""

from simarena.arena.arena import SimulatorArena
from simarena.arena.conformance import check_scenario
from simarena.arena.episodes import Episode
from simarena.arena.messages import Action, Draft, Limits, Message, Observation, View, call, drafts, notice, say
from simarena.arena.protocols import Agent, Engine, Judge, Scenario, Step
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec, EngineSpec
from simarena.arena.topology import Topology

__all__ = [
    "Action",
    "Agent",
    "AgentSpec",
    "Draft",
    "Engine",
    "EngineSpec",
    "Episode",
    "Judge",
    "Limits",
    "Message",
    "Observation",
    "RunFolder",
    "Scenario",
    "SimulatorArena",
    "Step",
    "Topology",
    "View",
    "call",
    "check_scenario",
    "drafts",
    "notice",
    "say",
]
