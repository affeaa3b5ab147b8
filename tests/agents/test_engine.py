"""The transformers engine's door: versions and caches, stops, faults, batching, and clear refusals."""

import asyncio
import json
import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from simarena.agents import models, precision, tiny
from simarena.agents.engines.sampling import sample, uniforms
from simarena.agents.engines.transformers import LINGER, TransformersEngine
from simarena.arena.errors import AgentFault, UsageError
from simarena.arena.messages import Tool, ToolCall
from simarena.arena.protocols import ChatTurn, Completion, Engine, GenerateRequest
from simarena.arena.tokens import Trail, TurnRecord

WORDS = [f"w{i}" for i in range(40)] + ["@lookup"]
SHAPE = tiny.Shape(hidden=32, layers=2, heads=4, kv_heads=2, intermediate=64, positions=256)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(WORDS, tmp_path_factory.mktemp("model"), seed=5, shape=SHAPE)


@pytest.fixture
def engine(folder: Path) -> TransformersEngine:
    return TransformersEngine(str(folder))


def ask(key: str = "c", text: str = "w1 w2 w3", seed: int = 0, **more: object) -> GenerateRequest:
    return GenerateRequest(key, (ChatTurn("user", text),), seed, **more)  # type: ignore[arg-type]


def recorded(completion: Completion) -> TurnRecord:
    assert completion.record is not None
    return completion.record


def other_weights(folder: Path, tmp_path: Path) -> dict[str, np.ndarray]:
    state = models.load_model(tiny.build(WORDS, tmp_path / "other", seed=6, shape=SHAPE)).state_dict()
    return {name: tensor.numpy() for name, tensor in state.items()}


def test_it_is_an_engine(engine: TransformersEngine) -> None:
    assert isinstance(engine, Engine)
    assert (engine.policy, engine.version) == ("assistant", 0)


async def test_new_weights_reach_the_next_token_and_no_old_key_is_read(folder: Path, tmp_path: Path) -> None:
    """Pain 20."""
    engine = TransformersEngine(str(folder))
    first = recorded((await engine.generate([ask(max_tokens=6)]))[0])
    trail = Trail(ids=(*first.fed, *first.sampled), turns=1)
    chat = (ChatTurn("user", "w1 w2 w3"), ChatTurn("assistant", "w0"), ChatTurn("user", "w4"))
    later = GenerateRequest("c", chat, seed=1, trail=trail, max_tokens=6)
    old = recorded((await engine.generate([later]))[0])
    weights = other_weights(folder, tmp_path)
    del weights["lm_head.weight"]  # tied to the embedding: one of them is enough
    for array in weights.values():
        array.flags.writeable = False  # as they come from an object store
    await engine.update_weights(7, weights)
    record = recorded((await engine.generate([later]))[0])
    assert (engine.version, record.version, old.version) == (7, 7, 0)
    assert record.logprobs != old.logprobs
    fresh = TransformersEngine(str(tmp_path / "other"))
    assert recorded((await fresh.generate([later]))[0]).logprobs == record.logprobs
    ids = torch.tensor([(*trail.ids, *record.fed, *record.sampled)])
    with torch.no_grad():
        logits = models.load_model(tmp_path / "other")(ids).logits[0]
    plain = torch.log_softmax(logits, -1)[-len(record.sampled) - 1 : -1]
    scored = plain.gather(1, torch.tensor(record.sampled)[:, None])[:, 0]
    assert (scored - torch.tensor(record.logprobs)).abs().max() < 1e-5


async def test_calls_waiting_behind_an_update_get_the_new_version(folder: Path, tmp_path: Path) -> None:
    engine = TransformersEngine(str(folder))
    before = asyncio.create_task(engine.generate([ask(max_tokens=20)]))
    await asyncio.sleep(4 * LINGER)  # the call is queued, its batch is handed to the worker
    await engine.update_weights(1, other_weights(folder, tmp_path))
    after = await engine.generate([ask(max_tokens=20)])
    assert [recorded((await before)[0]).version, recorded(after[0]).version] == [0, 1]


