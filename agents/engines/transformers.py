"""The transformers engine: any Hugging Face causal language model, all waiting conversations in one batch.

Calls that arrive while a batch runs are merged into the next one. In float32 on a CPU a completion is the same
to the bit whatever else is in the batch or the cache. Knows no agent and no scenario.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from simarena.agents import models, toolcalls
from simarena.agents.chat import ChatCodec, Prompt
from simarena.agents.engines import attention
from simarena.agents.engines.decode import Row, decode
from simarena.agents.engines.kv import KeyStore, Slot
from simarena.agents.engines.sampling import uniforms
from simarena.arena.errors import AgentFault, UsageError
from simarena.arena.protocols import Completion, GenerateRequest
from simarena.arena.tokens import TurnRecord

LINGER = 0.003
"""Seconds without a new call after which a batch begins; little against the passes it saves."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: GenerateRequest
    answer: "asyncio.Future[Completion]"


class TransformersEngine:
    """An `Engine` over `transformers`.

    Args:
        model: a model folder, `smollm2`, or a name in the Hugging Face cache.
        policy: the name of these weights in records.
        max_batch: conversations decoded together.
        cache_mib: most memory for keys and values, in MiB.
        dtype: float32, or bfloat16 where the hardware has it.
        device: `cpu`, or a torch device such as `cuda`; bit-equality is promised on `cpu` alone.

    Raises UsageError if the model cannot be found, read or served. Sets torch to one thread: more of them are
    slower as soon as anything else runs; use more hosts instead.
    """

    def __init__(
        self,
        model: str,
        policy: str = "assistant",
        *,
        max_batch: int = 128,
        cache_mib: int = 1024,
        dtype: models.Dtype = "float32",
        device: str = "cpu",
    ) -> None:
        torch.set_num_threads(1)
        folder = models.locate(model)
        _check_dtype(dtype, device)
        self.policy = policy
        self.model = _load(folder, dtype, device)
        eos = self.model.generation_config.eos_token_id
        self.codec = ChatCodec(
            models.load_tokenizer(folder), eos if isinstance(eos, list) else [eos] if eos else []
        )
        self.forwarded = 0
        """Tokens that went through the model since it was loaded."""
        self._version = 0
        self._max_batch = max_batch
        self._positions: int = self.model.config.get_text_config().max_position_embeddings
        self._store = _store(self.model, cache_mib)
        self._waiting: list[_Waiting] = []
        self._serving: asyncio.Task[None] | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"engine-{policy}")

    @property
    def version(self) -> int:
        return self._version

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        """One completion per request. Raises AgentFault for a prompt that is longer than the model can read."""
        loop = asyncio.get_running_loop()
        waiting = [_Waiting(request, loop.create_future()) for request in requests]
        self._waiting += waiting
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        return list(await asyncio.gather(*(one.answer for one in waiting)))

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """Replace every weight. Raises UsageError if a name or shape is not the model's; then nothing changes.

        Of tied weights, one is enough. Waits for the batch that is running; those behind it get the new weights.
        """
        await asyncio.get_running_loop().run_in_executor(self._worker, self._replace, version, weights)

    async def _serve(self) -> None:
        while self._waiting:
            await self._linger()
            batch, self._waiting = self._waiting, []
            batch = [one for one in batch if not one.answer.done()]  # a deadline may have cancelled it
            answers = await asyncio.get_running_loop().run_in_executor(
                self._worker, self._complete, [one.request for one in batch]
            )
            for one, answer in zip(batch, answers, strict=True):
                if one.answer.done():
                    continue
                if isinstance(answer, Exception):
                    one.answer.set_exception(answer)
                else:
                    one.answer.set_result(answer)

    async def _linger(self) -> None:
        """Let calls of about the same moment into one batch: wait while more keep coming."""
        seen = 0
        while seen < len(self._waiting) < self._max_batch:
            seen = len(self._waiting)
            await asyncio.sleep(LINGER)

    def _complete(self, requests: Sequence[GenerateRequest]) -> list[Completion | Exception]:
        """Runs in the worker thread. One request's fault does not touch the others."""
        answers: dict[int, Completion | Exception] = {}
        prompts: dict[int, Prompt] = {}
        for place, request in enumerate(requests):
            try:
                prompts[place] = self._prompt(request)
            except Exception as error:  # whatever failed, those who wait must hear of it
                answers[place] = error
        try:
            answers |= self._decode(requests, prompts)
        except Exception as error:
            answers |= dict.fromkeys(prompts, error)
        return [answers[place] for place in range(len(requests))]

    def _prompt(self, request: GenerateRequest) -> Prompt:
        if request.max_tokens < 1:
            raise UsageError(f"max_tokens is {request.max_tokens}: ask for at least 1")
        prompt = self.codec.prompt(request.chat, request.trail)
        if len(_all_ids(request, prompt)) >= self._positions:
            raise AgentFault(
                f"the prompt of {request.key!r} fills the {self._positions} positions of policy {self.policy!r}: "
                f"allow fewer turns"
            )
        return prompt

    def _decode(self, requests: Sequence[GenerateRequest], prompts: Mapping[int, Prompt]) -> dict[int, Completion]:
        answers: dict[int, Completion] = {}
        todo = list(prompts)
        while todo:
            self._store.reserve(max(self._limit(requests[place], prompts[place]) for place in todo))
            size = min(self._max_batch, self._store.rows)
            batch, todo = todo[:size], todo[size:]
            slots = self._store.take([requests[place].key for place in batch])
            rows = {
                place: self._row(requests[place], prompts[place], slot)
                for place, slot in zip(batch, slots, strict=True)
            }
            self.forwarded += decode(self.model, self._store, list(rows.values()))
            answers |= {place: self._answer(requests[place], prompts[place], row) for place, row in rows.items()}
        return answers

    def _limit(self, request: GenerateRequest, prompt: Prompt) -> int:
        """Length of the conversation when this turn has sampled all it may."""
        return min(len(_all_ids(request, prompt)) + request.max_tokens, self._positions)

    def _row(self, request: GenerateRequest, prompt: Prompt, slot: Slot) -> Row:
        ids = _all_ids(request, prompt)
        return Row(
            ids=ids,
            slot=slot,
            stops=self.codec.stops,
            temperature=request.temperature,
            uniforms=uniforms(request.seed, self._limit(request, prompt) - len(ids)),
        )

    def _answer(self, request: GenerateRequest, prompt: Prompt, row: Row) -> Completion:
        text, thought = self.codec.read(row.sampled)
        reply = toolcalls.parse(text, request.tools)
        record = TurnRecord(
            policy=self.policy,
            version=self._version,
            start=prompt.start,
            fed=prompt.fed,
            sampled=tuple(row.sampled),
            logprobs=tuple(row.logprobs),
            finish="stop" if row.sampled[-1] in self.codec.stops else "length",
            temperature=request.temperature,
        )
        return Completion(text=reply.text, calls=reply.calls, thought=thought, record=record)

    def _replace(self, version: int, weights: Mapping[str, Any]) -> None:
        own = self.model.state_dict()
        unknown = sorted(weights.keys() - own.keys())
        given = {own[name].data_ptr() for name in weights.keys() & own.keys()}
        missing = sorted(name for name, tensor in own.items() if tensor.data_ptr() not in given)
        if unknown or missing:
            raise UsageError(
                f"version {version} of {self.policy!r} does not fit: unknown {unknown}, missing {missing}"
            )
        new = {
            name: array if isinstance(array, Tensor) else torch.tensor(array) for name, array in weights.items()
        }
        for name, tensor in new.items():
            if tensor.shape != own[name].shape:
                raise UsageError(f"weight {name!r} has shape {tuple(tensor.shape)}, not {tuple(own[name].shape)}")
        for name, tensor in new.items():
            own[name].copy_(tensor)
        self._version = version
        self._store.clear()


