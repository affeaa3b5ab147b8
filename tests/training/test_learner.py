"""The learner's step: exactness on policy, invariance to how the step is cut, and what it refuses to do."""

import dataclasses
import math
import random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts import ADAPTER, BATCH, SEAT, episode, learner, llama, plain_logprobs, record, rollout

from simarena.arena.errors import UsageError
from simarena.training.branches import grow
from simarena.training.config import Lora, OptimiserOptions
from simarena.training.credit import assign
from simarena.training.credit.trajectory import TrajectoryOptions
from simarena.training.groups import form
from simarena.training.learner import Learner
from simarena.training.losses import LOSSES
from simarena.training.losses.correction import Correction
from simarena.training.losses.dpo import DPOOptions
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.samples import Sample, samples


def gradient(batch: list[Sample], **more: Any) -> dict[str, torch.Tensor]:
    """The gradient of one step, caught before the optimiser uses it."""
    caught: dict[str, torch.Tensor] = {}
    subject = learner(**more)

    def catch() -> None:
        caught.update({name: weight.grad.clone() for name, weight in subject.trained.items()})

    subject.adamw.register_step_pre_hook(lambda *_: catch())
    subject.update(batch)
    return caught


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], within: float) -> bool:
    return one.keys() == other.keys() and all(
        torch.allclose(g, other[name], atol=within, rtol=1e-4) for name, g in one.items()
    )


def test_first_step_is_exactly_on_policy() -> None:
    metrics = learner().update(BATCH)
    assert metrics["ratio/mean"] == metrics["ratio/max"] == metrics["ratio/ess"] == 1.0
    assert metrics["kl/old"] == metrics["clip/low"] == metrics["clip/high"] == metrics["tokens/stale"] == 0.0
    assert metrics["mismatch/max"] < 1e-5
    assert metrics["tokens/trained"] == 24


def test_first_step_is_reinforce() -> None:
    model = llama()
    total = torch.zeros(())
    for one in BATCH:
        logprobs = plain_logprobs(model, one.ids)
        total = total - sum(logprobs[i - 1] * one.advantages[i] for i in range(len(one.ids)) if one.mask[i])
    (total / 24).backward()
    plain = {name: weight.grad for name, weight in model.named_parameters()}
    assert same(gradient(BATCH), plain, 1e-6)  # type: ignore[arg-type]


STALE = [dataclasses.replace(s, versions=tuple(v - (v >= 0) for v in s.versions)) for s in BATCH[:3]]
"""The first half of the batch as if an earlier version had sampled it."""


