"""Errands: what one simulated person came for, as the private view of its seat. Drawn whole in the deal.

Producer: a scenario. Consumers: the persona users, scripted or on an engine. Knows no scenario's rules.
"""

from pydantic import Field, ValidationError

from simarena.arena.errors import UsageError
from simarena.arena.messages import Frozen, Observation
from simarena.simulators.personas import Persona


class Errand(Frozen):
    """A persona with a goal and all the chance it will ever use, so every member of a group meets the same one."""

    persona: Persona
    task: str
    facts: dict[str, str]
    """What it knows at first: `account`, `code` and the task's own details by name."""
    later: dict[str, str] = Field(default_factory=dict)
    """Facts that replace the first ones when it changes its mind."""
    wrong: tuple[str, ...] = ()
    """Codes it may give in place of the right one, in this order."""
    noise: dict[str, str] = Field(default_factory=dict)
    """Facts of its small talk, which have nothing to do with the task."""
    phrases: str
    """Import path of its phrasebook."""
    phrasing: int
    """Seed of its choices of words."""
    brief: str = ""
    """The goal in words, for a language model."""


def errand_of(observation: Observation) -> Errand:
    """The errand of the seat that acts. Raises UsageError if its private view holds none."""
    try:
        return Errand.model_validate(observation.view.private)
    except ValidationError:
        raise UsageError(
            f"seat {observation.seat!r} of scenario {observation.scenario!r} has no errand in its private view: "
            f"a persona user can only take a seat that has one"
        ) from None
