"""TRL's: the same environment as a TRL user writes it; the plain way without vLLM. Run it from the repository."""

import asyncio

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.desk import Call
from benchmarks.model import folder

PROMPTS, GROUP, TURNS, TOKENS = 4, 8, 4, 32


def rollout(prompts, trainer):
    tokenizer = trainer.processing_class
    model = trainer.accelerator.unwrap_model(trainer.model)
    calls = [Call(int(prompt[0]["content"]), patience=TURNS) for prompt in prompts]
    for call in calls:
        asyncio.run(call.listen())
    opened = [tokenizer.apply_chat_template(c.chat(), add_generation_prompt=True, return_dict=True) for c in calls]
    starts = [one["input_ids"] for one in opened]
    ids = [[] for _ in calls]
    mask = [[] for _ in calls]
    while active := [n for n, call in enumerate(calls) if not call.over]:
        held = [starts[n] + ids[n] for n in active]
        width = max(map(len, held))
        padded = torch.tensor([[2] * (width - len(one)) + one for one in held])
        seen = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in held])
        with torch.no_grad():
            out = model.generate(
                padded, attention_mask=seen, do_sample=True, top_k=0, max_new_tokens=TOKENS, pad_token_id=2
            )
        for n, row in zip(active, out[:, width:].tolist(), strict=True):
            said = row[: row.index(2) + 1] if 2 in row else row
            before = len(calls[n].chat())
            asyncio.run(calls[n].say(tokenizer.decode(said, skip_special_tokens=True)))
            heard = "".join(
                f"\n<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>"
                for turn in calls[n].chat()[before + 1 :]
            )
            tail = f"{'' if said[-1] == 2 else '<|im_end|>'}{heard}\n<|im_start|>assistant\n"
            fed = [] if calls[n].over else tokenizer(tail, add_special_tokens=False)["input_ids"]
            ids[n] += said + fed
            mask[n] += [1] * len(said) + [0] * len(fed)
    return {
        "prompt_ids": starts,
        "completion_ids": ids,
        "logprobs": [[0.0] * len(one) for one in ids],
        "env_mask": mask,
        "earned": [call.reward for call in calls],
    }


def earned(completions, earned, **_):
    return earned


settings = GRPOConfig(
    output_dir="trl-run",
    use_cpu=True,
    bf16=False,
    gradient_checkpointing=False,
    model_init_kwargs={"dtype": "float32"},
    per_device_train_batch_size=8,
    gradient_accumulation_steps=4,
    num_generations=GROUP,
    max_completion_length=400,
    learning_rate=1e-6,
    max_steps=1,
    save_strategy="no",
    report_to=[],
)
trainer = GRPOTrainer(
    model=str(folder()),
    args=settings,
    reward_funcs=earned,
    rollout_func=rollout,
    train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": str(n)}]} for n in range(PROMPTS)]),
)
trainer.train()
