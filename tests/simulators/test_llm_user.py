"""The persona user on an engine, with an engine that answers from a list."""

from simarena.arena.messages import Message, Observation, Text, View
from simarena.arena.protocols import Completion
from simarena.arena.seeds import rng
from simarena.arena.specs import AgentSpec, build_agent
from simarena.arena.tokens import TurnRecord
from simarena.simulators.llm_user import STOP, LLMUser, prompt
from simarena.simulators.scenarios.service_desk import Clerk, ServiceDesk

RECORD = TurnRecord(policy="p", version=0, start=True, fed=(1,), sampled=(2,), logprobs=(-0.5,), finish="stop")


class ListEngine:
    """Says its lines in order and keeps what it was asked."""

    policy, version = "people", 0

    def __init__(self, *lines: str) -> None:
        self.lines, self.requests = list(lines), []

    async def generate(self, requests):
        self.requests += requests
        return [Completion(self.lines.pop(0), record=RECORD) for _ in requests]

    async def update_weights(self, version, weights):
        raise AssertionError("a user does not learn here")


def _observation(*messages: tuple[str, str]) -> Observation:
    state = ServiceDesk(personas=["cooperative"]).deal(rng("llm"))
    return Observation(
        episode="e",
        scenario="service-desk",
        seat="user",
        turn=3,
        seed=11,
        view=View(private=state.deal.private),
        messages=tuple(
            Message(episode="e", id=f"{n}-1", seat=seat, kind="speech", parts=(Text(text=text),))
            for n, (seat, text) in enumerate(messages, 1)
        ),
    )


async def test_it_sees_the_call_from_its_own_side_and_keeps_the_record():
    engine = ListEngine("My code is 42.")
    action = await LLMUser(engine).act(_observation(("user", "hello"), ("assistant", "your code?")))
    (request,) = engine.requests
    assert [turn.role for turn in request.chat] == ["system", "user", "assistant", "user"]
    assert request.chat[-1].content == "your code?"
    assert action.text == "My code is 42."
    assert action.record == RECORD
    assert not action.leave


async def test_the_stop_phrase_leaves_and_is_not_spoken():
    action = await LLMUser(ListEngine(f"Thanks! {STOP} and more")).act(_observation())
    assert (action.text, action.leave) == ("Thanks!", True)
    silent = await LLMUser(ListEngine(STOP)).act(_observation())
    assert (silent.parts, silent.leave) == ((), True)


def test_the_prompt_tells_goal_facts_and_manner_but_no_right_code_to_an_impostor():
    state = ServiceDesk(personas=["impostor"]).deal(rng("thief"))
    text = prompt(state.deal.errand)
    account = state.desk.database.account(state.deal.goal.account)
    assert account is not None
    assert account.code not in text.replace(",", " ").replace(".", " ").split()
    assert state.deal.goal.account in text
    assert "You do not know the right code" in text
    assert STOP in text


async def test_code_decides_the_outcome_not_the_model(play):
    engine = ListEngine("i want to book a trip.", "It is booked, thanks!", STOP)
    spec = AgentSpec(agent="simarena.simulators.llm_user:LLMUser", lane="policy.people")
    agents = {"user": build_agent(spec, engine), "assistant": Clerk(slips=0.0)}
    played = play(ServiceDesk(personas=["cooperative"]), agents, deal=1)
    assert played.step.ending == "finished"
    assert played.step.checks["within_patience"]
    assert not played.step.checks["database"]
