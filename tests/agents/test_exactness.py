"""Bit-equality: a completion depends on the request and the weights, and on nothing else."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from simarena.agents import models, tiny
from simarena.agents.engines import attention
from simarena.agents.engines.transformers import TransformersEngine
from simarena.arena.errors import UsageError
from simarena.arena.protocols import ChatTurn, Completion, GenerateRequest
from simarena.arena.tokens import Trail

WORDS = [f"w{i}" for i in range(61)]
SHAPES = {
    "grouped": tiny.Shape(hidden=48, layers=2, heads=6, kv_heads=2, intermediate=100),
    "tiny": tiny.Shape(layers=2),
    "wide group": tiny.Shape(hidden=64, layers=2, heads=8, kv_heads=1, intermediate=72),
}


@pytest.fixture(scope="module", params=SHAPES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(WORDS, tmp_path_factory.mktemp("model"), seed=3, shape=SHAPES[request.param])


def engine(folder: Path, **options: int) -> TransformersEngine:
    return TransformersEngine(str(folder), **options)


def speech(rng: random.Random, low: int, high: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(low, high)))


def first_turns(count: int) -> list[GenerateRequest]:
    """Conversations of very different lengths, at several temperatures."""
    requests = []
    for i in range(count):
        rng = random.Random(i)
        chat = (ChatTurn("system", speech(rng, 1, 30)), ChatTurn("user", speech(rng, 1, (5, 40, 400)[i % 3])))
        requests.append(
            GenerateRequest(f"c{i}", chat, seed=i, max_tokens=9, temperature=(1.0, 0.5, 0.0, 1.3)[i % 4])
        )
    return requests


def next_turn(request: GenerateRequest, completion: Completion) -> GenerateRequest:
    record = completion.record
    assert record is not None
    rng = random.Random(request.seed + 1)
    held = request.trail.ids if request.trail and not record.start else ()
    return GenerateRequest(
        key=request.key,
        chat=(*request.chat, ChatTurn("assistant", completion.text), ChatTurn("user", speech(rng, 1, 20))),
        seed=request.seed + 1000,
        trail=Trail(ids=(*held, *record.fed, *record.sampled), turns=1),
        max_tokens=7,
        temperature=request.temperature,
    )


async def alone(served: TransformersEngine, requests: Sequence[GenerateRequest]) -> list[Completion]:
    return [(await served.generate([request]))[0] for request in requests]


async def test_batch_order_and_cache_change_nothing(folder: Path) -> None:
    served = engine(folder)
    first = first_turns(18)
    expected = await alone(served, first)
    second = [next_turn(*pair) for pair in zip(first, expected, strict=True)]
    cached = await alone(served, second)

    together, small, fresh = engine(folder), engine(folder, max_batch=5), engine(folder)
    assert await together.generate(first) == expected
    assert await together.generate(second) == cached
    order = random.Random(0).sample(range(len(first)), len(first))
    assert await small.generate([first[i] for i in order]) == [expected[i] for i in order]
    assert await small.generate([second[i] for i in order]) == [cached[i] for i in order]
    # Nothing but the trail: every id is read anew, in pieces of another size than those that were sampled.
    assert await fresh.generate(second) == cached
    assert fresh.forwarded > 3 * (together.forwarded - sum(len(c.record.fed) for c in expected if c.record))


async def test_first_and_later_turns_may_share_a_batch(folder: Path) -> None:
    first = first_turns(12)
    served = engine(folder)
    expected = await served.generate(first)
    second = [next_turn(*pair) for pair in zip(first, expected, strict=True)]
    mixed = [*second[:6], *first[6:]]
    other = engine(folder)
    await other.generate(first[:6])
    assert await other.generate(mixed) == [*await alone(served, second[:6]), *expected[6:]]


async def test_calls_made_at_once_are_one_batch_and_answer_in_order(folder: Path) -> None:
    first = first_turns(16)
    expected = await engine(folder).generate(first)
    served = engine(folder)
    answers = await asyncio.gather(*(served.generate([request]) for request in first))
    assert [answer for (answer,) in answers] == expected


async def test_a_cache_too_small_for_all_only_costs_time(folder: Path) -> None:
    first = first_turns(10)
    expected = await engine(folder).generate(first)
    tight = engine(folder, cache_mib=1)
    assert await tight.generate(first) == expected
    second = [next_turn(*pair) for pair in zip(first, expected, strict=True)]
    assert await tight.generate(second) == await engine(folder).generate(second)


async def test_equal_keys_in_one_batch_do_not_mix(folder: Path) -> None:
    one, two = first_turns(2)
    twins = [GenerateRequest("same", r.chat, r.seed, max_tokens=9, temperature=r.temperature) for r in (one, two)]
    together = await engine(folder).generate(twins)
    assert together == await engine(folder).generate([one, two])


async def test_log_probs_are_those_of_a_plain_forward_pass(folder: Path) -> None:
    first = first_turns(9)
    served = engine(folder)
    completions = await served.generate(first)
    second = [next_turn(*pair) for pair in zip(first, completions, strict=True)]
    plain = models.load_model(folder, attention="eager")
    for request, completion in zip(second, await served.generate(second), strict=True):
        record = completion.record
        assert record is not None
        assert request.trail is not None
        assert not record.start
        ids = (*request.trail.ids, *record.fed, *record.sampled)
        with torch.no_grad():
            logits = plain(torch.tensor([ids])).logits[0] / (request.temperature or 1.0)
        expected = torch.log_softmax(logits, -1)[len(ids) - len(record.sampled) - 1 : -1]
        scored = expected.gather(1, torch.tensor(record.sampled)[:, None])[:, 0]
        assert (scored - torch.tensor(record.logprobs)).abs().max() < 1e-5
        if request.temperature == 0:
            assert record.sampled == tuple(expected.argmax(-1).tolist())


async def test_the_exact_dense_forward_gives_the_sampled_bits(folder: Path) -> None:
    """What a scorer computes over right-padded rows: ratio = 1, to the bit."""
    first = [r for r in first_turns(12) if r.temperature == 1.0]
    completions = await engine(folder).generate(first)
    exact = models.load_model(folder, attention="simarena_exact")
    rows = [(*c.record.fed, *c.record.sampled) for c in completions if c.record]
    padded = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = torch.tensor(row)
    logprobs = torch.log_softmax(exact(padded, use_cache=False).logits, -1)
    for place, completion in enumerate(completions):
        assert completion.record is not None
        fed, sampled = completion.record.fed, completion.record.sampled
        at = torch.arange(len(fed) - 1, len(fed) + len(sampled) - 1)
        assert tuple(logprobs[place, at, torch.tensor(sampled)].tolist()) == completion.record.logprobs


async def test_seeds_make_the_difference(folder: Path) -> None:
    request = first_turns(1)[0]
    group = [GenerateRequest(f"g{i}", request.chat, seed=i, max_tokens=9) for i in range(8)]
    completions = await engine(folder).generate(group)
    assert len({c.record.sampled for c in completions if c.record}) > 4


async def test_a_shared_start_is_read_once_and_changes_nothing(folder: Path) -> None:
    start = ChatTurn("system", " ".join(WORDS[:40]))
    users = [ChatTurn("user", word) for word in WORDS[:6]]
    requests = [GenerateRequest(user.content, (start, user), seed=i, max_tokens=4) for i, user in enumerate(users)]
    served, apart = engine(folder), [engine(folder) for _ in requests]
    assert await served.generate(requests) == [
        (await one.generate([request]))[0] for one, request in zip(apart, requests, strict=True)
    ]
    common = len(("<system>", *WORDS[:40], "<user>"))
    assert served.forwarded == sum(one.forwarded for one in apart) - 5 * common
    later = GenerateRequest("later", (start, ChatTurn("user", WORDS[50])), seed=9, max_tokens=4)
    before, alone = served.forwarded, engine(folder)
    assert await served.generate([later]) == await alone.generate([later])
    assert served.forwarded - before == alone.forwarded - common


async def test_only_new_tokens_go_through_the_model(folder: Path) -> None:
    served = engine(folder)
    first = first_turns(6)
    completions = await served.generate(first)
    records = [c.record for c in completions if c.record]
    assert served.forwarded == sum(len(r.fed) + len(r.sampled) - 1 for r in records)
    before = served.forwarded
    second = [next_turn(*pair) for pair in zip(first, completions, strict=True)]
    records = [c.record for c in await served.generate(second) if c.record]
    assert served.forwarded - before == sum(1 + len(r.fed) + len(r.sampled) - 1 for r in records)


def test_attention_of_another_kind_is_refused_in_words() -> None:
    query = torch.zeros(1, 4, 4, 8)
    with pytest.raises(UsageError, match="asks for 'softcap'"):
        ALL_ATTENTION_FUNCTIONS[attention.NAME](torch.nn.Module(), query, query, query, None, softcap=30.0)
