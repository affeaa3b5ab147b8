"""`simarena serve`: a policy over a real socket, asked by our own OpenAI engine and by a bare client."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from simarena.agents import tiny
from simarena.agents.engines.openai import OpenAIEngine
from simarena.agents.engines.transformers import TransformersEngine
from simarena.arena.arena import SimulatorArena
from simarena.arena.errors import AgentFault, UsageError
from simarena.arena.messages import Tool, ToolCall
from simarena.arena.protocols import ChatTurn, Completion, GenerateRequest
from simarena.arena.specs import AgentSpec, EngineSpec, build_engine
from simarena.simulators.scenarios.service_desk import ServiceDesk
from simarena.training import recipe_file
from simarena.tui.casting import DEFAULT_RECIPE, cast, model
from simarena.tui.endpoint import Endpoint, listening

TOKEN = "let-me-in"
SHAPE = tiny.Shape(hidden=32, layers=2, heads=4, kv_heads=2, intermediate=64, positions=512)
LOOKUP = Tool(name="lookup", description="", parameters={"code": {"type": "string"}})
CHAT = (
    ChatTurn("system", "help people"),
    ChatTurn("tool", "a caller is on the line"),
    ChatTurn("user", "my code please"),
    ChatTurn("assistant", "one moment\n@lookup code"),
    ChatTurn("tool", "error: no code", name="lookup"),
    ChatTurn("user", "please"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [
        "help people a caller is on the line my code please one moment @lookup error : no",
        *ServiceDesk().lexicon(),
    ]
    return tiny.build(words, tmp_path_factory.mktemp("model"), seed=5, shape=SHAPE)


@pytest.fixture(scope="module")
def local(folder: Path) -> TransformersEngine:
    return TransformersEngine(str(folder))


@pytest.fixture
async def url(local: TransformersEngine, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", TOKEN)
    async with listening(Endpoint(local, "desk", TOKEN), 0) as url:
        yield url


def ask(chat: tuple[ChatTurn, ...] = CHAT, **more: Any) -> GenerateRequest:
    return GenerateRequest("c", chat, **{"seed": 3, "tools": (LOOKUP,), "max_tokens": 12, **more})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def post(url: str, token: str = TOKEN, raw: str = "", **body: Any) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{url}/chat/completions", data=raw or json.dumps(body)) as got,
    ):
        return got.status, await got.text()


async def test_the_same_words_come_through_the_socket(url: str, local: TransformersEngine) -> None:
    """Notices, calls and results reach the model exactly as without a server; so does the seed."""
    engine = OpenAIEngine("desk", base_url=url)
    requests = [ask(seed=seed) for seed in range(8)]
    far, near = await engine.generate(requests), await local.generate(requests)
    assert [(one.text, one.calls) for one in far] == [(one.text, one.calls) for one in near]
    assert len({one.text for one in far}) > 1
    records = [one.record for one in near if one.record is not None]
    assert all(one.record is None for one in far)
    assert engine.spent.read == sum(len(record.fed) for record in records)
    assert engine.spent.written == sum(len(record.sampled) for record in records)


class Canned:
    """An engine that thinks, speaks and calls."""

    policy, version = "canned", 0
    answer = Completion("one moment", (ToolCall(name="lookup", arguments={"code": 'a "b" @c'}),), "hungry")

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        self.requests = requests
        return [self.answer for _ in requests]

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        raise AssertionError("an endpoint never does this")


async def test_thought_and_calls_come_through_and_the_request_arrives_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", TOKEN)
    canned = Canned()
    async with listening(Endpoint(canned, "desk", TOKEN), 0) as url:
        assert await OpenAIEngine("desk", base_url=url).generate([ask(temperature=0.25)]) == [Canned.answer]
    (got,) = canned.requests
    assert got == replace(ask(temperature=0.25), key=got.key)


async def test_a_seat_is_played_through_it(url: str) -> None:
    """A whole conversation; its turns have no token records, so it is refused as a lesson."""
    policies = {"far": EngineSpec(engine="openai", options={"model": "desk", "policy": "far", "base_url": url})}
    async with SimulatorArena("inproc", policies=policies) as arena:
        seats = {"assistant": AgentSpec.of_policy("far")}
        play = arena.play("service-desk", seats=seats, deals=range(1))
        (episode,) = [episode async for episode in play]
    assert not episode.fault
    assert episode.turns_of("assistant")
    with pytest.raises(Exception, match="without token records, so it cannot learn"):
        episode.trajectories_of("assistant")


async def test_a_seat_is_cast_by_name_with_options_for_agent_and_engine(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    options = {"seller": {"temperature": 0.0, "price_read": 2.5}}
    chosen = await cast({"seller": "openai:desk"}, lambda _: None, options)  # type: ignore[arg-type]
    assert chosen.seats == {"seller": AgentSpec.of_policy("seller", temperature=0.0)}
    (engine,) = chosen.policies.values()
    assert engine.options == {"model": "desk", "policy": "seller", "price_read": 2.5}
    assert (await build_engine(engine).generate([ask()]))[0].record is None
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="environment variable OPENAI_API_KEY is not set"):
        await cast({"seller": "openai:desk"}, lambda _: None)


async def test_a_wrong_token_or_model_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AgentFault, match=r"\(404\): unknown model 'dask': did you mean 'desk'\?"):
        await OpenAIEngine("dask", base_url=url).generate([ask()])
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with pytest.raises(AgentFault, match=r"\(401\): a token is needed"):
        await OpenAIEngine("desk", base_url=url).generate([ask()])


async def test_another_host_is_refused_even_with_the_token(url: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{url}/models") as got:
        assert got.status == 403


USER = [{"role": "user", "content": "please"}]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"raw": "{"}, "the body is not JSON"),
        ({"raw": "[]"}, "must be a JSON object"),
        ({"messages": []}, "messages is empty"),
        ({"messages": "x"}, "messages must be a list"),
        ({"messages": USER, "temprature": 1}, "did you mean 'temperature'?"),
        ({"messages": USER, "top_p": 0.5}, "top_p is 0.5: this endpoint has no such setting"),
        ({"messages": USER, "temperature": -1}, "temperature is -1"),
        ({"messages": USER, "max_tokens": 0}, "max_tokens is 0"),
        ({"messages": USER, "seed": True}, "seed is true"),
        ({"messages": [{"role": "user", "content": "please " * 600}]}, "fills the 512 positions"),
        ({"messages": USER, "tools": [{"type": "retrieval"}]}, "tools[0] is no function"),
    ],
)
async def test_what_it_cannot_do_is_refused(url: str, body: dict[str, Any], told: str) -> None:
    status, text = await post(url, **{"model": "desk", **body})
    assert status == 400
    assert told in json.loads(text)["error"]["message"]


async def test_settings_that_ask_for_nothing_are_fine_and_a_stream_holds_the_answer(url: str) -> None:
    body = {"model": "desk", "messages": USER, "seed": 1, "max_tokens": 4, "n": 1, "top_p": 1.0, "stop": None}
    status, text = await post(url, **body)
    assert status == 200
    (choice,) = json.loads(text)["choices"]
    status, stream = await post(url, **body, stream=True)
    event, end = stream.strip().split("\n\n")
    assert (
        json.loads(event.removeprefix("data: "))["choices"][0]["delta"]["content"] == choice["message"]["content"]
    )
    assert end == "data: [DONE]"


async def test_tools_are_listed_where_the_policy_was_trained_to_read_them(local: TransformersEngine) -> None:
    async with listening(Endpoint(local, "desk", TOKEN, "lines"), 0) as url:
        functions = [
            {"type": "function", "function": {"name": "lookup", "parameters": {"properties": {"code": {}}}}}
        ]
        body = {"model": "desk", "messages": USER, "seed": 1, "max_tokens": 4}
        plain, listed = [
            json.loads((await post(url, **body, tools=tools))[1])["usage"]["prompt_tokens"]
            for tools in ([], functions)
        ]
    assert listed == plain + 3  # <system> @lookup code


async def test_a_taken_port_is_told(url: str, local: TransformersEngine) -> None:
    with pytest.raises(UsageError, match=r"is taken on 127\.0\.0\.1: choose another"):
        async with listening(Endpoint(local, "desk", TOKEN), int(url.split(":")[2].split("/")[0])):
            raise AssertionError("two servers on one port")


async def test_a_checkpoint_is_a_model_though_it_keeps_the_books_of_its_run(folder: Path, tmp_path: Path) -> None:
    """A checkpoint of a run with one learner holds model and `run.json` side by side."""
    step = shutil.copytree(folder, tmp_path / "step-5")
    (step / "run.json").write_text("{}")
    assert await model(str(step), recipe_file.load(DEFAULT_RECIPE), lambda _: None) == step


def test_a_checkpoint_nobody_has_is_told(cli: Any) -> None:
    told = cli("serve", "nothing-here")
    assert told.code == 2
    assert "unknown agent or model 'nothing-here'" in told.err


@pytest.mark.slow
async def test_the_command_says_how_to_reach_it_and_ends_at_ctrl_c(folder: Path) -> None:
    code = "import sys; from simarena.tui.main import main; sys.exit(main())"
    port = free_port()
    process = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", code, "serve", str(folder), "--port", str(port)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert process.stderr is not None
    told = "".join(iter(lambda: process.stderr.readline(), "ctrl+c ends it\n"))  # type: ignore[union-attr]
    found = re.search(r"export OPENAI_BASE_URL=(\S+) OPENAI_API_KEY=(\S+)", told)
    assert found is not None, told
    status, _ = await post(found[1], found[2], model="simarena", messages=USER, max_tokens=2)
    process.send_signal(signal.SIGINT)
    assert (status, process.wait(30)) == (200, 130)
