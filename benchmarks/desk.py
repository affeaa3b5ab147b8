"""The service desk without an arena: one call as an object that is spoken to, as a script of one's own has it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simarena.agents import toolcalls
from simarena.agents.policy import chat_of
from simarena.arena.messages import Action, Message, Observation, Text
from simarena.arena.protocols import Step
from simarena.arena.seeds import derive, rng
from simarena.arena.specs import build_agent
from simarena.simulators.scenarios.service_desk import ServiceDesk
from simarena.simulators.scenarios.service_desk.state import State

SEAT = "assistant"


class Call:
    """One customer's call."""

    def __init__(self, deal: int, patience: int) -> None:
        self._rules = Graded(patience=patience)
        self._name = f"bench/{deal}/0"
        self._state: Any = self._rules.deal(rng("deal", self._rules.name, deal))
        self._customer = build_agent(self._rules.cast()["user"])
        self._messages: list[Message] = []
        self._turn = 1
        self.over = False
        self.reward = 0.0

    def observation(self, seat: str) -> Observation:
        """What this seat knows."""
        heard = tuple(message for message in self._messages if message.audible(seat))
        view = self._rules.view(self._state, seat)
        return Observation(
            episode=self._name,
            scenario=self._rules.name,
            seat=seat,
            turn=self._turn,
            seed=derive(0, self._rules.name, self._name, seat),
            view=view,
            messages=heard,
        )

    def chat(self) -> list[dict[str, str]]:
        """What the assistant has heard, as a chat template wants it."""
        seen = self.observation(SEAT)
        return [
            {"role": "user" if one.role == "tool" else one.role, "content": one.content}
            for one in chat_of(seen.view, seen.messages, SEAT)
        ]

    async def listen(self) -> None:
        """The customer speaks, if it is its turn."""
        while not self.over and "user" in self._rules.to_act(self._state):
            await self.act(await self._customer.act(self.observation("user")))

    async def say(self, text: str) -> None:
        """The assistant speaks or calls tools, and the customer answers."""
        reply = toolcalls.parse(text, self._rules.view(self._state, SEAT).tools)
        said = (Text(text=reply.text),) if reply.text or not reply.calls else ()
        await self.act(Action(parts=(*said, *reply.calls)))

    async def act(self, action: Action) -> None:
        """Whoever's turn it is does this; then the customer goes on, if it may."""
        (seat,) = self._rules.to_act(self._state)
        bare = action.model_copy(update={"thought": "", "memory": None, "record": None})
        step = self._rules.apply(self._state, {seat: bare})
        self._state = step.state
        self.reward += step.rewards.get(SEAT, 0.0)
        self.over = step.ending is not None
        for number, draft in enumerate(step.messages):
            self._messages.append(Message(**dict(draft), episode=self._name, id=f"{self._turn}-{number + 1}"))
        self._turn += 1
        await self.listen()


class Graded(ServiceDesk):
    """The desk, where the last reply also earns the share of its words that are not said twice: the conversations
    of a group then always differ in outcome, so that every one of them is trained on, by everyone."""

    def apply(self, state: State, actions: Mapping[str, Action]) -> Step[State]:
        step = super().apply(state, actions)
        if SEAT not in actions or step.ending is None:
            return step
        said = actions[SEAT].text.split()
        grade = len(set(said)) / max(1, len(said))
        rewards = {SEAT: step.rewards.get(SEAT, 0.0) + grade}
        return replace(step, rewards=rewards, parts={}, outcome={**step.outcome, SEAT: grade})
