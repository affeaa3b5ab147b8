"""Players of the relay: a pair with one code, firm or weak, and one without. Know what their seats see."""

from collections.abc import Sequence

from simarena.arena.messages import Action, Observation, say
from simarena.arena.seeds import derive, uniform
from simarena.simulators.hearing import words
from simarena.simulators.scenarios.relay.scenario import PLACES, SIGNALS


class Signaller:
    """Signal number i for place number i; with probability `slips` any signal."""

    def __init__(self, slips: float = 0.0) -> None:
        self.slips = slips

    async def act(self, observation: Observation) -> Action:
        if _slips(observation, self.slips):
            return await Aimless().act(observation)
        route = [word for word in words(observation.view.instructions) if word in PLACES]
        leg = sum(message.seat == observation.seat for message in observation.messages)
        return say(SIGNALS[PLACES.index(route[leg])])


class Follower:
    """Goes to place number i on signal number i, without one to the first; with probability `slips` anywhere."""

    def __init__(self, slips: float = 0.0) -> None:
        self.slips = slips

    async def act(self, observation: Observation) -> Action:
        if _slips(observation, self.slips):
            return await Aimless().act(observation)
        heard = [word for m in observation.messages if m.kind == "notice" for word in words(m.text)]
        signals = [word for word in heard if word in SIGNALS]
        return say(PLACES[SIGNALS.index(signals[-1])] if signals else PLACES[0])


class Aimless:
    """Says any word that its seat may say, each equally often: a signal, or a place."""

    async def act(self, observation: Observation) -> Action:
        seen = words(observation.view.instructions)
        signals = [word for word in seen if word in SIGNALS]
        return say(_draw(observation, signals or [word for word in seen if word in PLACES]))


def _slips(observation: Observation, chance: float) -> bool:
    return uniform(derive(observation.seed, "slips"), observation.turn) < chance


def _draw(observation: Observation, choices: Sequence[str]) -> str:
    return choices[derive(observation.seed, observation.turn) % len(choices)]
