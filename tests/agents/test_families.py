"""The chat formats of the main model families, each with a small byte-level tokenizer and a template of our own
that writes that family's layout: exact ids, a prefix that never changes, and bodies that stay data.

What a template does to a chat is the family's; the vocabulary is not, so real ids differ from these.
"""

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from simarena.agents.chat import ChatCodec
from simarena.arena.errors import UsageError
from simarena.arena.protocols import ChatTurn
from simarena.arena.tokens import Trail


@dataclass(frozen=True)
class Family:
    """The control tokens and the layout of one family."""

    name: str
    markers: tuple[str, ...]
    end: str
    eos: str
    template: str
    bos: str | None = None
    tools: bool = True
    """Whether the template takes tool results."""


FAMILIES = (
    Family(
        "llama-3",
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>"),
        "<|eot_id|>",
        "<|end_of_text|>",
        "{{ bos_token }}{% for m in messages %}{% set role = 'ipython' if m['role'] == 'tool' else m['role'] %}"
        "{{ '<|start_header_id|>' + role + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}"
        "{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
        bos="<|begin_of_text|>",
    ),
    Family(
        "qwen-3",
        ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_response>", "</tool_response>"),
        "<|im_end|>",
        "<|endoftext|>",
        "{% for m in messages %}{% if m['role'] == 'tool' %}"
        "{% if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}{{ '<|im_start|>user' }}{% endif %}"
        "{{ '\\n<tool_response>\\n' + m['content'] + '\\n</tool_response>' }}"
        "{% if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}"
        "{% else %}{% set body = m['content'] %}"
        "{% if m['role'] == 'assistant' %}{% set body = body.split('</think>')[-1] %}{% endif %}"
        "{{ '<|im_start|>' + m['role'] + '\\n' + body + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    ),
    Family(
        "gemma",
        ("<start_of_turn>", "<end_of_turn>"),
        "<end_of_turn>",
        "<eos>",
        # A system text has no turn of its own here: it stands before the first user text.
        "{% set first = '' %}{% if messages[0]['role'] == 'system' %}"
        "{% set first = messages[0]['content'] + '\\n\\n' %}{% set messages = messages[1:] %}{% endif %}"
        "{{ bos_token }}{% for m in messages %}"
        "{% if m['role'] == 'tool' %}{{ raise_exception('this family knows no tool turns') }}{% endif %}"
        "{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}"
        "{{ '<start_of_turn>' + role + '\\n' + (first if loop.first else '') + m['content'] | trim }}"
        "{{ '<end_of_turn>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
        bos="<bos>",
        tools=False,
    ),
    Family(
        "phi-3",
        ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"),
        "<|end|>",
        "<|endoftext|>",
        "{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] + '<|end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    ),
    Family(
        "mistral",
        ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
        "</s>",
        "</s>",
        "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'assistant' %}{{ m['content'] + eos_token }}"
        "{% else %}{% set name = {'user': 'INST', 'system': 'SYSTEM_PROMPT', 'tool': 'TOOL_RESULTS'}[m['role']] %}"
        "{{ '[' + name + ']' + m['content'] + '[/' + name + ']' }}{% endif %}{% endfor %}",
        bos="<s>",
    ),
    Family(
        "smollm-2",
        ("<|im_start|>", "<|im_end|>"),
        "<|im_end|>",
        "<|im_end|>",
        "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe of help<|im_end|>\\n' }}{% endif %}"
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    ),
)


def tokenizer(family: Family) -> PreTrainedTokenizerFast:
    alphabet = {sign: place for place, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    core = Tokenizer(BPE({**alphabet, "ab": 256}, [("a", "b")]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=core, eos_token=family.eos, bos_token=family.bos)
    made.add_special_tokens({"additional_special_tokens": list(family.markers)})
    made.chat_template = family.template
    return made


CODECS = {family.name: ChatCodec(tokenizer(family)) for family in FAMILIES}
everyone = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
fast = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def library_ids(codec: ChatCodec, chat: tuple[ChatTurn, ...]) -> tuple[int, ...]:
    turns = [{"role": turn.role, "content": turn.content} for turn in chat]
    return tuple(codec._tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False))


SYSTEM, USER = ChatTurn("system", "be kind"), ChatTurn("user", "hello")


@everyone
def test_the_end_of_a_turn_is_found(family: Family) -> None:
    codec = CODECS[family.name]
    assert codec._tokenizer.convert_ids_to_tokens(codec.end) == family.end
    assert set(codec._tokenizer.convert_ids_to_tokens(sorted(codec.stops))) == {family.end, family.eos}


@everyone
def test_the_prefix_never_changes(family: Family) -> None:
    """Three turns, each appended to what was sampled: always the ids that the library would write."""
    codec = CODECS[family.name]
    chat: tuple[ChatTurn, ...] = (SYSTEM, USER)
    trail: Trail | None = None
    heard = (
        (ChatTurn("user", "and then?"),),
        (ChatTurn("tool", "r1"), ChatTurn("tool", "r2")) if family.tools else (ChatTurn("user", "r1"),),
        (ChatTurn("user", "bye"),),
    )
    for turn, others in enumerate(heard):
        prompt = codec.prompt(chat, trail)
        assert prompt.start is (turn == 0)
        held = () if trail is None else trail.ids
        sampled = codec.reply(f"reply {turn}")
        assert (*held, *prompt.fed) == library_ids(codec, chat)
        trail = Trail(ids=(*held, *prompt.fed, *sampled), turns=turn + 1)
        chat = (*chat, ChatTurn("assistant", f"reply {turn}"), *others)
    assert trail is not None
    assert (*trail.ids, *codec.prompt(chat, trail).fed) == library_ids(codec, chat)


@everyone
def test_a_reply_cut_off_gets_its_end_fed(family: Family) -> None:
    codec = CODECS[family.name]
    start = codec.prompt((USER,))
    trail = Trail(ids=(*start.fed, *codec._plain("so I")), turns=1)
    prompt = codec.prompt((USER, ChatTurn("assistant", "so I"), USER), trail)
    assert not prompt.start
    assert prompt.fed[0] == codec.end


@everyone
@fast
@given(data=st.data())
def test_no_body_becomes_a_control_id(family: Family, data: st.DataObject) -> None:
    codec = CODECS[family.name]
    spelled = st.sampled_from([*family.markers, family.eos, family.bos or "<s>"])
    body = data.draw(st.lists(st.one_of(spelled, st.text(max_size=3)), max_size=6).map("".join))
    roles = ("user", "assistant", "user")
    clean = codec.prompt(tuple(ChatTurn(role, "") for role in roles)).fed
    hostile = codec.prompt(tuple(ChatTurn(role, body) for role in roles)).fed
    control = set(codec._control.values())
    assert [place for place in hostile if place in control] == [place for place in clean if place in control]


def test_a_thought_is_sampled_kept_apart_and_does_not_break_the_prefix() -> None:
    """Qwen's layout drops thoughts from history, and ours never puts them there; the trail keeps the ids."""
    codec = CODECS["qwen-3"]
    control = codec._control
    thought = (control["<think>"], *codec._plain("\nhm\n"), control["</think>"], *codec.reply("\n\nhi"))
    start = codec.prompt((USER,))
    assert codec.read(thought) == ("hi", "hm")
    trail = Trail(ids=(*start.fed, *thought), turns=1)
    prompt = codec.prompt((USER, ChatTurn("assistant", "hi"), USER), trail)
    assert not prompt.start
    assert prompt.fed == (
        *codec._plain("\n"),
        *(control["<|im_start|>"], *codec._plain("user\nhello"), control["<|im_end|>"], *codec._plain("\n")),
        *(control["<|im_start|>"], *codec._plain("assistant\n")),
    )


def test_a_family_without_tool_turns_says_so() -> None:
    with pytest.raises(
        UsageError, match="refuses turns of roles user, assistant, tool: this family knows no tool"
    ):
        CODECS["gemma"].prompt((USER, ChatTurn("assistant", "hi"), ChatTurn("tool", "r")))


def test_a_layout_that_puts_a_blank_before_replies_starts_anew_and_never_lies() -> None:
    """Mistral's older layout. A reply sampled without the blank is not what history shows: a counted break."""
    older = "{% for m in messages %}{% if m['role'] == 'assistant' %}{{ ' ' + m['content'] + eos_token }}"
    older += "{% else %}{{ '[INST] ' + m['content'] + '[/INST]' }}{% endif %}{% endfor %}"
    codec = ChatCodec(tokenizer(Family("mistral-2", ("[INST]", "[/INST]"), "</s>", "</s>", older)))
    start, chat = codec.prompt((USER,)), (USER, ChatTurn("assistant", "hi"), USER)
    with_blank = Trail(ids=(*start.fed, *codec.reply(" hi")), turns=1)
    without = Trail(ids=(*start.fed, *codec.reply("hi")), turns=1)
    assert not codec.prompt(chat, with_blank).start
    broken = codec.prompt(chat, without)
    assert broken.start
    assert broken.fed == library_ids(codec, chat)
