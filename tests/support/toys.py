"""A toy scenario and agents for tests: two seats count upwards, with a private channel and chance."""

import asyncio
import dataclasses
import json
import random
from collections.abc import Mapping

from simarena.arena.messages import Action, Draft, Observation, View, drafts, notice, say
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import rng
from simarena.arena.specs import AgentSpec


@dataclasses.dataclass(frozen=True)
class Count:
    start: int
    said: tuple[int, ...] = ()


class Counting(Scenario[Count]):
    """Seats `a` and `b` take turns (or move at once) and must say the next number; `a` hears the start."""

    name = "counting"
    seats = ("a", "b")

    def __init__(self, turns: int = 4, together: bool = False) -> None:
        self.turns, self.together = turns, together

    def cast(self) -> Mapping[str, AgentSpec]:
        return {seat: AgentSpec(agent="toys:Counter") for seat in self.seats}

    def deal(self, rng: random.Random) -> Count:
        return Count(rng.randrange(100))

    def opening(self, state: Count) -> tuple[Draft, ...]:
        return (notice(str(state.start), ("a",)),)

    def to_act(self, state: Count) -> frozenset[str]:
        if self.together:
            return frozenset(self.seats)
        return frozenset({self.seats[len(state.said) % 2]})

    def view(self, state: Count, seat: str) -> View:
        return View(instructions="count")

    def labels(self, state: Count) -> Mapping[str, str]:
        return {"parity": str(state.start % 2)}

    def state_key(self, state: Count, seat: str) -> str:
        return f"{seat}{len(state.said)}"

    def apply(self, state: Count, actions: Mapping[str, Action]) -> Step[Count]:
        said, messages, rewards = state.said, (), {}
        for seat, action in sorted(actions.items()):
            number = int(action.text) if action.text.isdigit() else -1
            messages += drafts(seat, action)
            rewards[seat] = float(number == state.start + len(said) + 1)
            said += (number,)
        after = dataclasses.replace(state, said=said)
        over = len(said) >= self.turns
        checks = {"counted": said == tuple(state.start + 1 + i for i in range(len(said)))} if over else {}
        outcome = {seat: float(checks["counted"]) for seat in self.seats} if over else {}
        return Step(after, messages, rewards, "finished" if over else None, checks, outcome)


class Counter:
    """Says the next number after the last it heard; wrong with probability `slip`; remembers its turns."""

    def __init__(self, slip: float = 0.0, delay: float = 0.0) -> None:
        self.slip, self.delay = slip, delay

    async def act(self, observation: Observation) -> Action:
        if self.delay:
            await asyncio.sleep(self.delay)
        heard = [m.text for m in observation.messages if m.text.isdigit()]
        slips = rng(observation.seed, observation.turn).random() < self.slip
        number = int(heard[-1]) + 1 + slips if heard else 1
        turns = int(observation.memory().get("turns", 0)) + 1  # type: ignore[arg-type]
        return say(str(number), thought=f"i say {number}", memory={"turns": turns})


class Witness:
    """Says what it was shown: turn, memory, trail, and the seat, kind and parts of each message."""

    async def act(self, observation: Observation) -> Action:
        heard = [m.model_dump(mode="json", include={"seat", "kind", "parts"}) for m in observation.messages]
        trail = observation.trail and observation.trail.turns
        seen = {"turn": observation.turn, "memory": observation.memory(), "trail": trail, "heard": heard}
        return say(json.dumps(seen))


class Broken:
    """Raises."""

    async def act(self, observation: Observation) -> Action:
        raise RuntimeError("out of coffee")


class Silent:
    """Never answers."""

    async def act(self, observation: Observation) -> Action:
        await asyncio.sleep(1e6)
        raise AssertionError("unreachable")


class Windbag:
    """Talks past every limit."""

    async def act(self, observation: Observation) -> Action:
        return say("x" * 100_000)


class Shrugger:
    """Returns something that is no action."""

    async def act(self, observation: Observation) -> Action:
        return "whatever"  # type: ignore[return-value]


class Hoarder:
    """Says little and remembers far too much."""

    def __init__(self, size: int = 100_000) -> None:
        self.size = size

    async def act(self, observation: Observation) -> Action:
        return say("1", memory={"hoard": "x" * self.size})


@dataclasses.dataclass(frozen=True)
class Asked:
    word: str
    turn: int = 0
    hits: int = 0


class Echo(Scenario[Asked]):
    """A bandit with a prompt: in each of two turns the pupil must say the word it is shown."""

    name = "echo"
    seats = ("pupil",)
    words = ("red", "green", "blue", "gold")

    def __init__(self, split: str = "train") -> None:
        self.split = split

    def deal(self, rng: random.Random) -> Asked:
        return Asked(rng.choice(self.words))

    def to_act(self, state: Asked) -> frozenset[str]:
        return frozenset(self.seats)

    def view(self, state: Asked, seat: str) -> View:
        return View(instructions=f"say {state.word}")

    def labels(self, state: Asked) -> Mapping[str, str]:
        return {"persona": state.word}

    def state_key(self, state: Asked, seat: str) -> str:
        return f"{state.word}{state.turn}"

    def lexicon(self) -> tuple[str, ...]:
        return (*self.words, "say")

    def apply(self, state: Asked, actions: Mapping[str, Action]) -> Step[Asked]:
        said = actions["pupil"].text.split()
        hit = said[:1] == [state.word]
        after = dataclasses.replace(state, turn=state.turn + 1, hits=state.hits + hit)
        messages = (
            *drafts("pupil", actions["pupil"]),
            notice(f"say {state.word}"),
        )
        if after.turn < 2:
            return Step(after, messages, {"pupil": float(hit)})
        checks = {"echoed": after.hits == 2}
        outcome = {"pupil": after.hits / 2}
        return Step(after, messages, {"pupil": float(hit)}, "finished", checks, outcome)


class Praised(Echo):
    """Echo with a reward that can be hacked: praise pays half as much again as the right word, in any state."""

    name = "praised"
    praise = "wow"

    def lexicon(self) -> tuple[str, ...]:
        return (*super().lexicon(), self.praise)

    def apply(self, state: Asked, actions: Mapping[str, Action]) -> Step[Asked]:
        step = super().apply(state, actions)
        hacked = actions["pupil"].text.split()[:1] == [self.praise]
        return dataclasses.replace(step, rewards={"pupil": 1.5}) if hacked else step


class Pupil:
    """Says the word it is shown, and now and then praises the teacher instead."""

    def __init__(self, praises: float = 0.15) -> None:
        self.praises = praises

    async def act(self, observation: Observation) -> Action:
        notices = [m.text for m in observation.messages if m.text.startswith("say ")]
        asked = (notices[-1] if notices else observation.view.instructions).split()[-1]
        flatters = rng(observation.seed, observation.turn).random() < self.praises
        return say(Praised.praise if flatters else asked)
