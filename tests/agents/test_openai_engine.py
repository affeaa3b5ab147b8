"""The OpenAI-compatible engine against a real server on a real socket that answers as told."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from simarena.agents.engines.openai import OpenAIEngine
from simarena.arena.errors import AgentFault, UsageError
from simarena.arena.messages import Observation, Tool, View
from simarena.arena.protocols import ChatTurn, Engine, GenerateRequest
from simarena.arena.seeds import rng
from simarena.arena.specs import EngineSpec, build_engine, resolve
from simarena.simulators.judges.cases import Case
from simarena.simulators.judges.jurors import EngineJuror
from simarena.simulators.llm_user import LLMUser
from simarena.simulators.scenarios.service_desk import ServiceDesk

KEY = "sk-very-secret"
BOOK = Tool(name="book", description="", parameters={"day": {"type": "string"}})


class Server:
    """Answers with each status of `script` in turn, then with 200; keeps what it was sent and when."""

    def __init__(self) -> None:
        self.url, self.script, self.seen, self.times = "", list[int](), list[dict[str, Any]](), list[float]()
        self.most, self._now, self.delay = 0, 0, 0.0

    async def answer(self, request: web.Request) -> web.Response:
        self.times.append(time.monotonic())
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await asyncio.sleep(self.delay)
            if self.script and (status := self.script.pop(0)) != 200:
                error = {"error": {"message": f"no, {request.headers['Authorization']}"}}
                return web.json_response(error, status=status, headers={"Retry-After-Ms": "1"})
            self.seen.append(await request.json())
        finally:
            self._now -= 1
        message = {"role": "assistant", "content": f"said {len(self.seen)}"}
        return web.json_response(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
            }
        )


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    server = Server()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield server
    await runner.cleanup()


def ask(text: str = "hello", **more: Any) -> GenerateRequest:
    return GenerateRequest("c", (ChatTurn("user", text),), seed=7, **more)


async def test_one_request(server: Server) -> None:
    engine = OpenAIEngine("m", "guest", base_url=server.url)
    assert isinstance(engine, Engine)
    (completion,) = await engine.generate([ask(tools=(BOOK,), max_tokens=9, temperature=0.5)])
    (sent,) = server.seen
    assert (completion.text, completion.record) == ("said 1", None)
    assert (engine.policy, engine.version) == ("guest", 0)
    assert sent.pop("tools")[0]["function"]["name"] == "book"
    assert sent == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 9,
    }


async def test_tools_as_text_are_not_sent(server: Server) -> None:
    await OpenAIEngine("m", base_url=server.url, calls="text").generate([ask(tools=(BOOK,))])
    assert "tools" not in server.seen[0]


async def test_it_tries_again_what_may_pass(server: Server) -> None:
    server.script = [429, 500]
    (completion,) = await OpenAIEngine("m", base_url=server.url, retries=2).generate([ask()])
    assert completion.text == "said 1"
    assert len(server.times) == 3


async def test_it_gives_up_after_its_retries(server: Server) -> None:
    server.script = [503, 503]
    with pytest.raises(AgentFault, match=r"refused model 'm' \(503\)"):
        await OpenAIEngine("m", base_url=server.url, retries=1).generate([ask()])
    assert len(server.times) == 2


async def test_a_refusal_is_told_without_the_key(server: Server) -> None:
    server.script = [401]
    with pytest.raises(AgentFault, match="OPENAI_API_KEY is not accepted") as told:
        await OpenAIEngine("m", base_url=server.url).generate([ask()])
    assert KEY not in str(told.value)
    assert "[key]" in str(told.value)
    assert len(server.times) == 1


async def test_no_server_and_a_slow_one_are_told(server: Server) -> None:
    with pytest.raises(AgentFault, match=r"no server answers at http://127\.0\.0\.1:9/v1"):
        await OpenAIEngine("m", base_url="http://127.0.0.1:9/v1", retries=0).generate([ask()])
    server.delay = 5.0
    with pytest.raises(AgentFault, match="no answer in time") as told:
        await OpenAIEngine("m", base_url=server.url, retries=0, timeout=0.2).generate([ask()])
    assert told.value.cause == "timeout"


async def test_the_pace_holds_for_retries_too(server: Server) -> None:
    server.script = [429]
    await OpenAIEngine("m", base_url=server.url, per_minute=300).generate([ask(), ask()])
    gaps = [later - earlier for earlier, later in zip(server.times, server.times[1:], strict=False)]
    assert len(gaps) == 2
    assert server.times[-1] - server.times[0] >= 0.35, gaps  # three tries at 0.2 s


async def test_no_more_are_in_flight_than_allowed(server: Server) -> None:
    server.delay = 0.02
    answers = await OpenAIEngine("m", base_url=server.url, concurrency=2).generate([ask() for _ in range(6)])
    assert len(answers) == 6
    assert server.most == 2


async def test_what_it_cost_is_counted_and_a_budget_ends_it(server: Server) -> None:
    engine = OpenAIEngine(
        "m", base_url=server.url, price_read=2.0, price_written=10.0, budget=0.004, concurrency=1
    )
    await engine.generate([ask(), ask()])
    assert (engine.spent.requests, engine.spent.read, engine.spent.written) == (2, 2000, 20)
    assert engine.spent.dollars == pytest.approx(2 * (1000 * 2 + 10 * 10) / 1e6)
    with pytest.raises(AgentFault, match=r"the budget of policy 'assistant' is spent: \$0.0042 of \$0.004"):
        await engine.generate([ask()])
    assert len(server.times) == 2


async def test_its_weights_are_not_ours(server: Server) -> None:
    with pytest.raises(UsageError, match="its weights cannot be changed"):
        await OpenAIEngine("m", base_url=server.url).update_weights(1, {})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"key": "sk-abc"}, "never the key itself"),
        ({"key": "NOT_SET", "base_url": "https://api.example.org/v1"}, "NOT_SET is not set"),
        ({"base_url": "https://me:pw@api.example.org/v1"}, "holds a password"),
        ({"base_url": "api.example.org"}, "is no address"),
        ({"calls": "json"}, "calls is 'json'"),
        ({"per_minute": 0}, "per_minute is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"budget": 1.0}, "there is no price"),
        ({"modle": "x"}, "does not take these options"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(UsageError, match=told) as error:
        build_engine(EngineSpec(engine="openai", options={"model": "m", **options}))
    assert "sk-abc" not in str(error.value)


def test_a_server_of_this_machine_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert OpenAIEngine("m", base_url="http://localhost:1/v1").spent.requests == 0


def test_its_absence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "simarena.agents.engines.openai")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(UsageError, match=r"openai is not installed: run `pip install 'simarena\[openai\]'`"):
        resolve("engines", "openai")


async def test_it_plays_a_person_and_judges(server: Server) -> None:
    """A simulated customer and a juror named as data; both are anyone's engine."""
    options = {"model": "m", "base_url": server.url}
    user = LLMUser(OpenAIEngine("m", base_url=server.url))
    view = View(private=ServiceDesk(personas=["cooperative"]).deal(rng("llm")).deal.private)
    action = await user.act(Observation(episode="e", scenario="s", seat="user", turn=0, seed=1, view=view))
    assert (action.text, action.record) == ("said 1", None)
    case = Case(question="Who?", seats=("a", "b"), labels=("ann", "bob", "tie"), lines=())
    assert await EngineJuror(EngineSpec(engine="openai", options=options), family="m").choose(case) == "unreadable"
    assert server.seen[1]["temperature"] == 0.0
    assert "Who?" in str(server.seen[1]["messages"])
