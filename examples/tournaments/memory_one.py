"""A script in Python: 64 memory-one strategies of the prisoner's dilemma in a Swiss tournament of 2,000 matches.

simarena tournament examples/tournaments/memory_one.py

A memory-one strategy is four chances to cooperate, after both cooperated (cc), after it was exploited (cd), after
it exploited (dc), and after both defected (dd).
"""

from itertools import product

from simarena.arena import Action, Observation, say
from simarena.arena.seeds import uniform


class MemoryOne:
    """Cooperates with chance `cc`, `cd`, `dc` or `dd`, by what both did last; begins kindly."""

    def __init__(self, cc: float, cd: float, dc: float, dd: float) -> None:
        self._chance = {"CC": cc, "CD": cd, "DC": dc, "DD": dd}

    async def act(self, observation: Observation) -> Action:
        own, other = str(observation.view.private["own"]), str(observation.view.private["other"])
        kind = self._chance[own[-1] + other[-1]] if own else 1.0
        return say("cooperate" if uniform(observation.seed, observation.turn) < kind else "defect")


def tournament() -> dict:
    chances = product((1.0, 0.9, 0.6, 0.1), (0.7, 0.4, 0.1, 0.0), (0.9, 0.2), (0.5, 0.0))
    return {
        "backend": "ray",
        "scenario": {"name": "prisoners-dilemma", "options": {"rounds": 6, "noise": 0.02}},
        "format": {"kind": "swiss", "rounds": 16},
        "best_of": 2,
        "budget": {"matches": 2000},
        "rating": {"method": "score"},
        "entrants": {
            "-".join(f"{100 * chance:02.0f}" for chance in four): {
                "agent": "memory_one:MemoryOne",
                "options": dict(zip(("cc", "cd", "dc", "dd"), four, strict=True)),
            }
            for four in chances
        },
    }
