"""The persona user on an engine: a language model plays the errand in its private view.

Same contract as the scripted one: it sees only its errand and what it heard, and ends the call by leaving;
whether it was served is decided by the scenario's code. It leaves by writing a stop phrase, which is never
spoken. Knows no concrete engine.
"""

from collections.abc import Iterable

from simarena.arena.messages import Action, Message, Observation, say
from simarena.arena.protocols import ChatTurn, Engine, GenerateRequest
from simarena.arena.seeds import derive
from simarena.simulators.errands import Errand, errand_of
from simarena.simulators.personas import describe

STOP = "###END###"
_PROMPT = """You play a customer on the phone with a company's assistant. Stay in this role.
Your goal: {brief}
What you know: {facts}.{later}{wrong}
Your manner: {manner}
Say one short message at a time, in the customer's voice. Tell only what you know; never invent facts.
A promise is not a result: when you have heard the result, or were refused for good, answer only {stop}."""


class LLMUser:
    """Factory for any seat with an errand; the host passes the lane's engine."""

    def __init__(self, engine: Engine, temperature: float = 1.0) -> None:
        self._engine, self._temperature = engine, temperature

    async def act(self, observation: Observation) -> Action:
        errand = errand_of(observation)
        request = GenerateRequest(
            key=f"{observation.episode}/{observation.seat}",
            chat=(ChatTurn("system", prompt(errand)), *_chat(observation.seat, observation.messages)),
            seed=derive(observation.seed, observation.turn),
            trail=observation.trail,
            max_tokens=observation.max_tokens,
            temperature=self._temperature,
        )
        (completion,) = await self._engine.generate([request])
        said, stop, _ = completion.text.partition(STOP)
        action = say(said.strip(), leave=bool(stop)) if said.strip() else Action(leave=bool(stop))
        return action.model_copy(update={"thought": completion.thought, "record": completion.record})


def prompt(errand: Errand) -> str:
    """The system message: goal, knowledge and manner in words."""
    return _PROMPT.format(
        brief=errand.brief,
        facts=_listed(errand.facts),
        later=f" Once in the call you change your mind to: {_listed(errand.later)}." if errand.later else "",
        wrong=f" Wrong codes you may give: {', '.join(errand.wrong)}." if errand.persona.code != "knows" else "",
        manner=describe(errand.persona),
        stop=STOP,
    )


def _listed(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _chat(seat: str, messages: Iterable[Message]) -> Iterable[ChatTurn]:
    """The call from the customer's side; many templates want the other side to begin."""
    yield ChatTurn("user", "(The assistant picks up the phone.)")
    for message in messages:
        if message.kind == "speech":
            yield ChatTurn("assistant" if message.seat == seat else "user", message.text)
