"""The transformers engine: any Hugging Face causal language model, all waiting conversations in one batch.

The batch never stops to fill up: a conversation joins it as soon as there is room, and is answered as soon as its
own turn ends. In float32 on a CPU a completion is the same to the bit whatever else is in the batch or the cache.
Knows no agent and no scenario.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import PreTrainedModel

from simarena.agents import models
from simarena.agents.engines import attention
from simarena.agents.engines.decode import Batch, Row
from simarena.agents.engines.eyes import Eyes
from simarena.agents.engines.kv import KeyStore
from simarena.agents.engines.sampling import uniforms
from simarena.agents.engines.turns import TurnWriter, Written
from simarena.agents.engines.weights import fitted
from simarena.agents.precision import Dtype, chosen
from simarena.arena.errors import UsageError
from simarena.arena.protocols import Completion, GenerateRequest
from simarena.arena.together import together

LINGER = 0.003
"""Seconds without a new call after which an idle engine begins; little against the passes it saves."""


@dataclass(frozen=True, slots=True)
class _Update:
    """New weights that wait for the running batch to end."""

    version: int
    weights: Mapping[str, Any]
    answer: "asyncio.Future[None]"


@dataclass(eq=False, slots=True)
class _Turn:
    """A request on its way: arrived, then written out, then a row of the batch."""

    request: GenerateRequest
    answer: "asyncio.Future[Completion]"
    written: Written | None = None
    named: list[int] | None = None
    """Its ids with those of pictures told apart."""
    row: Row | None = None

    @property
    def length(self) -> int:
        """Of the conversation, when this turn has sampled all it may."""
        return 0 if self.written is None else len(self.written.ids) + self.written.most


_Answer = tuple["_Turn | _Update", Completion | Exception | None]


class TransformersEngine:
    """An `Engine` over `transformers`.

    Args:
        model: a model folder, `smollm2`, or a name in the Hugging Face cache.
        policy: the name of these weights in records.
        max_batch: conversations decoded together.
        cache_mib: most memory for keys and values, in MiB.
        dtype: float32, bfloat16 where the hardware has it, or auto: what a product is faster in here.
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
        dtype: Dtype | Literal["auto"] = "float32",
        device: str = "cpu",
    ) -> None:
        torch.set_num_threads(1)
        folder = models.locate(model)
        self.policy = policy
        self.model = _load(folder, chosen(dtype, device), device)
        self._version = 0
        self._max_batch = max_batch
        self._eyes = Eyes(self.model, folder) if hasattr(self.model.config, "vision_config") else None
        self._writer = TurnWriter(
            folder,
            policy,
            self.model.config.get_text_config().max_position_embeddings,
            picture=(self._eyes.token, self._eyes.count) if self._eyes else None,
        )
        self.codec = self._writer.codec
        self._store = _store(self.model, cache_mib)
        self._batch = Batch(self.model, self._store, self._eyes.embed if self._eyes else None)
        self._arrived: deque[_Turn | _Update] = deque()
        """Put in by the event loop, taken out by the worker, who owns all that follows."""
        self._waiting: deque[_Turn | _Update] = deque()
        self._running: list[_Turn] = []
        self._serving: asyncio.Task[None] | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"engine-{policy}")

    @property
    def version(self) -> int:
        return self._version

    @property
    def forwarded(self) -> int:
        """Tokens that went through the model since it was loaded."""
        return self._batch.forwarded

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        """One completion per request. Raises AgentFault for a prompt that is longer than the model can read."""
        loop = asyncio.get_running_loop()
        turns = [_Turn(request, loop.create_future()) for request in requests]
        self._enqueue(turns)
        return await together(turn.answer for turn in turns)

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """Replace every weight. Raises UsageError if a name or shape is not the model's; then nothing changes.

        Of tied weights, one is enough. Waits for the turns before it; those behind it get the new weights.
        """
        update = _Update(version, weights, asyncio.get_running_loop().create_future())
        self._enqueue([update])
        await update.answer

    def _enqueue(self, work: Sequence[_Turn | _Update]) -> None:
        self._arrived += work
        if self._serving is None or self._serving.done():
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        await self._linger()
        while self._arrived or self._waiting or self._running:
            for one, result in await loop.run_in_executor(self._worker, self._advance):
                if one.answer.done():  # a deadline may have cancelled it
                    continue
                if isinstance(result, Exception):
                    one.answer.set_exception(result)
                else:
                    one.answer.set_result(result)  # type: ignore[arg-type]  # None for an update alone

    async def _linger(self) -> None:
        """Let calls of about the same moment begin together: wait while more keep coming."""
        seen = 0
        while seen < len(self._arrived) < self._max_batch:
            seen = len(self._arrived)
            await asyncio.sleep(LINGER)

    def _advance(self) -> list[_Answer]:
        """Runs in the worker thread: let in who waits and make passes, until something can be answered."""
        answers: list[_Answer] = []
        while not answers:
            self._dismiss()
            answers += self._receive()
            answers += self._admit()
            if not self._running:
                break
            answers += self._step()
        return answers

    def _dismiss(self) -> None:
        """Drop turns that nobody waits for any more."""
        gone = [turn for turn in self._running if turn.answer.done()]
        if gone:
            self._running = [turn for turn in self._running if not turn.answer.done()]
            self._batch.remove([turn.row for turn in gone if turn.row])

    def _receive(self) -> list[_Answer]:
        """Write the prompts of those who have arrived. One's fault does not touch the others."""
        answers: list[_Answer] = []
        while self._arrived:
            one = self._arrived.popleft()
            try:
                if isinstance(one, _Turn):
                    one.written = self._writer.write(one.request)
                    one.named = self._named(one.written)
                self._waiting.append(one)
            except Exception as error:  # whatever failed, those who wait must hear of it
                answers.append((one, error))
        return answers

    def _named(self, written: Written) -> list[int] | None:
        images = [image for turn in written.request.chat for image in turn.images]
        return self._eyes.name(written.ids, images) if self._eyes and images else None

    def _admit(self) -> list[_Answer]:
        """Let in those who wait, in their order, as far as there is room."""
        answers: list[_Answer] = []
        while self._waiting:
            head = self._waiting[0]
            if isinstance(head, _Turn):
                if not head.answer.done() and not self._start(head):
                    break
            elif self._running:  # of the old weights
                break
            else:
                answers.append((head, self._update(head)))
            self._waiting.popleft()
        return answers

    def _start(self, turn: _Turn) -> bool:
        """Make a turn a row of the batch; False if there is no room yet."""
        if len(self._running) >= self._max_batch or not self._has_room(turn) or self._store.full:
            return False
        request, written = turn.request, turn.written
        assert written is not None
        turn.row = Row(
            ids=turn.named or list(written.ids),
            slot=self._store.take(request.key),
            stops=self.codec.stops,
            temperature=request.temperature,
            uniforms=uniforms(request.seed, written.most),
        )
        self._batch.add(turn.row)
        self._running.append(turn)
        return True

    def _has_room(self, turn: _Turn) -> bool:
        """Whether its tokens fit into a slot, longer ones if need be: then long enough for all who wait."""
        if turn.length <= self._store.capacity:
            return True
        return self._store.reserve(max(one.length for one in self._waiting if isinstance(one, _Turn)))

    def _update(self, update: _Update) -> Exception | None:
        try:
            self._replace(update.version, update.weights)
        except Exception as error:
            return error
        return None

    def _step(self) -> list[_Answer]:
        try:
            ended = {id(row) for row in self._batch.step()}
        except Exception as error:
            failed, self._running = self._running, []
            self._batch.remove([turn.row for turn in failed if turn.row])
            return [(turn, error) for turn in failed]
        done = [turn for turn in self._running if id(turn.row) in ended]
        self._running = [turn for turn in self._running if id(turn.row) not in ended]
        return [(turn, self._answer(turn)) for turn in done]

    def _answer(self, turn: _Turn) -> Completion:
        assert turn.written is not None
        assert turn.row is not None
        return self._writer.read(turn.written, turn.row.sampled, turn.row.logprobs, self._version)

    def _replace(self, version: int, weights: Mapping[str, Any]) -> None:
        new = fitted(self.model, self.policy, version, weights)
        own = self.model.state_dict()
        for name, tensor in new.items():
            own[name].copy_(tensor)
        self._version = version
        self._store.clear()
        if self._eyes:
            self._eyes.forget()


def _load(folder: Path, dtype: Dtype, device: str) -> PreTrainedModel:
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
