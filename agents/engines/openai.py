"""The OpenAI-compatible engine: any server that speaks chat completions, hosted or one's own.

For seats that do not learn: users, adversaries, judges, entrants. A server gives no token ids, so completions have
no token record. Owns pace, retries and the count of what was spent; knows no agent and no scenario.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from simarena.agents import completions
from simarena.arena.errors import AgentFault, MissingExtra, UsageError
from simarena.arena.protocols import Completion, GenerateRequest
from simarena.arena.together import together

try:
    import openai
    from openai.types.chat import ChatCompletion
except ModuleNotFoundError as error:
    raise MissingExtra("openai", "pip install 'simarena[openai]'") from error

KEY = "OPENAI_API_KEY"
_NO_KEY = "no-key-needed"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FIXES = {
    401: "the key in {key} is not accepted",
    403: "the key in {key} may not do this",
    404: "look at the model's name and at base_url",
}


@dataclass(slots=True)
class Spent:
    """What an engine has used so far, as the server counts it."""

    requests: int = 0
    read: int = 0
    """Prompt tokens."""
    written: int = 0
    """Completion tokens, hidden thinking among them."""
    dollars: float = 0.0


class OpenAIEngine:
    """An `Engine` over the chat-completions protocol.

    Args:
        model: the model's name on the server.
        policy: the name of this seat's policy.
        base_url: the server, such as `http://127.0.0.1:8000/v1`; left out: $OPENAI_BASE_URL, else OpenAI's.
        key: the environment variable that holds the key. A key itself is never an option: options are recorded.
        calls: `native` sends tools as functions; `text` leaves them out, for servers that know none.
        per_minute: most requests a minute, retries among them.
        concurrency: requests in flight.
        retries: of refused connections, timeouts, 408, 409, 429 and 5xx, each after a longer pause, or after the
            one that the server asks for.
        timeout: seconds for one try.
        price_read, price_written: US dollars for a million tokens.
        budget: US dollars after which nothing more is asked; needs prices. Requests in flight are still paid.

    Rate, budget and count are one engine's: each replica has its own. Raises UsageError for a key that is not set
    or options that do not fit.
    """

    token_records = False

    def __init__(
        self,
        model: str,
        policy: str = "assistant",
        *,
        base_url: str = "",
        key: str = KEY,
        calls: Literal["native", "text"] = "native",
        per_minute: float | None = None,
        concurrency: int = 16,
        retries: int = 5,
        timeout: float = 60.0,
        price_read: float = 0.0,
        price_written: float = 0.0,
        budget: float | None = None,
    ) -> None:
        _check(calls, per_minute, concurrency, retries, timeout, price_read, price_written, budget)
        url = base_url or os.environ.get("OPENAI_BASE_URL", "")
        self.policy, self.spent = policy, Spent()
        self._model, self._calls, self._key_name = model, calls, key
        self._url = url or "https://api.openai.com/v1"
        self._key = _secret(key, self._url)
        self._prices, self._budget = (price_read, price_written), budget
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._free = asyncio.Semaphore(concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._url,
            max_retries=retries,
            timeout=timeout,
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"request": [self._pace]}),
        )

    @property
    def version(self) -> int:
        return 0

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        """One completion per request. Raises AgentFault for what the server refuses, or with the budget spent."""
        return await together(self._complete(request) for request in requests)

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """Raises UsageError: the weights are the server's."""
        raise UsageError(
            f"policy {self.policy!r} is served at {self._url}: its weights cannot be changed from here"
        )

    async def _complete(self, request: GenerateRequest) -> Completion:
        if request.adapter:
            raise UsageError(f"adapter {request.adapter!r}: a served model has no adapters; leave it out")
        async with self._free:
            if self._budget is not None and self.spent.dollars >= self._budget:
                raise AgentFault(
                    f"the budget of policy {self.policy!r} is spent: ${self.spent.dollars:.4f} of "
                    f"${self._budget:g}, {self.spent.requests} requests"
                )
            answer = await self._ask(request)
        if not answer.choices:
            raise AgentFault(f"{self._url} answered without a choice for {request.key!r}")
        reply = completions.reply_of(answer.choices[0].message.model_dump(), request.tools)
        return Completion(text=reply.text, calls=reply.calls, thought=reply.thought)

    async def _ask(self, request: GenerateRequest) -> ChatCompletion:
        try:
            answer: ChatCompletion = await self._client.chat.completions.create(**self._body(request))
        except openai.APITimeoutError:
            raise AgentFault(f"{self._url} gave no answer in time for {request.key!r}", cause="timeout") from None
        except openai.APIStatusError as error:
            raise AgentFault(self._refusal(error)) from None
        except openai.APIConnectionError as error:
            raise AgentFault(f"no server answers at {self._url}: {error.__cause__ or error}") from None
        except openai.OpenAIError as error:
            raise AgentFault(f"{self._url} gave an answer that cannot be read: {error}") from None
        self.spent.requests += 1
        if answer.usage is not None:
            self.spent.read += answer.usage.prompt_tokens
            self.spent.written += answer.usage.completion_tokens
            counts = (answer.usage.prompt_tokens, answer.usage.completion_tokens)
            self.spent.dollars += sum(n * price for n, price in zip(counts, self._prices, strict=True)) / 1e6
        return answer

    def _body(self, request: GenerateRequest) -> dict[str, Any]:
        tools = request.tools if self._calls == "native" else ()
        # OpenAI's newer models refuse the older name; other servers may not know the newer one.
        limit = "max_completion_tokens" if urlsplit(self._url).hostname == "api.openai.com" else "max_tokens"
        body: dict[str, Any] = {
            "model": self._model,
            "messages": completions.messages_of(request.chat, tools),
            "temperature": request.temperature,
            "seed": request.seed,
            limit: request.max_tokens,
        }
        return {**body, "tools": completions.functions_of(tools)} if tools else body

    def _refusal(self, error: openai.APIStatusError) -> str:
        said = error.body.get("message") if isinstance(error.body, dict) else None
        told = str(said or error.message).replace(self._key, "[key]")
        fix = _FIXES.get(error.status_code, "").format(key=self._key_name)
        return f"{self._url} refused model {self._model!r} ({error.status_code}): {told}{fix and f'; {fix}'}"

    async def _pace(self, _request: object) -> None:
        """Wait for this try's place in the minute."""
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now) + self._interval
        await asyncio.sleep(self._next - self._interval - now)


