"""From a request to ids and back: what every engine that samples here does before and after sampling.

Knows no model weights and no batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transformers import AutoConfig, GenerationConfig

from simarena.agents import models, toolcalls
from simarena.agents.chat import ChatCodec, Ids
from simarena.arena.errors import AgentFault, UsageError
from simarena.arena.protocols import Completion, GenerateRequest
from simarena.arena.tokens import TurnRecord


@dataclass(frozen=True, slots=True)
class Written:
    """A request as the model reads it."""

    request: GenerateRequest
    ids: list[int]
    """The whole prompt, what its trail holds among it."""
    fed: Ids
    """What of it the trail does not hold."""
    start: bool
    """Whether `fed` is all of it."""
    most: int
    """Tokens that may be sampled: as many as asked for, or as the model has positions left."""


class TurnWriter:
    """Writes prompts and reads replies for one policy with this many `positions`, which may have `adapters`.

    `picture` is as for `ChatCodec`.

    Raises UsageError for a tokenizer that cannot serve a chat.
    """

    def __init__(
        self,
        folder: Path,
        policy: str,
        positions: int,
        *,
        adapters: bool = False,
        picture: tuple[int, int] | None = None,
    ) -> None:
        self._policy, self._positions, self._adapters = policy, positions, adapters
        self.codec = ChatCodec(models.load_tokenizer(folder), _ends(folder), picture)

    def write(self, request: GenerateRequest) -> Written:
        """Raises AgentFault for a prompt that is longer than the model can read, UsageError for no room at all."""
        if request.max_tokens < 1:
            raise UsageError(f"max_tokens is {request.max_tokens}: ask for at least 1")
        if request.adapter and not self._adapters:
            raise UsageError(
                f"adapter {request.adapter!r}: the engine of policy {self._policy!r} has no adapters; use the "
                "engine vllm with adapters = 1 or more"
            )
        prompt = self.codec.prompt(request.chat, request.trail)
        held = () if prompt.start or request.trail is None else request.trail.ids
        ids = [*held, *prompt.fed]
        left = self._positions - len(ids)
        if left < 1:
            raise AgentFault(
                f"the prompt of {request.key!r} fills the {self._positions} positions of policy {self._policy!r}: "
                f"allow fewer turns"
            )
        return Written(request, ids, prompt.fed, prompt.start, min(request.max_tokens, left))

    def read(
        self, written: Written, sampled: Sequence[int], logprobs: Sequence[float], version: int
    ) -> Completion:
        """The completion with its token record."""
        text, thought = self.codec.read(sampled)
        reply = toolcalls.parse(text, written.request.tools)
        record = TurnRecord(
            policy=self._policy,
            version=version,
            start=written.start,
            fed=written.fed,
            sampled=tuple(sampled),
            logprobs=tuple(logprobs),
            finish="stop" if sampled[-1] in self.codec.stops else "length",
            temperature=written.request.temperature,
        )
        return Completion(text=reply.text, calls=reply.calls, thought=thought, record=record)


def _ends(folder: Path) -> list[int]:
    """The ids at which the model's configuration says to stop."""
    kind = GenerationConfig if (folder / "generation_config.json").is_file() else AutoConfig
    eos = kind.from_pretrained(folder, local_files_only=True).eos_token_id
    return eos if isinstance(eos, list) else [] if eos is None else [eos]
