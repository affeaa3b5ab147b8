"""The scorer equals a plain forward pass, whatever stands beside a sample in its batch."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from rollouts import VOCAB, llama, plain_logprobs

from simarena.arena.errors import UsageError
from simarena.training.batches import micro_batches
from simarena.training.config import Lora
from simarena.training.lora import attach
from simarena.training.samples import Sample
from simarena.training.scorer import check, score


def sample(number: int, length: int, temperature: float = 1.0) -> Sample:
    """Random ids, the pad and end id 2 among them; every third token and the last were sampled."""
    chance = torch.Generator().manual_seed(number)
    ids = torch.randint(2, VOCAB, (length,), generator=chance).tolist()
    mask = tuple(i > 0 and (i % 3 == 0 or i == length - 1) for i in range(length))
    values = tuple(float(m) for m in mask)
    zeros = (0,) * length
    return Sample(f"e{number:02}", (*ids[:-1], 2), mask, values, values, zeros, zeros, temperature)


SAMPLES = [sample(i, 5 + 2 * i) for i in range(8)]


def scores_by_key(model: Any, batch: list[Sample], budget: int, chunk: int = 512) -> dict[str, list[float]]:
    ordered = sorted(batch, key=lambda s: (len(s.ids), s.key))
    found = [score(model, part, chunk).logprobs for part in micro_batches(batch, budget)]
    flat = iter(torch.cat(found).tolist())
    return {s.key: [next(flat) for sampled in s.mask if sampled] for s in ordered}


def plain(model: Any, one: Sample) -> list[float]:
    all_positions = plain_logprobs(model, one.ids)
    return [all_positions[i - 1].item() for i, sampled in enumerate(one.mask) if sampled]


def test_equals_full_logits_token_by_token() -> None:
    model = llama()
    scored = scores_by_key(model, SAMPLES, 100)
    for one in SAMPLES:
        assert scored[one.key] == pytest.approx(plain(model, one), abs=1e-5)


def test_invariant_to_batch_padding_order_and_chunk() -> None:
    model = llama()
    alone = {key: value for one in SAMPLES for key, value in scores_by_key(model, [one], 1).items()}
    for budget, chunk in ((10_000, 512), (40, 512), (10_000, 3), (1, 1)):
        together = scores_by_key(model, SAMPLES[::-1], budget, chunk)
        for key, values in alone.items():
            assert together[key] == pytest.approx(values, abs=1e-5)


def test_what_pads_is_never_read() -> None:
    model = llama()
    (batch,) = micro_batches(SAMPLES, 10_000)
    padding = batch.positions >= batch.lengths[:, None]
    assert padding.any()
    other = replace(batch, ids=torch.where(padding, 7, batch.ids))
    assert torch.equal(score(model, batch).logprobs, score(model, other).logprobs)


def test_scores_at_the_temperature_of_sampling() -> None:
    model = llama()
    one = sample(3, 9, temperature=0.6)
    logits = model(input_ids=torch.tensor([one.ids])).logits[0, :-1] / 0.6
    logprobs = logits.log_softmax(-1)
    wanted = [i for i, sampled in enumerate(one.mask) if sampled]
    scores = score(model, micro_batches([one], 100)[0])
    assert scores.logprobs.tolist() == pytest.approx(
        [logprobs[i - 1, one.ids[i]].item() for i in wanted], abs=1e-5
    )
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    assert scores.entropy.tolist() == pytest.approx([entropy[i - 1].item() for i in wanted], abs=1e-5)


def test_gradients_equal_those_of_full_logits() -> None:
    ours, theirs = llama(), llama()
    (batch,) = micro_batches(SAMPLES, 10_000)
    scores = score(ours, batch, chunk=5)
    (scores.logprobs.sum() + 0.3 * scores.entropy.sum()).backward()
    total = torch.zeros(())
    for one in SAMPLES:
        logprobs = theirs(input_ids=torch.tensor([one.ids])).logits[0, :-1].log_softmax(-1)
        for i, sampled in enumerate(one.mask):
            if sampled:
                row = logprobs[i - 1]
                total = total + row[one.ids[i]] - 0.3 * (row.exp() * row).sum()
    total.backward()
    for (name, mine), (_, other) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert torch.allclose(mine.grad, other.grad, atol=1e-5, rtol=1e-4), name


PREFIX = (1, 9, 8, 7, 6, 5)
SHARED = [replace(s, ids=(*PREFIX, *s.ids[6:]), mask=(False,) * 6 + s.mask[6:]) for s in SAMPLES[2:]]


@pytest.mark.parametrize("adapter", [None, Lora(rank=4, targets=("q_proj", "k_proj", "up_proj"))])
def test_a_shared_prefix_is_run_once_and_changes_nothing(adapter: Lora | None) -> None:
    once, each = llama(), llama()
    for model in (once, each):
        if adapter:
            attach(model, adapter, seed=3)
            for name, weight in model.named_parameters():
                if "lora_B" in name:
                    torch.nn.init.normal_(weight, std=0.1, generator=torch.Generator().manual_seed(len(name)))
    (batch,) = micro_batches(SHARED, 10_000)
    assert batch.shared == 5
    fed: list[int] = []
    once.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: fed.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    scores, plain_scores = score(once, batch), score(each, replace(batch, shared=0))
    assert fed == [5, batch.ids.numel() - 5 * len(SHARED)]
    assert torch.allclose(scores.logprobs, plain_scores.logprobs, atol=1e-5)
    assert torch.allclose(scores.entropy, plain_scores.entropy, atol=1e-5)
    for each_scores in (scores, plain_scores):
        (each_scores.logprobs.sum() + 0.3 * each_scores.entropy.sum()).backward()
    for (name, mine), (_, other) in zip(once.named_parameters(), each.named_parameters(), strict=True):
        if mine.requires_grad:
            assert (mine.grad - other.grad).norm() <= 1e-5 * other.grad.norm(), name


def test_a_shared_prefix_ends_before_anything_sampled_is_predicted() -> None:
    same = [replace(SAMPLES[2], key=key) for key in "ab"]
    first = same[0].mask.index(True)
    (batch,) = micro_batches(same, 10_000)
    assert batch.shared == first - 1
    (alone,) = micro_batches(same[:1], 10_000)
    assert alone.shared == 0
    assert score(llama(), batch).logprobs.tolist() == pytest.approx(plain(llama(), same[0]) * 2, abs=1e-5)


def test_poison_at_foreign_positions_stays_out() -> None:
    """NaN hidden states wherever nothing sampled is predicted from: scores and gradients stay as they were."""
    model, clean = llama(), llama()
    (batch,) = micro_batches(SAMPLES, 10_000)
    predicts = torch.zeros(batch.ids.shape, dtype=torch.bool)
    predicts[batch.rows, batch.columns - 1] = True

    def poison(module: Any, args: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state.masked_fill(~predicts[..., None], float("nan"))
        return output

    model.base_model.register_forward_hook(poison)
    poisoned, plain_scores = score(model, batch), score(clean, batch)
    assert torch.equal(poisoned.logprobs, plain_scores.logprobs)
    assert torch.equal(poisoned.entropy, plain_scores.entropy)
    poisoned.logprobs.sum().backward()
    plain_scores.logprobs.sum().backward()
    for mine, other in zip(model.parameters(), clean.parameters(), strict=True):
        assert torch.equal(mine.grad, other.grad)


def test_models_that_change_their_logits_are_refused() -> None:
    model = llama()
    check(model)
    model.config.final_logit_softcapping = 30.0
    with pytest.raises(UsageError, match="final_logit_softcapping"):
        check(model)