def _secret(name: str, url: str) -> str:
    """The key; a server of this machine may want none."""
    if not name.isidentifier():
        raise UsageError("key must be the name of an environment variable, never the key itself")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"base_url {url!r} is no address: write it as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise UsageError("base_url holds a password: put it into an environment variable and name that in `key`")
    if found := os.environ.get(name, ""):
        return found
    if parts.hostname in _LOOPBACK:
        return _NO_KEY
    raise UsageError(f"environment variable {name} is not set: it must hold the key for {url}")


def _check(
    calls: str,
    per_minute: float | None,
    concurrency: int,
    retries: int,
    timeout: float,
    price_read: float,
    price_written: float,
    budget: float | None,
) -> None:
    if calls not in ("native", "text"):
        raise UsageError(f"calls is {calls!r}: write 'native' or 'text'")
    for name, value in (("per_minute", per_minute), ("concurrency", concurrency), ("timeout", timeout)):
        if value is not None and value <= 0:
            raise UsageError(f"{name} is {value}: it must be more than 0")
    for name, value in (("retries", retries), ("price_read", price_read), ("price_written", price_written)):
        if value < 0:
            raise UsageError(f"{name} is {value}: it cannot be negative")
    if budget is not None and not price_read + price_written > 0:
        raise UsageError(
            f"budget is {budget}, but there is no price to count with: give price_read, price_written"
        )
