"""The classic strategies: each a function of both histories and one number of chance, and the agent that plays it.

Histories are one letter a round, C or D, oldest first. Names and rules follow Axelrod (1980) and Nowak & Sigmund
(1992, 1993). Know nothing of payoffs.
"""

from collections.abc import Callable, Mapping

from simarena.arena.errors import UnknownName
from simarena.arena.messages import Action, Observation, say
from simarena.arena.seeds import uniform

Strategy = Callable[[str, str, float], str]
"""(own moves, other's moves, a number in [0, 1)) → C or D."""


def tit_for_tat(own: str, other: str, chance: float) -> str:
    """Begins kindly, then does what the other did last."""
    return other[-1:] or "C"


def tit_for_two_tats(own: str, other: str, chance: float) -> str:
    """Defects only after two defections in a row."""
    return "D" if other[-2:] == "DD" else "C"


def two_tits_for_tat(own: str, other: str, chance: float) -> str:
    """Answers every defection with two."""
    return "D" if "D" in other[-2:] else "C"


def suspicious_tit_for_tat(own: str, other: str, chance: float) -> str:
    """Tit for tat that begins with a defection."""
    return other[-1:] or "D"


def generous_tit_for_tat(own: str, other: str, chance: float) -> str:
    """Forgives a defection one time in three (Nowak & Sigmund 1992, at Axelrod's payoffs)."""
    return "D" if other.endswith("D") and chance >= 1 / 3 else "C"


def joss(own: str, other: str, chance: float) -> str:
    """Tit for tat that defects one time in ten where it should cooperate."""
    return "D" if other.endswith("D") or chance >= 0.9 else "C"


def grudger(own: str, other: str, chance: float) -> str:
    """Cooperates until the first defection, and never again (Friedman)."""
    return "D" if "D" in other else "C"


def davis(own: str, other: str, chance: float) -> str:
    """Cooperates for ten rounds, then holds a grudge."""
    return "D" if len(own) >= 10 and "D" in other else "C"


def pavlov(own: str, other: str, chance: float) -> str:
    """Repeats a move that paid (3 or 5), changes one that did not: win, stay; lose, shift."""
    return "C" if own[-1:] == other[-1:] else "D"


def soft_majority(own: str, other: str, chance: float) -> str:
    """Defects if the other has defected more often than not."""
    return "D" if 2 * other.count("D") > len(other) else "C"


def hard_majority(own: str, other: str, chance: float) -> str:
    """Defects unless the other has cooperated more often than not."""
    return "D" if 2 * other.count("D") >= len(other) else "C"


def prober(own: str, other: str, chance: float) -> str:
    """D, C, C; exploits for ever who did not answer, else plays tit for tat."""
    if len(own) < 3:
        return "DCC"[len(own)]
    return "D" if other[1:3] == "CC" else other[-1]


def alternator(own: str, other: str, chance: float) -> str:
    """C, D, C, D ..."""
    return "CD"[len(own) % 2]


STRATEGIES: Mapping[str, Strategy] = {
    "alternator": alternator,
    "cooperator": lambda own, other, chance: "C",
    "davis": davis,
    "defector": lambda own, other, chance: "D",
    "generous-tit-for-tat": generous_tit_for_tat,
    "grudger": grudger,
    "hard-majority": hard_majority,
    "joss": joss,
    "pavlov": pavlov,
    "prober": prober,
    "random": lambda own, other, chance: "C" if chance < 0.5 else "D",
    "soft-majority": soft_majority,
    "suspicious-tit-for-tat": suspicious_tit_for_tat,
    "tit-for-tat": tit_for_tat,
    "tit-for-two-tats": tit_for_two_tats,
    "two-tits-for-tat": two_tits_for_tat,
}


class Prisoner:
    """The agent: plays one of `STRATEGIES` by what its seat may see."""

    def __init__(self, strategy: str = "tit-for-tat") -> None:
        if strategy not in STRATEGIES:
            raise UnknownName("strategy", strategy, STRATEGIES)
        self._strategy = STRATEGIES[strategy]

    async def act(self, observation: Observation) -> Action:
        own, other = str(observation.view.private["own"]), str(observation.view.private["other"])
        move = self._strategy(own, other, uniform(observation.seed, observation.turn))
        return say("cooperate" if move == "C" else "defect")
