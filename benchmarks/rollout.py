"""Multi-turn rollouts: our engine, a plain loop over `generate`, TRL's way, and the least a decode can cost.

N conversations of four turns of 32 tokens: 110 tokens of instructions that all share, about 10 that each has for
itself, and about 19 between turns. Every side samples at temperature 1 and to the full 32 tokens. The plain loop
does a few of them, since it takes one at a time.
"""

import asyncio
from typing import Any

from benchmarks.side import Side, Work, in_turns
from benchmarks.table import Row

TURNS, TOKENS = 4, 32
FEW = 2
"""Conversations of the plain loop."""
WORDS = "the a flight to paris on friday code account please change my booking thanks no yes why when tell me"


def compare(count: int, repetitions: int) -> list[Row]:
    """Rows for this many conversations at once."""
    with (
        Side("ours", "benchmarks.rollout.ours", count=count) as ours,
        Side("static batch", "benchmarks.rollout.static", count=count) as static,
        Side("TRL's way", "benchmarks.rollout.batched", count=count) as batched,
        Side("plain loop", "benchmarks.rollout.plain", count=FEW) as plain,
    ):
        in_turns([ours, static, batched, plain], repetitions)
        speed = {one: one.facts["tokens"] / one.cpu for one in (ours, static, batched, plain)}
        work = f"{count} x {TURNS} x {TOKENS} tokens; wall {ours.wall:.1f} s, peak {ours.peak:.1f} GiB"

        def row(name: str, other: Side, target: str, against: str, note: str = "") -> Row:
            ratio = speed[ours] / speed[other]
            return Row(
                f"rollout {count}, {name}", speed[ours], speed[other], "tok/CPU s", ratio, target, against, note
            )

        return [
            row("plain loop", plain, ">= 5", "a loop over transformers.generate", work),
            row("trl", batched, ">= 2.5", "TRL's multi-turn rollout: batched generate, whole history each turn"),
            row("static", static, ">= 0.85", "one static batch of equal length, keys kept, the same sampler"),
        ]


def _words(seed: int, count: int) -> str:
    import random

    return " ".join(random.Random(seed).choices(WORDS.split(), k=count))


def _opening(number: int) -> list[dict[str, str]]:
    """Instructions and the first thing the other side says."""
    return [{"role": "system", "content": _words(0, 96)}, {"role": "user", "content": _words(number + 1, 6)}]


def _heard(number: int, turn: int) -> str:
    return _words(1000 * number + turn, 13)


def ours(count: int, turns: int = TURNS) -> Work:
    """The transformers engine, asked for one turn of all conversations at a time."""
    from benchmarks.model import folder
    from simarena.agents.engines.transformers import TransformersEngine
    from simarena.arena.protocols import ChatTurn, GenerateRequest
    from simarena.arena.tokens import Trail

    engine = TransformersEngine(str(folder()))
    engine.codec.stops = frozenset()  # every turn to its full length, as on the other sides
    calls = 0

    async def play(call: int) -> int:
        requests = [
            GenerateRequest(
                f"{call}/{n}",
                tuple(ChatTurn(one["role"], one["content"]) for one in _opening(n)),  # type: ignore[arg-type]
                seed=n,
                max_tokens=TOKENS,
            )
            for n in range(count)
        ]
        tokens = 0
        for turn in range(turns):
            completions = await engine.generate(requests)
            following = []
            for n, (request, done) in enumerate(zip(requests, completions, strict=True)):
                assert done.record is not None
                tokens += len(done.record.sampled)
                held = request.trail.ids if request.trail and not done.record.start else ()
                trail = Trail(ids=(*held, *done.record.fed, *done.record.sampled), turns=turn + 1)
                chat = (*request.chat, ChatTurn("assistant", done.text), ChatTurn("user", _heard(n, turn)))
                following.append(GenerateRequest(request.key, chat, request.seed + 1, (), trail, TOKENS))
            requests = following
        return tokens

    def work() -> dict[str, Any]:
        nonlocal calls
        calls += 1
        return {"tokens": asyncio.run(play(calls))}

    return work


def _plain_model() -> tuple[Any, Any]:
    import torch

    from benchmarks.model import folder
    from simarena.agents import models

    torch.set_num_threads(1)
    return models.load_model(folder()), models.load_tokenizer(folder())


SAMPLING = {"do_sample": True, "temperature": 1.0, "top_k": 0, "min_new_tokens": TOKENS, "max_new_tokens": TOKENS}


def plain(count: int) -> Work:
    """What most scripts do: one conversation at a time, its whole history read at every turn."""
    model, tokenizer = _plain_model()

    def work() -> dict[str, Any]:
        import torch

        tokens = 0
        for n in range(count):
            chat = _opening(n)
            for turn in range(TURNS):
                inputs = tokenizer.apply_chat_template(
                    chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
                )
                with torch.inference_mode():
                    out = model.generate(**inputs, **SAMPLING, pad_token_id=2)[0, inputs["input_ids"].shape[1] :]
                tokens += len(out)
                chat += [
                    {"role": "assistant", "content": tokenizer.decode(out, skip_special_tokens=True)},
                    {"role": "user", "content": _heard(n, turn)},
                ]
        return {"tokens": tokens}

    return work


def batched(count: int) -> Work:
    """What a TRL user's rollout function does without vLLM: each turn one `generate` of all, padded left, with
    their whole ids so far."""
    model, tokenizer = _plain_model()

    def work() -> dict[str, Any]:
        import torch

        held = [
            tokenizer.apply_chat_template(_opening(n), add_generation_prompt=True, return_dict=True)["input_ids"]
            for n in range(count)
        ]
        tokens = 0
        for turn in range(TURNS):
            width = max(map(len, held))
            ids = torch.tensor([[2] * (width - len(one)) + one for one in held])
            mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in held])
            with torch.inference_mode():
                out = model.generate(ids, attention_mask=mask, **SAMPLING, pad_token_id=2)[:, width:]
            tokens += out.numel()
            for n, said in enumerate(out.tolist()):
                reply = f"<|im_end|>\n<|im_start|>user\n{_heard(n, turn)}<|im_end|>\n<|im_start|>assistant\n"
                held[n] = [*held[n], *said, *tokenizer(reply, add_special_tokens=False)["input_ids"]]
        return {"tokens": tokens}

    return work


def static(count: int) -> Work:
    """A lower bound: rows of one length in one batch, keys kept, instructions read once, nobody comes or goes."""
    model, tokenizer = _plain_model()

    def work() -> dict[str, Any]:
        import torch
        from transformers import DynamicCache

        from simarena.agents.engines.sampling import sample

        fed = torch.tensor(tokenizer(_words(0, 130))["input_ids"][:120])
        reply = torch.tensor(tokenizer(_words(1, 30))["input_ids"][:19])
        chance = torch.Generator().manual_seed(0)
        cache, tokens = DynamicCache(), 0
        with torch.inference_mode():
            model(fed[None, :110], past_key_values=cache, logits_to_keep=1)
            cache.batch_repeat_interleave(count)
            ids = fed[110:].expand(count, -1)
            for _ in range(TURNS):
                for place in range(TOKENS):
                    logits = model(ids, past_key_values=cache, logits_to_keep=1).logits[:, -1]
                    uniform = torch.rand(count, dtype=torch.float64, generator=chance)
                    said, _ = sample(logits, torch.ones(count), uniform)
                    tokens += count
                    ids = (
                        said[:, None]
                        if place < TOKENS - 1
                        else torch.cat([said[:, None], reply.expand(count, -1)], 1)
                    )
        return {"tokens": tokens}

    return work
