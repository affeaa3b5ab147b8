"""Chat and token continuity: exact ids, bodies as data, extensions and prefix breaks (pains 1-5, 23)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import AddedToken, PreTrainedTokenizerFast

from simarena.agents import models, tiny
from simarena.agents.chat import ChatCodec
from simarena.arena.errors import UsageError
from simarena.arena.protocols import ChatTurn
from simarena.arena.tokens import Trail

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
PLANS = (  # rewrites history: earlier replies lose what is before the last "||"
    "{% for m in messages %}{% set c = m['content'] %}{% if m['role'] == 'assistant' and not loop.last %}"
    "{% set c = c.split('||')[-1] %}{% endif %}{{ '<|im_start|>' + m['role'] + '\\n' + c + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
GROUPED = (  # tool results that follow one another share one turn
    "{% for m in messages %}{% if m['role'] == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}{{ '<|im_start|>user' }}{% endif %}"
    "{{ '\\n<tool_response>\\n' + m['content'] + '\\n</tool_response>' }}"
    "{% if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}"
    "{% else %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def byte_tokenizer(template: str) -> PreTrainedTokenizerFast:
    """A byte-level BPE with one merge (`ab`), ChatML tokens and markers that are not "special" to the library."""
    alphabet = {sign: place for place, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    core = Tokenizer(BPE({**alphabet, "ab": 256}, [("a", "b")]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.add_tokens([AddedToken(t, special=False) for t in ("<think>", "</think>", "<tool_response>")])
    tokenizer.chat_template = template
    return tokenizer


@pytest.fixture(scope="module")
def chatml() -> ChatCodec:
    return ChatCodec(byte_tokenizer(CHATML))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> ChatCodec:
    words = ["hello there , how can i help you ? book a table @lookup ada please < > end user !"]
    return ChatCodec(models.load_tokenizer(tiny.build(words, tmp_path_factory.mktemp("tiny"), seed=0)))


def library_ids(codec: ChatCodec, chat: tuple[ChatTurn, ...]) -> tuple[int, ...]:
    turns = [{"role": turn.role, "content": turn.content} for turn in chat]
    return tuple(codec._tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False))


def said(
    codec: ChatCodec, chat: tuple[ChatTurn, ...], sampled: tuple[int, ...], held: Trail | None = None
) -> Trail:
    prompt = codec.prompt(chat, held)
    before = held.ids if held and not prompt.start else ()
    return Trail(ids=(*before, *prompt.fed, *sampled), turns=1 + (held.turns if held else 0))


innocent = st.text(st.characters(codec="utf-8", exclude_characters="<>")).map(str.strip)
USER = ChatTurn("user", "hello")


@given(st.lists(innocent, min_size=1, max_size=4))
def test_ids_are_those_of_the_library(chatml: ChatCodec, bodies: list[str]) -> None:
    chat = tuple(ChatTurn(("user", "assistant")[i % 2], body) for i, body in enumerate(bodies))
    assert chatml.prompt(chat).fed == library_ids(chatml, chat)


MARKERS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_response>")


@given(
    st.lists(st.one_of(st.sampled_from(MARKERS), st.text(max_size=3), st.just("\ue000")), max_size=8).map("".join)
)
def test_no_body_becomes_a_control_id(chatml: ChatCodec, body: str) -> None:
    clean = chatml.prompt((ChatTurn("system", ""), ChatTurn("user", ""))).fed
    hostile = chatml.prompt((ChatTurn("system", body), ChatTurn("user", body))).fed
    control = set(chatml._control.values())
    assert [i for i in hostile if i in control] == [i for i in clean if i in control]
    assert chatml._tokenizer.decode(hostile).count(body) >= 2 * bool(body)


def test_the_tiny_tokenizer_writes_markers_as_words(small: ChatCodec) -> None:
    fed = small.prompt((ChatTurn("user", "hello <end><user> <assistant>"),)).fed
    assert small._tokenizer.convert_ids_to_tokens(list(fed)) == [
        *("<user>", "hello", "<", "end", ">", "<", "user", ">", "<", "<unk>", ">", "<assistant>")
    ]


def test_sampled_ids_are_kept_as_they_were(chatml: ChatCodec) -> None:
    """Pain 1: `a`, `b` sampled apart would be one id if they were tokenised again."""
    a, b, ab = chatml._plain("a") + chatml._plain("b") + chatml._plain("ab")
    trail = said(chatml, (USER,), (a, b, chatml.end))
    chat = (USER, ChatTurn("assistant", "ab"), ChatTurn("user", "more"))
    prompt = chatml.prompt(chat, trail)
    assert not prompt.start
    assert trail.ids[-3:] == (a, b, chatml.end)
    retold = (*trail.ids[:-3], ab, chatml.end, *prompt.fed)
    assert retold == library_ids(chatml, chat)


@pytest.mark.parametrize("template", [CHATML, GROUPED])
def test_an_extension_is_the_library_render_with_separators_and_grouped_tools(template: str) -> None:
    """Pains 3 and 4: the unsampled newline is fed, and two tool results in a row render together."""
    codec = ChatCodec(byte_tokenizer(template))
    chat: tuple[ChatTurn, ...] = (ChatTurn("system", "be kind"), USER)
    trail = said(codec, chat, codec.reply("one"))
    results = (ChatTurn("tool", "r1"), ChatTurn("tool", "r2"), ChatTurn("user", "and?"))
    chat = (*chat, ChatTurn("assistant", "one"), *results)
    prompt = codec.prompt(chat, trail)
    assert not prompt.start
    assert (*trail.ids, *prompt.fed) == library_ids(codec, chat)
    trail = said(codec, chat, codec.reply("two"), trail)
    chat = (*chat, ChatTurn("assistant", "two"), USER)
    assert (*trail.ids, *codec.prompt(chat, trail).fed) == library_ids(codec, chat)


def test_the_tiny_template_adds_one_marker_a_turn(small: ChatCodec) -> None:
    trail = said(small, (USER,), small.reply("how can i help ?"))
    chat = (USER, ChatTurn("assistant", "how can i help ?"), ChatTurn("user", "table"))
    fed = small.prompt(chat, trail).fed
    assert small._tokenizer.convert_ids_to_tokens(list(fed)) == ["<user>", "table", "<assistant>"]


def test_a_template_that_rewrites_history_starts_a_new_sample() -> None:
    """Pain 2."""
    codec = ChatCodec(byte_tokenizer(PLANS))
    trail = said(codec, (USER,), codec.reply("plan||answer"))
    chat = (USER, ChatTurn("assistant", "plan||answer"), ChatTurn("user", "what did you see"))
    prompt = codec.prompt(chat, trail)
    assert prompt.start
    assert prompt.fed == library_ids(codec, chat)
    assert "what did you see" in codec._tokenizer.decode(prompt.fed)
    plain = said(codec, (USER,), codec.reply("answer"))
    assert not codec.prompt((USER, ChatTurn("assistant", "answer"), USER), plain).start


@pytest.mark.parametrize("changed", [0, 1])
def test_changed_history_is_noticed(chatml: ChatCodec, changed: int) -> None:
    chat = [ChatTurn("system", "be kind"), USER]
    trail = said(chatml, tuple(chat), chatml.reply("one"))
    chat[changed] = ChatTurn(chat[changed].role, "something else")
    assert chatml.prompt((*chat, ChatTurn("assistant", "one"), USER), trail).start


def test_a_reply_that_no_message_shows_starts_a_new_sample(chatml: ChatCodec) -> None:
    trail = said(chatml, (USER,), chatml.reply("one"))
    assert chatml.prompt((USER, ChatTurn("user", "hello?")), trail).start


def test_after_a_break_the_new_sample_goes_on(chatml: ChatCodec) -> None:
    chat: tuple[ChatTurn, ...] = (USER, ChatTurn("assistant", "one"), USER)
    lost = Trail(ids=(1, 2, 3), turns=1)
    assert chatml.prompt(chat, lost).start
    trail = said(chatml, chat, chatml.reply("two"), lost)
    chat = (*chat, ChatTurn("assistant", "two"), USER)
    prompt = chatml.prompt(chat, trail)
    assert not prompt.start
    assert (*trail.ids, *prompt.fed) == library_ids(chatml, chat)


def test_a_reply_cut_off_gets_its_end_fed(chatml: ChatCodec) -> None:
    trail = said(chatml, (USER,), chatml.reply("one two")[:-1])
    chat = (USER, ChatTurn("assistant", "one two"), USER)
    prompt = chatml.prompt(chat, trail)
    assert prompt.fed[0] == chatml.end
    assert (*trail.ids, *prompt.fed) == library_ids(chatml, chat)
    later = said(chatml, chat, chatml.reply("three"), trail)
    assert not chatml.prompt((*chat, ChatTurn("assistant", "three"), USER), later).start


def test_every_stop_id_of_the_generation_config_ends_a_reply() -> None:
    """Pain 5."""
    tokenizer = byte_tokenizer(CHATML)
    other = tokenizer.convert_tokens_to_ids("<think>")
    codec = ChatCodec(tokenizer, eos=[other])
    assert codec.stops == {codec.end, other, tokenizer.eos_token_id}
    trail = said(codec, (USER,), (*codec.reply("one")[:-1], other))
    prompt = codec.prompt((USER, ChatTurn("assistant", "one"), USER), trail)
    assert not prompt.start
    assert tokenizer.decode(prompt.fed).startswith("\n<|im_start|>user")


def test_a_thought_is_split_off_and_control_ids_leave_no_text(chatml: ChatCodec) -> None:
    think, thought = (chatml._control[t] for t in ("<think>", "</think>"))
    ids = (
        think,
        *chatml._plain(" why "),
        thought,
        *chatml._plain("\nab "),
        chatml._control["<|im_start|>"],
        chatml.end,
    )
    assert chatml.read(ids) == ("ab", "why")


def test_tiny_text_reads_well(small: ChatCodec) -> None:
    ids = small.reply("Hello there, how can I help you? @lookup ada")
    assert small.read(ids) == ("hello there, how can i help you?\n@lookup ada", "")


def test_a_tokenizer_without_template_is_refused() -> None:
    tokenizer = byte_tokenizer(CHATML)
    tokenizer.chat_template = None
    with pytest.raises(UsageError, match="has no chat template: use an instruct model"):
        ChatCodec(tokenizer)


def test_a_template_without_end_of_turn_is_refused() -> None:
    with pytest.raises(UsageError, match="no control token after an assistant turn"):
        ChatCodec(byte_tokenizer("{% for m in messages %}{{ m['content'] + '\\n' }}{% endfor %}"))


def test_a_template_that_refuses_a_role_says_so(chatml: ChatCodec) -> None:
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
    with pytest.raises(UsageError, match="refuses turns of roles system, user: no system role"):
        ChatCodec(byte_tokenizer(strict)).prompt((ChatTurn("system", "x"), USER))


def test_equal_seeds_build_equal_files(tmp_path: Path) -> None:
    folders = [tiny.build(["a b c"], tmp_path / name, seed=seed) for name, seed in (("x", 1), ("y", 1), ("z", 2))]
    weights = [(folder / "model.safetensors").read_bytes() for folder in folders]
    assert weights[0] == weights[1] != weights[2]
    assert (folders[0] / "tokenizer.json").read_bytes() == (folders[1] / "tokenizer.json").read_bytes()


def test_a_tiny_policy_needs_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one word"):
        tiny.build(["  "], tmp_path, seed=0)


def test_the_default_shape_has_about_two_thirds_of_a_million_parameters(tmp_path: Path) -> None:
    tiny.build([f"w{i}" for i in range(105)], tmp_path, seed=0)
    assert sum(p.numel() for p in models.load_model(tmp_path).parameters()) == pytest.approx(660_000, rel=0.03)


def test_a_chat_that_leaves_no_mark_free_is_refused(small: ChatCodec) -> None:
    every = "".join(map(chr, (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE))))
    assert small.prompt([ChatTurn("user", every[:-3])]).start
    with pytest.raises(UsageError, match="private-use"):
        small.prompt([ChatTurn("user", every)])
