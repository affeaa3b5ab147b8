"""Models on disk: where a name leads, and how a model and its tokenizer are read and written.

Everything is local: nothing here reaches a network. Knows no engine and no training.
"""

import os
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

from simarena.agents import smollm2
from simarena.agents.precision import Dtype
from simarena.arena.errors import UsageError

logging.disable_progress_bar()  # a bar per reload would drown the run's own progress


def locate(name: str | os.PathLike[str]) -> Path:
    """The folder of a model: `smollm2`, a folder in the Hugging Face format, or a name in the hub's local cache.

    Raises UsageError with what to do, MissingExtra if `smollm2` is not installed.
    """
    if name == smollm2.NAME:
        return smollm2.folder()
    path = Path(name).expanduser()
    if (path / "config.json").is_file():
        return path
    if path.exists():
        raise UsageError(f"{str(name)!r} is not a model folder: it holds no config.json")
    try:
        return Path(snapshot_download(str(name), local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        raise UsageError(
            f"no model {str(name)!r}: give a model folder, `smollm2`, or a name already in the Hugging Face cache "
            f"(`hf download NAME`)"
        ) from None


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a model folder. Raises UsageError if it cannot be read."""
    try:
        tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"cannot read the tokenizer in {str(folder)!r}: {_first_line(error)}") from None
    if not tokenizer.is_fast:
        raise UsageError(
            f"the tokenizer in {str(folder)!r} has no tokenizer.json: save it once as a fast tokenizer"
        )
    return tokenizer


def load_model(folder: Path, dtype: Dtype = "float32", attention: str = "sdpa") -> PreTrainedModel:
    """The causal language model of a folder, in eval mode; `attention` is that of its text.

    A model that also sees comes whole. Raises UsageError if it cannot be read.
    """
    try:
        sees = hasattr(AutoConfig.from_pretrained(folder, local_files_only=True), "vision_config")
        model: PreTrainedModel = (AutoModelForImageTextToText if sees else AutoModelForCausalLM).from_pretrained(
            folder,
            dtype=getattr(torch, dtype),
            attn_implementation={"": "sdpa", "text_config": attention} if sees else attention,
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise UsageError(f"cannot read the model in {str(folder)!r}: {_first_line(error)}") from None
    return model.eval()


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write both in the Hugging Face format (safetensors)."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