async def test_memory_is_flat_over_two_hundred_updates(folder: Path, tmp_path: Path) -> None:
    """Each with conversations that nobody comes back to."""
    engine, weights = TransformersEngine(str(folder), cache_mib=2), other_weights(folder, tmp_path)
    used = []
    for step in range(200):
        await engine.update_weights(step + 1, weights)
        await engine.generate([ask(f"{step}/{i}", seed=i, max_tokens=3) for i in range(4)])
        used.append(psutil.Process().memory_info().rss / 2**20)
    assert max(used[150:]) - max(used[40:80]) < 4.0  # MiB; a copy of the weights at every step would be 8
    assert engine._batch.rows == []


async def test_weights_that_do_not_fit_change_nothing(
    engine: TransformersEngine, folder: Path, tmp_path: Path
) -> None:
    expected = await engine.generate([ask()])
    weights = other_weights(folder, tmp_path)
    shrunk = weights | {"model.norm.weight": weights["model.norm.weight"][:-1]}
    with pytest.raises(UsageError, match=r"'model.norm.weight' has shape \(31,\), not \(32,\)"):
        await engine.update_weights(1, shrunk)
    with pytest.raises(UsageError, match=r"unknown \['ghost'\], missing \['model.norm.weight'\]"):
        await engine.update_weights(1, {k: v for k, v in weights.items() if "model.norm" not in k} | {"ghost": 0})
    assert engine.version == 0
    assert await engine.generate([ask()]) == expected


async def test_stop_and_length(engine: TransformersEngine) -> None:
    """Pains 5 and 18: the end id is sampled and recorded; a cut reply says so."""
    completions = await engine.generate([ask(str(i), seed=i, max_tokens=30) for i in range(20)])
    records = [recorded(c) for c in completions]
    assert {r.finish for r in records} == {"stop", "length"}
    for record in records:
        ended = [i for i, token in enumerate(record.sampled) if token == engine.codec.end]
        assert ended == ([len(record.sampled) - 1] if record.finish == "stop" else [])
        assert record.finish == "stop" or len(record.sampled) == 30


async def test_tool_calls_are_parsed_for_the_tools_of_the_request(engine: TransformersEngine) -> None:
    tool = Tool(name="lookup", description="", parameters={"account": {"type": "string"}})
    completions = await engine.generate([ask(str(i), seed=i, tools=(tool,), max_tokens=20) for i in range(40)])
    calls = [call for c in completions for call in c.calls]
    assert calls
    assert {call.name for call in calls} == {"lookup"}
    assert all("@" not in c.text for c in completions)
    assert isinstance(calls[0], ToolCall)


async def test_one_bad_request_fails_alone(engine: TransformersEngine) -> None:
    results = await asyncio.gather(
        engine.generate([ask("long", "w1 " * 300)]),
        engine.generate([ask("none", max_tokens=0)]),
        engine.generate([ask("good")]),
        return_exceptions=True,
    )
    assert isinstance(results[0], AgentFault)
    assert "fills the 256 positions of policy 'assistant'" in str(results[0])
    assert isinstance(results[1], UsageError)
    assert results[2] == await engine.generate([ask("good")])


async def test_a_reply_ends_where_the_positions_do(engine: TransformersEngine) -> None:
    record = recorded((await engine.generate([ask(text="w1 " * 250, max_tokens=50, seed=2)]))[0])
    assert len(record.fed) + len(record.sampled) <= 256


