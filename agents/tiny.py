"""The built-in tiny policy: a small Llama over a word-level vocabulary, made from a list of words.

Saved in the Hugging Face format, so everything else treats it like any other model. It can only say words of
its vocabulary; whatever it reads beside them is `<unk>`. Knows no scenario and no training.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from simarena.agents import models
from simarena.arena.errors import UsageError

UNKNOWN, END = "<unk>", "<end>"
ROLES = ("<system>", "<user>", "<assistant>", "<tool>")
CONTROL = (UNKNOWN, END, *ROLES)
WORD = r"@?[\w']+|[^\w\s]"
"""What counts as one word: letters and digits, with `@` before a tool's name; any other sign by itself."""

# One marker opens a turn; only the policy's own turns need an end, because only they are sampled.
TEMPLATE = (
    "{% for message in messages %}{{ '<' + message['role'] + '>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<end>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the network; the default has 0.66M parameters at 100 words."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 1
    intermediate: int = 320
    positions: int = 2048
    rope_theta: float = 500.0
    """Conversations are a few hundred tokens long; with slower rotations copying is learned later."""
    spread: float = 0.08
    """Standard deviation of the initial weights; at the usual 0.02 so small a net learns far slower."""


def build(words: Iterable[str], folder: Path, *, seed: int, shape: Shape = Shape()) -> Path:
    """Write tokenizer and untrained model into `folder`; equal arguments give equal files. Returns the folder.

    `words` may be texts; their words are taken apart as the tokenizer does. Raises UsageError if none is left.
    """
    tokenizer = _tokenizer(words)
    model = _model(len(tokenizer), tokenizer.convert_tokens_to_ids(END), seed, shape)
    models.save(model, tokenizer, folder)
    return folder


def vocabulary(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct words of these texts, sorted."""
    split = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    return tuple(sorted({word for text in texts for word, _ in split.pre_tokenize_str(text.lower())}))


def _tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    words = vocabulary(texts)
    if not words:
        raise UsageError("a tiny policy needs at least one word: give it the scenario's lexicon")
    table = {word: place for place, word in enumerate((*CONTROL, *words))}
    core = Tokenizer(WordLevel(table, unk_token=UNKNOWN))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    core.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix="##", cleanup=False),
            *(decoders.Replace(f" {mark}", mark) for mark in ".,;:!?"),
            decoders.Replace(" @", "\n@"),  # a tool call is a line of its own, and words carry no line breaks
        ]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token=UNKNOWN,
        eos_token=END,
        pad_token=END,
        additional_special_tokens=list(ROLES),
        clean_up_tokenization_spaces=False,
        model_max_length=10**9,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _model(vocabulary_size: int, end: int, seed: int, shape: Shape) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.positions,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        initializer_range=shape.spread,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
    )
    with torch.random.fork_rng(devices=[]):  # initialisation draws from torch's global generator
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).float()
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    return model
