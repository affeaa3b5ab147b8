"""The endpoint: one engine as an OpenAI-compatible server on loopback, for whoever holds the token.

A request names its model, and every setting in it either counts or is refused: none is ignored that would change
the answer. Knows no checkpoint and no command.
"""

import hmac
import itertools
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

from simarena.agents import completions, toolcalls
from simarena.arena.errors import Fault, MissingExtra, UnknownName, UsageError
from simarena.arena.messages import Tool
from simarena.arena.protocols import ChatTurn, Completion, Engine, GenerateRequest

try:
    from aiohttp import web
except ModuleNotFoundError as error:
    raise MissingExtra("aiohttp", "pip install 'simarena[serve]'") from error

HOST = "127.0.0.1"
TOKENS = 256
"""Of an answer, where the request does not say."""
_READ = ("model", "messages", "tools", "temperature", "max_tokens", "max_completion_tokens", "seed", "stream")
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "top_p": (1,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logprobs": (False,),
    "tool_choice": ("auto",),
    "parallel_tool_calls": (True,),
    "stop": ([],),
    "response_format": ({"type": "text"},),
}
"""Settings that this endpoint does not have, with the value that asks for nothing; null does too."""
_SILENT = ("user", "metadata", "store", "stream_options", "safety_identifier", "prompt_cache_key", "service_tier")
"""Settings that never change an answer."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Endpoint:
    """Serves `engine` under the name `model`.

    `tools` says how the policy was trained to find tools in its prompt: not at all, or one line each.
    """

    def __init__(self, engine: Engine, model: str, token: str, tools: Literal["none", "lines"] = "none") -> None:
        self._engine, self._model, self._token, self._tools = engine, model, token, tools
        self._number = itertools.count(1)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=4 * 2**20)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Whoever comes holds the token and comes to our own address; every refusal is JSON with a fix."""
        if request.url.host not in (HOST, "localhost"):  # also keeps out names that were made to lead here
            return _refusal(403, "this endpoint answers to its own address only")
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return _refusal(401, "a token is needed: send the one that `simarena serve` printed as the API key")
        try:
            return await handler(request)
        except UnknownName as error:
            return _refusal(404 if error.what == "model" else 400, str(error))
        except (UsageError, Fault) as error:
            return _refusal(400, str(error))
        except web.HTTPException as error:
            known = "POST /v1/chat/completions, GET /v1/models"
            return _refusal(error.status, f"{request.method} {request.path}: {error.reason}; there is {known}")

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {"object": "list", "data": [{"id": self._model, "object": "model", "owned_by": "simarena"}]}
        )

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = _body(await request.read())
        if body.get("model") != self._model:
            raise UnknownName("model", str(body.get("model")), [self._model])
        id = f"chatcmpl-{next(self._number)}"
        (completion,) = await self._engine.generate([self._request(id, body)])
        answer = self._answer(id, completion)
        return await _streamed(request, answer) if body.get("stream") else web.json_response(answer)

    def _request(self, id: str, body: Mapping[str, Any]) -> GenerateRequest:
        tools = completions.tools_of(_list(body, "tools"))
        chat = completions.chat_of(_list(body, "messages"), tools)
        limit = _number(body, "max_completion_tokens", _number(body, "max_tokens", TOKENS, 1, int), 1, int)
        return GenerateRequest(
            key=id,
            chat=_with_lines(chat, tools) if self._tools == "lines" else chat,
            seed=int(_number(body, "seed", secrets.randbits(63), -(2**63), int)) % 2**63,
            tools=tools,
            max_tokens=int(limit),
            temperature=float(_number(body, "temperature", 1.0, 0.0, float)),
        )

    def _answer(self, id: str, completion: Completion) -> dict[str, Any]:
        reply = completions.Reply(completion.text, completion.calls, completion.thought)
        record = completion.record
        read, written = (len(record.fed), len(record.sampled)) if record is not None else (0, 0)
        clipped = record is not None and record.finish == "length"
        return {
            "id": id,
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self._model,
            "choices": [
                {
                    "index": 0,
                    "message": completions.message_of(reply),
                    "finish_reason": "length" if clipped else "tool_calls" if reply.calls else "stop",
                    "logprobs": None,
                }
            ],
            "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        }


@asynccontextmanager
async def listening(endpoint: Endpoint, port: int) -> AsyncIterator[str]:
    """Open it; gives the base URL. Raises UsageError if the port is taken."""
    runner = web.AppRunner(endpoint.app(), access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError:
            raise UsageError(f"port {port} is taken on {HOST}: choose another with --port") from None
        yield f"http://{HOST}:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _streamed(request: web.Request, answer: Mapping[str, Any]) -> web.StreamResponse:
    """The whole answer as one event, for clients that only know how to stream."""
    (choice,) = answer["choices"]
    calls = [{"index": place, **call} for place, call in enumerate(choice["message"].get("tool_calls", ()))]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    event = {"index": 0, "delta": delta, "finish_reason": choice["finish_reason"]}
    told = {**answer, "object": "chat.completion.chunk", "choices": [event]}
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    await response.write(f"data: {json.dumps(told)}\n\ndata: [DONE]\n\n".encode())
    await response.write_eof()
    return response


def _refusal(status: int, text: str) -> web.Response:
    kind = "authentication_error" if status == 401 else "invalid_request_error"
    error = {"message": text, "type": kind, "param": None, "code": None}
    return web.json_response({"error": error}, status=status)


def _body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise UsageError("the body must be a JSON object")
    for name, value in body.items():
        if name not in (*_READ, *_NEUTRAL, *_SILENT):
            raise UnknownName("setting", name, (*_READ, *_NEUTRAL, *_SILENT))
        if name in _NEUTRAL and value is not None and value not in _NEUTRAL[name]:
            raise UsageError(f"{name} is {json.dumps(value)}: this endpoint has no such setting, leave it out")
    return body


def _list(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = body.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise UsageError(f"{name} must be a list of objects")
    return value


def _number(body: Mapping[str, Any], name: str, default: float, least: float, kind: type) -> float:
    value = body.get(name)
    if value is None:
        return default
    fits = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
    if not fits or not least <= value < 2**63:
        raise UsageError(f"{name} is {json.dumps(value)}: write a number of at least {least:g}")
    return float(value) if kind is float else int(value)


def _with_lines(chat: tuple[ChatTurn, ...], tools: tuple[Tool, ...]) -> tuple[ChatTurn, ...]:
    """The chat with a signature of each tool at the end of its system turn, as in training."""
    head = chat[0].content if chat[0].role == "system" else ""
    text = "\n".join(line for line in (head, *map(toolcalls.signature, tools)) if line)
    rest = chat[1:] if chat[0].role == "system" else chat
    return (ChatTurn("system", text), *rest) if text else chat