async def test_whatever_breaks_reaches_those_who_wait(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name in ((engine._batch, "step"), (engine.codec, "prompt")):
        monkeypatch.setattr(owner, name, lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(engine.generate([ask()]), 5)
        monkeypatch.undo()
    expected = await engine.generate([ask("other key")])
    monkeypatch.setattr(engine.model.model.layers[1].mlp, "forward", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await engine.generate([ask()])
    monkeypatch.undo()
    assert await engine.generate([ask()]) == expected  # half a pass left nothing in the cache


async def test_a_cancelled_call_does_not_hold_up_the_next(engine: TransformersEngine) -> None:
    task = asyncio.create_task(engine.generate([ask("gone")]))
    await asyncio.sleep(0)
    task.cancel()
    assert recorded((await engine.generate([ask("here")]))[0]).sampled
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_calls_of_one_moment_begin_together(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    step = engine._batch.step
    monkeypatch.setattr(engine._batch, "step", lambda: (sizes.append(len(engine._batch.rows)), step())[1])
    await asyncio.gather(*(engine.generate([ask(f"a{i}", seed=i, max_tokens=25)]) for i in range(8)))
    assert sizes[0] == 8


async def test_a_conversation_joins_and_leaves_while_others_go_on(engine: TransformersEngine) -> None:
    """Several short turns come and go within one long one, and all say what they would have said alone."""
    long = ask("long", seed=6, max_tokens=200, temperature=1.5)
    alone = await engine.generate([long])
    assert len(recorded(alone[0]).sampled) == 200
    short = [ask(f"s{i}", text="w7 " * (i + 1), seed=i, max_tokens=4) for i in range(6)]
    expected = [(await engine.generate([one]))[0] for one in short]
    task = asyncio.create_task(engine.generate([ask("again", seed=6, max_tokens=200, temperature=1.5)]))
    await asyncio.sleep(4 * LINGER)  # it is running, alone
    for one, answer in zip(short, expected, strict=True):
        assert await engine.generate([one]) == [answer]
        assert not task.done()
    assert await task == alone


async def test_a_turn_that_nobody_waits_for_makes_room(folder: Path) -> None:
    engine = TransformersEngine(str(folder), max_batch=1)
    task = asyncio.create_task(engine.generate([ask("long", seed=6, max_tokens=200, temperature=1.5)]))
    await asyncio.sleep(4 * LINGER)
    task.cancel()
    before = engine.forwarded
    await engine.generate([ask("next", max_tokens=2)])
    assert engine.forwarded - before < 40  # not the rest of the two hundred
    assert engine._batch.rows == []


async def test_a_group_reads_its_prompt_once_also_beside_other_groups(engine: TransformersEngine) -> None:
    words = [" ".join(WORDS[place : place + 30]) for place in range(3)]
    requests = [
        ask(f"{group}/{member}", text, seed=member, max_tokens=1)
        for member in range(4)
        for group, text in enumerate(words)
    ]
    completions = await engine.generate(requests)
    prompts = {recorded(one).fed for one in completions}
    assert len(prompts) == 3
    # Each prompt whole, and for every further member its last id alone, for the logits.
    assert engine.forwarded == sum(map(len, prompts)) + len(requests) - len(prompts)


def test_an_engine_serves_one_event_loop_after_another(engine: TransformersEngine) -> None:
    assert asyncio.run(engine.generate([ask()])) == asyncio.run(engine.generate([ask()]))


async def test_an_empty_call_is_answered(engine: TransformersEngine) -> None:
    assert await engine.generate([]) == []


def test_generation_is_set_up_for_speed(engine: TransformersEngine) -> None:
    """Pain 24."""
    assert not engine.model.training
    assert not engine.model.is_gradient_checkpointing
    assert engine.model.dtype == torch.float32
    assert torch.get_num_threads() == 1


def test_the_numbers_of_a_seed_are_philox_and_the_same_after_any_other() -> None:
    for seed in (0, 7, 2**63 + 5, 2**64 - 1):
        raw = np.random.Philox(key=seed).random_raw(9)
        plain = [float(number >> np.uint64(32)) / 2.0**32 for number in raw]
        uniforms(1, 3)
        assert uniforms(seed, 9) == plain
        assert uniforms(seed, 4) == plain[:4]


def test_sampling_follows_the_distribution_and_never_draws_the_impossible() -> None:
    logits = torch.tensor([[0.0, -torch.inf, 1.0, 2.0]]).expand(4000, 4)
    uniform = torch.tensor(uniforms(3, 4000), dtype=torch.float64)
    ids, logprobs = sample(logits, torch.full((4000,), 2.0), uniform)
    expected = torch.softmax(logits[0] / 2, -1)
    share = torch.bincount(ids, minlength=4) / 4000
    assert share[1] == 0
    assert (share - expected).abs().max() < 0.03  # four standard deviations
    assert torch.allclose(logprobs.exp(), expected[ids])


def test_uniforms_are_counted_by_position() -> None:
    assert uniforms(9, 5) == uniforms(9, 8)[:5] != uniforms(10, 5)
    assert all(0 <= u < 1 for u in uniforms(1, 100))


def test_the_edges_of_the_distribution() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf]])
    for edge in (0.0, 1 - 2.0**-32):
        ids, logprobs = sample(logits, torch.ones(1), torch.tensor([edge], dtype=torch.float64))
        assert (ids.item(), logprobs.item()) == (1, 0.0)


async def test_padding_is_by_length_not_by_id(engine: TransformersEngine) -> None:
    """Pain 6: the pad id is the end id here, and a chat full of ends still reads them all."""
    assert models.load_tokenizer(Path(engine.model.config._name_or_path)).pad_token_id == engine.codec.end
    chat = (ChatTurn("user", "w1"), ChatTurn("assistant", "w2"), ChatTurn("user", "w3"))
    await engine.generate([GenerateRequest("x", chat, seed=0, max_tokens=1)])
    assert engine.forwarded == len(["<user>", "w1", "<assistant>", "w2", "<end>", "<user>", "w3", "<assistant>"])


@pytest.mark.parametrize("name", ["no/such-model", "/nowhere/at/all", "a b"])
def test_an_unknown_model_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=f"no model '{name}': give a model folder"):
        TransformersEngine(name)


