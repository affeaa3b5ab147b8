"""The scorer equals a plain forward pass, whatever stands beside a sample in its batch."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from rollouts import VOCAB, llama, plain_logprobs

from simarena.arena.errors import UsageError
from simarena.training.branches import Branch, grow
from simarena.training.config import Lora
from simarena.training.lora import attach
from simarena.training.samples import Sample
from simarena.training.scorer import Scores, check, score


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
    return {
        key: scores.logprobs[part.rows == row].tolist()
        for part, scores in score(model, grow(batch, budget), chunk)
        for row, key in enumerate(part.keys)
    }


def whole(model: Any, batch: list[Sample], chunk: int = 512) -> Scores:
    """All samples as one micro-batch."""
    ((_, scores),) = score(model, grow(batch, 10_000, worth=10_000), chunk)
    return scores


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
    tree = grow(SAMPLES, 10_000)
    (batch,) = tree.parts
    padding = batch.positions >= batch.lengths[:, None]
    assert padding.any()
    other = replace(tree, parts=(replace(batch, ids=torch.where(padding, 7, batch.ids)),))
    (one,), (two,) = ([scores.logprobs for _, scores in score(model, each)] for each in (tree, other))
    assert torch.equal(one, two)


def test_scores_at_the_temperature_of_sampling() -> None:
    model = llama()
    one = sample(3, 9, temperature=0.6)
    logits = model(input_ids=torch.tensor([one.ids])).logits[0, :-1] / 0.6
    logprobs = logits.log_softmax(-1)
    wanted = [i for i, sampled in enumerate(one.mask) if sampled]
    scores = whole(model, [one])
    assert scores.logprobs.tolist() == pytest.approx(
        [logprobs[i - 1, one.ids[i]].item() for i in wanted], abs=1e-5
    )
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    assert scores.entropy.tolist() == pytest.approx([entropy[i - 1].item() for i in wanted], abs=1e-5)


def test_gradients_equal_those_of_full_logits() -> None:
    ours, theirs = llama(), llama()
    scores = whole(ours, SAMPLES, chunk=5)
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


OPENINGS = ((8, 7, 6, 5), (8, 7, 3, 3), (9, 4, 4, 4))


def group(number: int, opening: tuple[int, ...], members: int = 3) -> list[Sample]:
    """Conversations that begin with the same instructions, an opening of their own, and differ after it."""
    start = (1, *range(20, 32), *opening)
    return [
        replace(
            one,
            key=f"g{number}/{one.key}",
            ids=(*start, *one.ids),
            **{
                field: (*[0] * len(start), *getattr(one, field))
                for field in ("mask", "advantages", "logprobs", "versions", "turns")
            },
        )
        for one in (sample(10 * number + i, 6 + 3 * i) for i in range(members))
    ]


GROUPS = [one for number, opening in enumerate(OPENINGS) for one in group(number, opening)]


def adapted(adapter: Lora | None) -> Any:
    """A model, with adapters that change what it says."""
    model = llama()
    if adapter:
        attach(model, adapter, seed=3)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.1, generator=torch.Generator().manual_seed(len(name)))
    return model


def learned(model: Any, tree: Branch) -> dict[str, list[float]]:
    """Leaves a gradient in the model; the log-prob of each token by sample."""
    told = {}
    for part, scores in score(model, tree):
        (scores.logprobs * torch.cos(part.columns.float()) + 0.3 * scores.entropy).sum().backward()
        told |= {key: scores.logprobs[part.rows == row].tolist() for row, key in enumerate(part.keys)}
    return told


@pytest.mark.parametrize("budget", [10_000, 30, 1])
@pytest.mark.parametrize("adapter", [None, Lora(rank=4, targets=("q_proj", "k_proj", "up_proj"))])
def test_what_samples_share_is_run_once_and_changes_nothing(adapter: Lora | None, budget: int) -> None:
    """Instructions of all, openings of groups, any cut below: scores and gradients are those of the plain way."""
    once, each = adapted(adapter), adapted(adapter)
    fed: list[int] = []
    once.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: fed.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    shared, plain_tree = grow(GROUPS, budget, worth=1), grow(GROUPS, 1, worth=10_000)
    assert len(plain_tree.parts) == len(GROUPS)
    mine, plainly = learned(once, shared), learned(each, plain_tree)
    # The instructions; what two openings have in common; what is left of each, and of the third.
    assert [n for n in fed if n in (13, 2, 4)][:2] == [13, 2]
    assert sum(fed) == shared.computed < grow(GROUPS, budget, worth=10_000).computed - 8 * 13
    assert mine.keys() == plainly.keys()
    for key, values in plainly.items():
        assert mine[key] == pytest.approx(values, abs=1e-5)
    for (name, one), (_, other) in zip(once.named_parameters(), each.named_parameters(), strict=True):
        if one.requires_grad:
            assert other.grad.any(), name
            assert (one.grad - other.grad).norm() <= 1e-5 * other.grad.norm(), name


def test_a_short_window_of_attention_survives_sharing() -> None:
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = MistralConfig(
        vocab_size=VOCAB, num_key_value_heads=2, sliding_window=5, initializer_range=0.2, **sizes
    )
    model = MistralForCausalLM(config).eval()
    shared, each = (learned(model, grow(GROUPS, 60, worth)) for worth in (1, 10_000))
    for key, values in each.items():
        assert shared[key] == pytest.approx(values, abs=1e-5)
    assert each[GROUPS[0].key] == pytest.approx(plain(model, GROUPS[0]), abs=1e-5)


def test_a_shared_stretch_ends_before_anything_sampled_is_predicted() -> None:
    same = [replace(SAMPLES[2], key=key) for key in "ab"]
    (branch,) = grow(same, 10_000, worth=1).branches
    assert branch.end == same[0].mask.index(True) - 1
    assert grow(same[:1], 10_000, worth=0).branches == ()
    scored = scores_by_key(llama(), same, 10_000)
    assert scored == {key: pytest.approx(plain(llama(), same[0]), abs=1e-5) for key in "ab"}


def test_poison_at_foreign_positions_stays_out() -> None:
    """NaN hidden states wherever nothing sampled is predicted from: scores and gradients stay as they were."""
    model, clean = llama(), llama()
    (batch,) = grow(SAMPLES, 10_000).parts
    predicts = torch.zeros(batch.ids.shape, dtype=torch.bool)
    predicts[batch.rows, batch.columns - 1] = True

    def poison(module: Any, args: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state.masked_fill(~predicts[..., None], float("nan"))
        return output

    model.base_model.register_forward_hook(poison)
    poisoned, plain_scores = whole(model, SAMPLES), whole(clean, SAMPLES)
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
