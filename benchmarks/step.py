"""One optimiser step on one recorded batch: ours, TRL's, and the step of a textbook.

A group of 8 conversations of 384 tokens: 200 that all share, then four turns of 32 sampled tokens and what the
other said between them. The recorded log-probs are a little off the model's, so that ratios and clipping are at
work and an equal loss means something. Gradients are compared tensor by tensor with the textbook's.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, Literal

from benchmarks.side import Side, Work, in_turns
from benchmarks.table import Row

MEMBERS, PROMPT, TURNS, SPOKEN, HEARD = 8, 200, 4, 32, 14
WIDTH = PROMPT + TURNS * (SPOKEN + HEARD)
LR = 1e-9
"""Too small to move a weight: every repetition has the same gradient."""
CLIP = 1.0
LOW, HIGH = 0.2, 0.28
RANK, ALPHA = 16, 32
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
Kind = Literal["full", "lora"]
TARGET: dict[Kind, str] = {"full": ">= 2.2", "lora": ">= 2.5"}


def compare(kind: Kind, repetitions: int) -> list[Row]:
    """The rows of this kind of training."""
    with tempfile.TemporaryDirectory() as place:
        options: dict[str, Any] = {"kind": kind, "place": place}
        with Side("textbook", "benchmarks.step.textbook", **options) as textbook:
            textbook.ready()  # it has written the batch that the others read
            with (
                Side("ours", "benchmarks.step.ours", **options) as ours,
                Side("trl", "benchmarks.step.trl", **options) as trl,
                Side("ours, one at a time", "benchmarks.step.ours", rows=1, **options) as thrifty,
            ):
                in_turns([ours, trl, textbook, thrifty], repetitions)
                gaps = {one.name: _gap(Path(place), one.name) for one in (ours, trl, thrifty)}
                return _rows(kind, ours, trl, textbook, thrifty, gaps)


def _rows(kind: Kind, ours: Side, trl: Side, textbook: Side, thrifty: Side, gaps: dict[str, float]) -> list[Row]:
    loss = abs(ours.facts["loss"] - trl.facts["loss"])
    work = f"{MEMBERS} x {WIDTH} tokens, prompt {PROMPT}"
    walls = f"wall {ours.wall:.1f} and {trl.wall:.1f} s"
    same = f"loss {ours.facts['loss']:.6f} and {trl.facts['loss']:.6f}"
    return [
        Row(f"step {kind}", ours.cpu, trl.cpu, "CPU s", trl.cpu / ours.cpu, TARGET[kind],
            "TRL GRPOTrainer, fp32, no checkpointing", f"{work}; {same}; {walls}"),
        Row(f"step {kind}, textbook", ours.cpu, textbook.cpu, "CPU s", textbook.cpu / ours.cpu, "",
            "plain PyTorch, logits everywhere", f"loss {textbook.facts['loss']:.6f}"),
        Row(f"step {kind}, memory", ours.peak, trl.peak, "GiB at peak", ours.peak / trl.peak, "<= 0.6",
            "TRL, micro-batch of 8 on both sides"),
        Row(f"step {kind}, loss", ours.facts["loss"], trl.facts["loss"], "loss", loss, "<= 1e-4",
            "TRL; the ratio is the difference"),
        Row(f"step {kind}, gradient", gaps["ours"], gaps["trl"], "max diff/max", gaps["ours"], "<= 2e-4",
            "TRL's gap to plain PyTorch; the ratio is ours"),
        Row(f"step {kind}, micro 1", thrifty.peak, trl.peak, "GiB at peak", thrifty.peak / trl.peak, "",
            "TRL at 8", f"one trajectory at a time, prompt still once: {thrifty.cpu:.1f} CPU s; "
            f"gradient {gaps[thrifty.name]:.1e}"),
    ]  # fmt: skip


def _gap(place: Path, name: str) -> float:
    """The greatest difference of any tensor's gradient from the textbook's, over that tensor's greatest entry."""
    from safetensors.torch import load_file

    one, reference = load_file(place / f"{name}.safetensors"), load_file(place / "textbook.safetensors")
    assert one.keys() == reference.keys(), sorted(one.keys() ^ reference.keys())[:4]
    return max(float((one[key] - grad).abs().max() / grad.abs().max()) for key, grad in reference.items())


def _batch(place: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((Path(place) / "batch.json").read_text())
    return data


def _record(model: Any, place: str) -> None:
    """Draw the batch and write it down, with log-probs a little off the model's."""
    import torch

    chance = torch.Generator().manual_seed(7)
    ids = torch.randint(1000, 40_000, (MEMBERS, WIDTH), generator=chance)
    ids[:, :PROMPT] = ids[0, :PROMPT]
    places = torch.arange(WIDTH) - PROMPT
    mask = (places >= 0) & (places % (SPOKEN + HEARD) < SPOKEN)
    with torch.no_grad():
        scored = torch.cat([_logprobs(model, row[None]) for row in ids])
    old = torch.zeros(MEMBERS, WIDTH)
    old[:, 1:] = scored + 0.15 * torch.randn(MEMBERS, WIDTH - 1, generator=chance)
    data = {
        "ids": ids.tolist(),
        "mask": mask.tolist(),
        "old": (old * mask).tolist(),
        "advantages": torch.randn(MEMBERS, generator=chance).tolist(),
    }
    (Path(place) / "batch.json").write_text(json.dumps(data))


def _logprobs(model: Any, ids: Any) -> Any:
    """log p of each id but the first, from logits at every position: [rows, tokens - 1]."""
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    return logits.log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]


def _same_adapters(named: Any) -> None:
    """Adapters that do something, equal on all sides: drawn by name, in the order of names."""
    import torch

    chance = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, weight in sorted((_plain(name), weight) for name, weight in named):
            if "lora_" in name:
                weight.copy_(0.02 * torch.randn(weight.shape, generator=chance))