def test_folders_that_hold_no_model_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no config"):
        models.locate(tmp_path)
    broken = shutil.copytree(folder, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(UsageError, match="cannot read the model in"):
        TransformersEngine(str(broken))
    (broken / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match="tokenizer"):
        models.load_tokenizer(broken)


def test_bfloat16_needs_hardware(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    with pytest.raises(UsageError, match="no native bfloat16: use float32"):
        TransformersEngine(str(folder), dtype="bfloat16")


async def test_other_families_are_served(tmp_path: Path, folder: Path) -> None:
    """A sliding window shorter than the chat, as in Mistral: same log-probs as the library's own attention."""
    from transformers import MistralConfig, MistralForCausalLM

    tokenizer = models.load_tokenizer(folder)
    config = MistralConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2, sliding_window=6, max_position_embeddings=128, eos_token_id=1,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        models.save(MistralForCausalLM(config), tokenizer, tmp_path)
    engine = TransformersEngine(str(tmp_path))
    record = recorded((await engine.generate([ask(text="w1 w2 w3 " * 5, max_tokens=12)]))[0])
    with torch.no_grad():
        logits = models.load_model(tmp_path, attention="eager")(
            torch.tensor([record.fed + record.sampled])
        ).logits[0]
    plain = torch.log_softmax(logits, -1)[-len(record.sampled) - 1 : -1]
    scored = plain.gather(1, torch.tensor(record.sampled)[:, None])[:, 0]
    assert (scored - torch.tensor(record.logprobs)).abs().max() < 1e-5


def test_a_family_with_its_own_attention_is_refused(tmp_path: Path, folder: Path) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    tokenizer = models.load_tokenizer(folder)
    config = MambaConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, state_size=4)
    models.save(MambaForCausalLM(config), tokenizer, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "mamba"
    with pytest.raises(UsageError, match="cannot serve MambaForCausalLM"):
        TransformersEngine(str(tmp_path))


def test_the_format_is_chosen_by_what_is_faster_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr(precision, "gain", lambda device: 0.6)  # it has the instructions and is slower in them
    assert precision.chosen("auto", "cpu") == "float32"
    assert TransformersEngine(str(folder), dtype="auto").model.dtype == torch.float32
    monkeypatch.setattr(precision, "gain", lambda device: 1.8)
    assert TransformersEngine(str(folder), dtype="auto").model.dtype == torch.bfloat16
    assert precision.chosen("float32", "cpu") == "float32"
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert precision.chosen("auto", "cpu") == "float32"


def test_the_gain_is_measured() -> None:
    assert 0.01 < precision.gain("cpu") < 100
    assert precision.gain("cpu") == precision.gain("cpu")
