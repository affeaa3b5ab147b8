"""Where TRL has the same loss, ours equals it on the same tensors: values and gradients."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from simarena.training.losses import LOSSES
from simarena.training.losses.inputs import PolicyTokens, StepCounts

pytestmark = pytest.mark.slow
ROWS, WIDTH, LONGEST = 4, 6, 10


class Accelerator:
    """One process, as TRL asks it."""

    num_processes = 1

    def gather(self, value: torch.Tensor) -> torch.Tensor:
        return value

    def reduce(self, value: torch.Tensor, reduction: str) -> torch.Tensor:
        return value


def drawn() -> dict[str, torch.Tensor]:
    """Log-probs of three policies, advantages by row, and a mask with rows of 6, 3, 1 and 5 tokens."""
    chance = torch.Generator().manual_seed(0)

    def logprobs() -> torch.Tensor:
        return -3 * torch.rand(ROWS, WIDTH, generator=chance)

    lengths = torch.tensor([6, 3, 1, 5])
    current, old = logprobs(), logprobs()
    old[0] = current[0] + 0.1  # a good row that became less likely: no bound holds, however narrow
    return {
        "current": current,
        "old": old,
        "reference": logprobs(),
        "advantages": torch.tensor([1.0, -0.5, 2.0, -1.5]),
        "mask": (torch.arange(WIDTH) < lengths[:, None]).long(),
    }


def of_trl(data: dict[str, torch.Tensor], **settings: Any) -> tuple[float, torch.Tensor]:
    """TRL's loss and the gradient with respect to every log-prob, masked ones among them."""
    from trl.trainer.grpo_trainer import GRPOTrainer

    current = data["current"].clone().requires_grad_()
    given = {
        "loss_type": "grpo",
        "importance_sampling_level": "token",
        "epsilon_low": 0.2,
        "epsilon_high": 0.2,
        "beta": 0.0,
        "delta": None,
        **settings,
    }
    trainer = SimpleNamespace(
        **{name: value for name, value in given.items() if name != "delta"},
        args=SimpleNamespace(delta=given["delta"], use_bias_correction_kl=False, steps_per_generation=1),
        _get_per_token_logps_and_entropies=lambda *_, **__: (current, torch.zeros(ROWS, WIDTH), None),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        model=SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1,
        max_completion_length=LONGEST,
        accelerator=Accelerator(),
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
    )
    prompt = torch.ones(ROWS, 1, dtype=torch.long)
    inputs = {
        "prompt_ids": prompt,
        "prompt_mask": prompt,
        "completion_ids": data["mask"],
        "completion_mask": data["mask"],
        "advantages": data["advantages"],
        "old_per_token_logps": data["old"],
        "ref_per_token_logps": data["reference"],
        "num_items_in_batch": data["mask"].sum(),
    }
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    loss.backward()
    assert current.grad is not None
    return loss.item(), current.grad


def of_ours(data: dict[str, torch.Tensor], kind: str, **settings: Any) -> tuple[float, torch.Tensor]:
    options, loss = LOSSES[kind]
    chosen = options(kind=kind, **settings)
    current = data["current"].clone().requires_grad_()
    kept = data["mask"].bool()
    rows = torch.arange(ROWS)[:, None].expand(ROWS, WIDTH)[kept]
    tokens = PolicyTokens(
        step=StepCounts(tokens=int(kept.sum()), rollouts=ROWS),
        logprobs=current[kept],
        entropy=torch.zeros(int(kept.sum())),
        old=data["old"][kept],
        rollout=data["old"][kept],
        advantages=data["advantages"][rows],
        shares=1 / data["mask"].sum(1)[rows],
        sequences=rows,
        turns=rows,
        pairs=torch.full_like(rows, -1),
        reference=data["reference"][kept] if chosen.anchored else None,
    )
    value, _ = loss(tokens, chosen)
    value.backward()
    assert current.grad is not None
    return value.item(), current.grad


@pytest.mark.parametrize(
    ("theirs", "kind", "ours"),
    [
        ({"loss_type": "dapo", "epsilon_high": 0.28}, "grpo", {}),
        ({"loss_type": "grpo"}, "grpo", {"clip_high": 0.2, "aggregation": "seq-mean-token-mean"}),
        (
            {"loss_type": "grpo", "beta": 0.04},
            "grpo",
            {"clip_high": 0.2, "aggregation": "seq-mean-token-mean", "kl_beta": 0.04},
        ),
        ({"loss_type": "bnpo", "beta": 0.1}, "grpo", {"clip_high": 0.2, "kl_beta": 0.1}),
        ({"loss_type": "dapo", "delta": 3.0}, "ppo", {}),
        ({"loss_type": "dr_grpo"}, "drgrpo", {"horizon": LONGEST}),
        ({"loss_type": "cispo", "epsilon_high": 5.0}, "cispo", {}),
        (
            {
                "loss_type": "grpo",
                "importance_sampling_level": "sequence",
                "epsilon_low": 3e-4,
                "epsilon_high": 4e-4,
            },
            "gspo",
            {},
        ),
        (
            {"loss_type": "dapo", "importance_sampling_level": "sequence"},
            "gspo",
            {"clip_low": 0.2, "clip_high": 0.2, "aggregation": "token-mean"},
        ),
    ],
)
def test_equals_trl(theirs: dict[str, Any], kind: str, ours: dict[str, Any]) -> None:
    data = drawn()
    their_loss, their_gradient = of_trl(data, **theirs)
    our_loss, our_gradient = of_ours(data, kind, **ours)
    assert our_loss == pytest.approx(their_loss, rel=1e-5, abs=1e-6)
    assert torch.allclose(our_gradient, their_gradient, rtol=1e-4, atol=1e-7)
    assert not our_gradient[~data["mask"].bool()].any()
    assert our_gradient.any()
