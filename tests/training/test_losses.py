"""The GRPO loss against worked numbers and a plain-Python reference, value by value."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simarena.training.losses import LOSSES
from simarena.training.losses.grpo import GRPOOptions, grpo
from simarena.training.losses.inputs import PolicyTokens

numbers = st.floats(-3, 3, width=32)


def tokens(
    logprobs: list[float],
    old: list[float],
    advantages: list[float],
    entropy: list[float] | None = None,
    reference: list[float] | None = None,
) -> PolicyTokens:
    return PolicyTokens(
        logprobs=torch.tensor(logprobs, requires_grad=True),
        entropy=torch.tensor(entropy or [0.0] * len(logprobs), requires_grad=True),
        old=torch.tensor(old),
        advantages=torch.tensor(advantages),
        reference=None if reference is None else torch.tensor(reference),
    )


def reference_loss(rows: list[tuple[float, ...]], options: GRPOOptions, total: int) -> float:
    """Written from the papers' formulas, one token at a time."""
    loss = 0.0
    for logprob, old, advantage, entropy, ref in rows:
        ratio = math.exp(logprob - old)
        best = min(ratio, 1 + options.clip_high) if advantage > 0 else max(ratio, 1 - options.clip_low)
        loss -= best * advantage
        loss += options.kl_beta * (math.exp(ref - logprob) - (ref - logprob) - 1)
        loss -= options.entropy * entropy
    return loss / total


def test_worked_two_by_four() -> None:
    """Two rows of four tokens, ratios 1, 1.5, 0.5 and 1.1 under advantages +1 and −2."""
    ratios = [1.0, 1.5, 0.5, 1.1] * 2
    advantages = [1.0] * 4 + [-2.0] * 4
    given_tokens = tokens([math.log(r) for r in ratios], [0.0] * 8, advantages)
    loss, metrics = grpo(given_tokens, GRPOOptions(), 8)
    # +1: 1, 1.28 (clipped high), 0.5, 1.1;  −2: 1, 1.5, 0.8 (clipped low), 1.1
    assert loss.item() == pytest.approx((-(1 + 1.28 + 0.5 + 1.1) + 2 * (1 + 1.5 + 0.8 + 1.1)) / 8)
    assert metrics["clip/high"].tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert metrics["clip/low"].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert metrics["ratio"].tolist() == pytest.approx(ratios)
    loss.backward()
    grad = given_tokens.logprobs.grad
    assert grad is not None
    # d/dlogp = −ρA/T where the clip is not active, 0 where it is
    assert grad.tolist() == pytest.approx([-1 / 8, 0, -0.5 / 8, -1.1 / 8, 2 / 8, 3 / 8, 0, 2.2 / 8])


def test_worked_kl_and_entropy() -> None:
    given_tokens = tokens([-1.0, -2.0], [-1.0, -2.0], [0.0, 0.0], entropy=[0.5, 1.5], reference=[-1.0, -1.0])
    loss, metrics = grpo(given_tokens, GRPOOptions(kl_beta=0.1, entropy=0.01), 2)
    assert metrics["kl/reference"].tolist() == pytest.approx([0.0, math.e - 2], abs=1e-6)
    assert loss.item() == pytest.approx((0.1 * (math.e - 2) - 0.01 * 2.0) / 2)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(numbers, numbers, numbers, numbers, numbers), min_size=1, max_size=12),
    cut=st.integers(0, 12),
    beta=st.sampled_from([0.0, 0.2]),
)
def test_equals_the_reference_and_sums_over_micro_batches(
    rows: list[tuple[float, ...]], cut: int, beta: float
) -> None:
    options = GRPOOptions(kl_beta=beta, entropy=0.05)
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    loss = sum(grpo(tokens(*map(list, zip(*part, strict=True))), options, len(rows))[0].item() for part in parts)
    assert loss == pytest.approx(reference_loss(rows, options, len(rows)), rel=1e-4, abs=1e-5)


def test_on_policy_gradient_is_reinforce() -> None:
    logprobs, advantages = [-0.5, -1.5, -3.0], [1.0, -2.0, 0.5]
    ppo = tokens(logprobs, logprobs, advantages)
    grpo(ppo, GRPOOptions(), 3)[0].backward()
    reinforce = torch.tensor(logprobs, requires_grad=True)
    (-(reinforce * torch.tensor(advantages)).sum() / 3).backward()
    assert torch.equal(ppo.logprobs.grad, reinforce.grad)  # type: ignore[arg-type]


def test_metrics_carry_no_gradient() -> None:
    _, metrics = grpo(tokens([-1.0], [-1.5], [1.0], reference=[-2.0]), GRPOOptions(kl_beta=1.0), 1)
    assert metrics
    assert not any(value.requires_grad for value in metrics.values())


def test_every_entry_of_the_table_has_its_own_kind() -> None:
    for kind, (options, _) in LOSSES.items():
        assert options.model_fields["kind"].default == kind