def _plain(name: str) -> str:
    return name.removeprefix("base_model.model.")


def _keep(named: Any, file: Path) -> None:
    from safetensors.torch import save_file

    if not file.exists():
        save_file({_plain(n): w.grad.clone().contiguous() for n, w in named if w.grad is not None}, file)


def textbook(kind: Kind, place: str) -> Work:
    """Plain PyTorch: logits at every position, one forward, one backward, AdamW."""
    import torch
    from peft import LoraConfig, inject_adapter_in_model

    from benchmarks.model import folder
    from simarena.agents import models

    torch.set_num_threads(1)
    model = models.load_model(folder())
    _record(model, place)
    if kind == "lora":
        inject_adapter_in_model(
            LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS, lora_dropout=0.0), model
        )
        _same_adapters(model.named_parameters())
    data = _batch(place)
    ids, mask = torch.tensor(data["ids"]), torch.tensor(data["mask"])[1:].float()
    old, advantages = torch.tensor(data["old"])[:, 1:], torch.tensor(data["advantages"])[:, None]
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    adamw = torch.optim.AdamW(trained, lr=LR, weight_decay=0.0, fused=True)

    def work() -> dict[str, Any]:
        adamw.zero_grad()
        ratio = (_logprobs(model, ids) - old).exp()
        surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - LOW, 1 + HIGH) * advantages)
        loss = -(surrogate * mask).sum() / (mask.sum() * MEMBERS)
        loss.backward()
        _keep(model.named_parameters(), Path(place) / "textbook.safetensors")
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        adamw.step()
        return {"loss": loss.item()}

    return work


def ours(kind: Kind, place: str, rows: int = MEMBERS) -> Work:
    """The learner of a run, as a run calls it, with micro-batches of so many trajectories."""
    from benchmarks.model import folder
    from simarena.training.config import LearnerOptions
    from simarena.training.samples import Sample
    from simarena.training.trainer import Trainer

    options = LearnerOptions.model_validate(
        {
            "policy": {"model": "smollm2", "train": kind},
            "loss": {"kind": "grpo", "clip_low": LOW, "clip_high": HIGH},
            "optimiser": {"lr": LR, "grad_clip": CLIP, "micro_tokens": rows * WIDTH if rows > 1 else 1},
        }
    )
    learner = Trainer(folder(), options).learner
    _same_adapters(learner.model.named_parameters())
    data = _batch(place)
    mask = data["mask"]
    batch = [
        Sample(
            key=f"episode-{row}/assistant/0000",
            ids=tuple(data["ids"][row]),
            mask=tuple(mask),
            advantages=tuple(advantage * mine for mine in mask),
            logprobs=tuple(data["old"][row]),
            versions=tuple(10**6 if mine else -1 for mine in mask),  # of another version: ratios are not 1
            turns=tuple((n - PROMPT) // (SPOKEN + HEARD) if mine else -1 for n, mine in enumerate(mask)),
        )
        for row, advantage in enumerate(data["advantages"])
    ]
    file = Path(place) / f"{'ours' if rows > 1 else 'ours, one at a time'}.safetensors"
    clip = learner._clip

    def kept() -> float:
        _keep(learner.model.named_parameters(), file)
        return clip()

    learner._clip = kept  # type: ignore[method-assign]
    return lambda: {"loss": learner.update(batch)["loss/policy"]}


def trl(kind: Kind, place: str) -> Work:
    """TRL's trainer on CPU as its user must set it: fp32, no gradient checkpointing."""
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from trl import GRPOConfig, GRPOTrainer

    from benchmarks.model import folder

    torch.set_num_threads(1)
    settings = GRPOConfig(
        output_dir=place, use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[], loss_type="bnpo",
        epsilon=LOW, epsilon_high=HIGH, beta=0.0, learning_rate=LR, weight_decay=0.0, max_grad_norm=CLIP,
        per_device_train_batch_size=MEMBERS, num_generations=MEMBERS, max_completion_length=WIDTH - PROMPT,
        model_init_kwargs={"dtype": "float32"}, disable_tqdm=True,
    )  # fmt: skip
    adapters = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS, lora_dropout=0.0)
    trainer = GRPOTrainer(
        model=str(folder()),
        args=settings,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        train_dataset=Dataset.from_list([{"prompt": "hello"}] * MEMBERS),
        peft_config=adapters if kind == "lora" else None,
    )
    model = trainer.model
    _same_adapters(model.named_parameters())
    model.train()
    trainer.current_gradient_accumulation_steps = 1
    trainer.create_optimizer()
    data = _batch(place)
    ids, mask = torch.tensor(data["ids"]), torch.tensor(data["mask"])[PROMPT:].long()
    inputs = {
        "prompt_ids": ids[:, :PROMPT],
        "prompt_mask": torch.ones(MEMBERS, PROMPT, dtype=torch.long),
        "completion_ids": ids[:, PROMPT:],
        "completion_mask": torch.ones(MEMBERS, WIDTH - PROMPT, dtype=torch.long),
        "tool_mask": mask.repeat(MEMBERS, 1),
        "old_per_token_logps": torch.tensor(data["old"])[:, PROMPT:],
        "advantages": torch.tensor(data["advantages"]),
        "num_items_in_batch": mask.sum() * MEMBERS,
    }
    trained = [weight for weight in model.parameters() if weight.requires_grad]

    def work() -> dict[str, Any]:
        trainer.optimizer.zero_grad()
        loss = trainer.compute_loss(model, inputs)
        trainer.accelerator.backward(loss)
        _keep(model.named_parameters(), Path(place) / "trl.safetensors")
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        trainer.optimizer.step()
        return {"loss": loss.item()}

    return work
