"""Rating checkpoints: the tournament in which all checkpoints of a run meet its anchors.

Anchors are the scripted agents that the run knows: those it was evaluated against, the teacher it cloned, and an
echo, which says nothing of use. A checkpoint of several learners competes as one team. Knows no command line;
`arena/tournament` plays it.
"""

import re
from collections.abc import Sequence
from typing import Any

from simarena.arena.errors import UsageError
from simarena.arena.record import RunFolder
from simarena.arena.specs import build_scenario
from simarena.arena.tournament.script import Script, parse
from simarena.training import recipe_file
from simarena.training.config import Recipe
from simarena.training.evaluation import options_of
from simarena.training.seating import START, chair

DEALS = 64
"""Held-out deals that everyone plays where one side plays alone."""
CYCLES = 16
"""Deals of every meeting where two sides oppose each other, each played from both."""


def rate_checkpoints(run: RunFolder) -> Script:
    """The tournament of this run's checkpoints and anchors, on held-out deals.

    Where one seat learns, or several with one outcome, everyone plays the same deals alone (block design); where
    two are opposed, everyone meets everyone. The rating is the mean score, which is right for games with and
    without a winner: that both sides got what they came for is no tie. Raises UsageError for a run without
    checkpoints.
    """
    recipe = recipe_file.parse(run.facts()["recipe"])
    steps = run.checkpoints()
    if not steps:
        raise UsageError(f"run {str(run.path)!r} has no checkpoint yet: there is nothing to rate")
    entrants: dict[str, Any] = {f"step-{step}": str(path) for step, path in steps.items()}
    entrants |= _anchors(recipe)
    options = options_of(recipe, "heldout")
    build_scenario(recipe.scenario.name, options)
    seats = list(recipe.learning)
    sides = {"team": seats} if len(seats) > 1 and _together(run, seats) else {seat: [seat] for seat in seats}
    return parse(
        {
            "name": f"{recipe.name}-checkpoints",
            "seed": recipe.seed,
            "backend": recipe.backend,
            "bus": recipe.bus,
            "scenario": {"name": recipe.scenario.name, "options": options},
            "entrants": entrants,
            "format": {"kind": "block" if len(sides) != 2 else "round-robin"},
            "sides": sides,
            "seats": {seat: agent for seat, agent in recipe.seats.items() if chair(agent).kind != "learner"},
            "best_of": DEALS if len(sides) == 1 else CYCLES,
            "rating": {"method": "score"},
            "limits": recipe.rollout.limits.model_dump(),
            "concurrency": recipe.rollout.concurrency,
        }
    )


def _together(run: RunFolder, seats: Sequence[str]) -> bool:
    """Whether these seats had one outcome in every conversation of the run's newest evaluation."""
    batches = [name for name in run.batches() if name.startswith("eval-")]
    episodes = run.episodes(batches[-1]) if batches else ()
    told = [one.outcome for one in episodes if set(seats) <= set(one.outcome)]
    return bool(told) and all(len({outcome[seat] for seat in seats}) == 1 for outcome in told)


def _anchors(recipe: Recipe) -> dict[str, Any]:
    """Who does not learn, by name; the start is a checkpoint already."""
    cloning = recipe.policy.cloning
    found: dict[str, Any] = {}
    if cloning.teacher and len(recipe.roster) == 1:
        found["teacher"] = {"agent": cloning.teacher, "options": cloning.options}
    for agent in recipe.evaluation.anchors:
        if agent != START:
            name = re.sub(r"[^A-Za-z0-9_.+-]", "-", agent.rpartition(":")[2] or agent).lower()
            found[name if name not in found else f"{name}-{len(found)}"] = agent
    return found | {"echo": "echo"}