@pytest.mark.parametrize("kind", sorted(LOSSES))
@settings(max_examples=4, deadline=None)
@given(budget=st.sampled_from([1, 11, 22, 10_000]), seed=st.integers(0, 9))
def test_micro_batches_and_arrival_order_change_no_gradient(kind: str, budget: int, seed: int) -> None:
    batch = [
        dataclasses.replace(
            one, pair=f"pair {n % 3}", advantages=tuple((-1) ** (n // 3) * a for a in one.advantages)
        )
        for n, one in enumerate([*STALE, *BATCH[3:]])
    ]
    shuffled = random.Random(seed).sample(batch, len(batch))
    more = {} if kind == "dpo" else {"entropy": 0.1, "kl_beta": 0.1}
    loss = LOSSES[kind][0](kind=kind, **more)
    whole = gradient(batch, micro_tokens=10_000, loss=loss)
    assert any(g.any() for g in whole.values())
    assert same(gradient(shuffled, micro_tokens=budget, loss=loss), whole, 1e-6)


def test_equal_cuts_are_bit_equal_in_any_arrival_order() -> None:
    one, other = learner(micro_tokens=20), learner(micro_tokens=20)
    one.update(BATCH)
    other.update(BATCH[::-1])
    assert all(torch.equal(w, other.trained[name]) for name, w in one.trained.items())


def test_splitting_a_rollout_into_samples_changes_nothing() -> None:
    """The same turns as one trajectory, or as one sample a turn with the whole prefix fed."""
    ids = BATCH[0].ids
    logprobs = [0.0, *plain_logprobs(llama(), ids).tolist()]

    def turn(start: int, begin: int, end: int) -> Any:
        return record(ids[start:begin], ids[begin:end], logprobs=logprobs[begin:end], start=start == 0)

    joined = episode([1.0, 0.0, 2.0], records=[turn(0, 2, 3), turn(3, 4, 5), turn(5, 6, 7)])
    split = episode([1.0, 0.0, 2.0], records=[turn(0, 2, 3), turn(0, 4, 5), turn(0, 6, 7)])
    other = episode([0.0], member=1, records=[turn(0, 3, 5)])
    grads = []
    for first in (joined, split):
        group = form([first, other], SEAT)
        (advantages,) = assign([group], TrajectoryOptions(), random.Random(0))
        batch = list(samples(group, advantages))
        assert len(batch) == (2 if first is joined else 4)
        grads.append(gradient(batch))
    assert same(grads[0], grads[1], 1e-6)


def test_a_trajectory_without_credit_is_never_read_and_counts_all_the_same() -> None:
    silent = [rollout(i, advantages=(0.0, 0.0)) for i in range(10, 13)]
    subject = learner()
    read: list[int] = []
    subject.model.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: read.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    metrics = subject.update([*BATCH[:3], *silent])
    assert (sum(read), metrics["tokens/trained"]) == (3, 24)
    alone, mixed = gradient(BATCH[:3]), gradient([*BATCH[:3], *silent])
    assert same(mixed, {name: weight / 2 for name, weight in alone.items()}, 1e-7)
    # With a bonus for entropy it has a gradient of its own.
    bonus = GRPOOptions(entropy=0.1)
    assert not same(gradient(silent, loss=bonus), {name: 0 * g for name, g in mixed.items()}, 1e-7)
    before = {name: weight.clone() for name, weight in subject.trained.items()}
    assert subject.update(silent)["train/skipped_steps"] == 1.0
    assert all(torch.equal(weight, before[name]) for name, weight in subject.trained.items())


def test_the_reference_is_read_once_however_many_passes() -> None:
    subject = learner(loss=GRPOOptions(kl_beta=0.1), epochs=3)
    assert subject._reference is not None
    read: list[int] = []
    subject._reference.base_model.register_forward_pre_hook(lambda *_: read.append(1))
    metrics = subject.update(BATCH)
    assert len(read) == 1
    assert metrics["kl/reference"] > 0


def test_only_sampled_tokens_are_trained() -> None:
    """An id that was only read is no target: its row of the head sees the softmax mass alone."""
    model = llama()
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    subject = Learner(model, GRPOOptions(), OptimiserOptions(grad_clip=1e9))
    heads: list[torch.Tensor] = []
    subject.adamw.register_step_pre_hook(lambda *_: heads.append(model.lm_head.weight.grad.clone()))
    base = rollout(1, advantages=(1.0, 1.0))
    foreign = next(i for i, sampled in enumerate(base.mask) if not sampled and i > 3)
    subject.update([base])
    reference = llama()
    out = reference.base_model(input_ids=torch.tensor([base.ids])).last_hidden_state[0]
    probs = reference.lm_head(out).softmax(-1)
    sampled = [i for i, was in enumerate(base.mask) if was]
    foreign_row = heads[0][base.ids[foreign]]
    expected = torch.stack([probs[i - 1, base.ids[foreign]] * out[i - 1] / 4 for i in sampled]).sum(0)
    assert base.ids[foreign] not in [base.ids[i] for i in sampled]
    assert torch.allclose(foreign_row, expected.detach(), atol=1e-6)


@pytest.mark.parametrize("batch", [[], [dataclasses.replace(BATCH[0], mask=(False,) * len(BATCH[0].mask))]])
def test_a_batch_without_policy_tokens_changes_nothing_and_is_counted(batch: list[Sample]) -> None:
    subject = learner(weight_decay=0.1)
    subject.update(BATCH)
    before = {name: weight.clone() for name, weight in subject.trained.items()}
    metrics = subject.update(batch)
    assert all(torch.equal(weight, before[name]) for name, weight in subject.trained.items())
    assert (metrics["train/skipped_steps"], metrics["tokens/trained"], subject.version) == (1.0, 0.0, 2)


def test_a_gradient_that_is_not_finite_is_skipped_and_counted() -> None:
    subject = learner()
    before = {name: weight.clone() for name, weight in subject.trained.items()}
    metrics = subject.update([rollout(0, advantages=(float("inf"), 1.0))])
    assert all(torch.equal(weight, before[name]) for name, weight in subject.trained.items())
    assert metrics["train/skipped_steps"] == metrics["train/nonfinite_steps"] == 1.0
    metrics = subject.update(BATCH)
    assert metrics["train/skipped_steps"] == 1.0
    assert not all(torch.equal(weight, before[name]) for name, weight in subject.trained.items())


def test_stale_tokens_are_compared_with_what_they_were_sampled_with() -> None:
    subject = learner(lr=5e-3)
    subject.update(BATCH)
    metrics = subject.update(BATCH)
    assert metrics["tokens/stale"] == 1.0
    assert metrics["ratio/max"] > 1.001
    assert metrics["kl/old"] > 0
    assert 0 < metrics["ratio/ess"] < 1
    assert metrics["mismatch/max"] == 0.0


def test_sampler_mismatch_is_reported_and_does_not_touch_the_gradient() -> None:
    noisy = [dataclasses.replace(s, logprobs=tuple(p + 0.01 * bool(p) for p in s.logprobs)) for s in BATCH]
    metrics = learner().update(noisy)
    assert metrics["mismatch/max"] == pytest.approx(0.01, abs=1e-4)
    assert same(gradient(noisy), gradient(BATCH), 0.0)


def test_three_policies_are_kept_apart() -> None:
    """Without a correction the ratio covers the gap to the sampler; with one it is the correction's."""
    noisy = [dataclasses.replace(s, logprobs=tuple(p - 0.5 * (p != 0) for p in s.logprobs)) for s in STALE]
    plain = learner().update(noisy)
    corrected = learner(loss=GRPOOptions(correction=Correction(how="truncate", high=1.5))).update(noisy)
    assert plain["ratio/mean"] == pytest.approx(math.exp(0.5), rel=1e-4)
    assert "correction/weight" not in plain
    assert corrected["ratio/mean"] == 1.0
    assert corrected["correction/weight"] == pytest.approx(1.5)


def test_more_epochs_move_the_ratio_and_are_more_steps() -> None:
    once, twice = learner(lr=5e-3), learner(lr=5e-3, epochs=2)
    assert once.update(BATCH)["ratio/max"] == 1.0
    metrics = twice.update(BATCH)
    assert metrics["ratio/max"] > 1.001
    assert metrics["mismatch/max"] < 1e-5
    assert twice.version == 1
    steps = [int(state["step"]) for state in twice.adamw.state.values()]
    assert set(steps) == {2}


def test_a_pair_stays_in_one_micro_batch_and_dpo_prefers_its_chosen_side() -> None:
    pair = [
        dataclasses.replace(rollout(n, advantages=(sign, sign)), pair="a", key=f"e{n}/assistant/0000")
        for n, sign in ((0, 1.0), (3, -1.0))
    ]
    assert len(grow([*pair, *BATCH[1:3]], 1).parts) == 3
    subject = learner(loss=DPOOptions(beta=1.0), lr=1e-2)
    first, *_, last = [
        subject.update([dataclasses.replace(s, versions=s.versions) for s in pair]) for _ in range(6)
    ]
    assert first["loss/policy"] == pytest.approx(math.log(2), abs=1e-5)
    assert first["pairs/margin"] == pytest.approx(0, abs=1e-5)
    assert last["pairs/margin"] > 0.1
    assert last["pairs/accuracy"] == 1.0


def test_kl_to_the_start_is_zero_at_first_and_grows() -> None:
    for adapter in (None, ADAPTER):
        subject = learner(adapter=adapter, loss=GRPOOptions(kl_beta=0.1), lr=1e-2)
        first, second = subject.update(BATCH), subject.update(BATCH)
        assert first["kl/reference"] == pytest.approx(0, abs=1e-10)
        assert second["kl/reference"] > 1e-6


def test_warmup_and_gradient_clipping() -> None:
    subject = learner(warmup=4, lr=0.4, grad_clip=1e-3)
    rates = [subject.update(BATCH)["train/learning_rate"] for _ in range(5)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4])
    norms: list[float] = []
    clipped = learner(grad_clip=1e-3)
    clipped.adamw.register_step_pre_hook(
        lambda *_: norms.append(torch.stack([w.grad.norm() for w in clipped.trained.values()]).norm().item())
    )
    assert clipped.update(BATCH)["train/grad_norm"] > 1e-2
    assert norms == pytest.approx([1e-3], rel=1e-3)


def test_lora_trains_adapters_only_and_publishes_merged_weights() -> None:
    subject = learner(adapter=ADAPTER, lr=1e-2)
    assert subject.trained.keys() == {n for n, _ in subject.model.named_parameters() if ".lora_" in n}
    plain = llama()
    assert all((subject.weights()[name] == w.numpy()).all() for name, w in plain.state_dict().items())
    subject.update(BATCH)
    plain.load_state_dict({name: torch.from_numpy(array) for name, array in subject.weights().items()})
    ids = torch.tensor([BATCH[0].ids])
    assert torch.allclose(plain(input_ids=ids).logits, subject.model(input_ids=ids).logits, atol=1e-5)
    assert not torch.allclose(plain(input_ids=ids).logits, llama()(input_ids=ids).logits, atol=1e-3)


def test_lora_starts_the_same_for_the_same_seed() -> None:
    torch.manual_seed(5)
    one = Learner(llama(), GRPOOptions(), OptimiserOptions(), ADAPTER, seed=1)
    other = Learner(llama(), GRPOOptions(), OptimiserOptions(), ADAPTER, seed=1)
    third = Learner(llama(), GRPOOptions(), OptimiserOptions(), ADAPTER, seed=2)
    assert all(torch.equal(w, other.trained[n]) for n, w in one.trained.items())
    assert not all(torch.equal(w, third.trained[n]) for n, w in one.trained.items())


def test_published_weights_are_a_snapshot_with_tied_arrays_once() -> None:
    subject = learner()
    snapshot = subject.weights()
    assert snapshot["lm_head.weight"] is snapshot["model.embed_tokens.weight"]
    kept = snapshot["lm_head.weight"].copy()
    subject.update(BATCH)
    assert (snapshot["lm_head.weight"] == kept).all()


def test_lora_targets_must_exist() -> None:
    with pytest.raises(UsageError, match="wrong_proj"):
        learner(adapter=Lora(targets=("wrong_proj",)))


@pytest.mark.parametrize("shuffle", [False, True])
def test_learning_smoke(shuffle: bool) -> None:
    """A bandit: sampling an id below 16 pays 1. It must be learned, and must not be from shuffled advantages."""
    subject = learner(lr=1e-2, grad_clip=1.0)
    credit = TrajectoryOptions(shuffle=shuffle)

    def distribution() -> torch.Tensor:
        with torch.no_grad():
            return subject.model(input_ids=torch.tensor([[1, 5]])).logits[0, -1].softmax(-1)

    before = float(distribution()[:16].sum())
    for step in range(25):
        chance = torch.Generator().manual_seed(step)
        probs = distribution()
        drawn = torch.multinomial(probs, 64, replacement=True, generator=chance).tolist()
        logprobs = probs.log().tolist()
        plays = [
            episode(
                [float(token < 16)],
                deal=number % 4,
                member=number // 4,
                records=[record((1, 5), (token,), logprobs=(logprobs[token],), start=True, version=step)],
            )
            for number, token in enumerate(drawn)
        ]
        groups = [form(plays[deal::4], SEAT) for deal in range(4)]
        advantages = assign(groups, credit, random.Random(step))
        batch = [s for group, a in zip(groups, advantages, strict=True) for s in samples(group, a)]
        metrics = subject.update(batch)
        assert metrics.get("mismatch/max", 0.0) < 1e-4  # absent once every group agrees and nothing is read
    after = float(distribution()[:16].sum())
    assert before < 0.5
    if shuffle:
        assert after < before + 0.2
    else:
        assert after > 0.9