def _all_ids(request: GenerateRequest, prompt: Prompt) -> list[int]:
    held = () if prompt.start or request.trail is None else request.trail.ids
    return [*held, *prompt.fed]


def _load(folder: Path, dtype: models.Dtype, device: str) -> PreTrainedModel:
    model = models.load_model(folder, dtype, attention=attention.NAME)
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ())
    if not model._supports_attention_backend or kinds - {"full_attention", "sliding_attention"}:
        raise UsageError(f"the transformers engine cannot serve {type(model).__name__}: its attention is its own")
    return model.to(device).requires_grad_(False)


def _store(model: PreTrainedModel, cache_mib: int) -> KeyStore:
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    return KeyStore(
        layers=config.num_hidden_layers,
        heads=getattr(config, "num_key_value_heads", None) or heads,
        depth=getattr(config, "head_dim", None) or config.hidden_size // heads,
        budget=cache_mib * 2**20,
        dtype=model.dtype,
        device=model.device,
    )


def _check_dtype(dtype: models.Dtype, device: str) -> None:
    """bfloat16 without hardware support is emulated, and several times slower than float32."""
    native = torch.cuda.is_bf16_supported() if device != "cpu" else torch.cpu._is_avx512_bf16_supported()
    if dtype == "bfloat16" and not native:
        raise UsageError(f"device {device!r} has no native bfloat16: use float32")
