"""One learner over two processes against the same learner in one: seconds of a step on the wall.

Two groups of 8 conversations of 384 tokens, LoRA and full training.
"""

import dataclasses
import random
from typing import Any

from benchmarks.side import Side, Work, in_turns
from benchmarks.step import MEMBERS, PROMPT, SPOKEN, WIDTH, Kind
from benchmarks.table import Row

GROUPS = 2


def compare(repetitions: int) -> list[Row]:
    """A row for each kind of training."""
    return [_compare("full", repetitions), _compare("lora", repetitions)]


def _compare(kind: Kind, repetitions: int) -> Row:
    with (
        Side("two ranks", "benchmarks.ranks.work", kind=kind, ranks=2) as two,
        Side("one rank", "benchmarks.ranks.work", kind=kind, ranks=1) as one,
    ):
        in_turns([two, one], repetitions)
        norms = f"grad norm {two.facts['norm']:.5f} and {one.facts['norm']:.5f}"
        note = f"{GROUPS} groups of {MEMBERS} x {WIDTH}; {norms}"
        return Row(f"two ranks, {kind}", two.wall, one.wall, "s a step", one.wall / two.wall, "", "one rank", note)


def work(kind: Kind, ranks: int) -> Work:
    """Updates of a trainer over so many ranks."""
    from benchmarks.model import folder
    from simarena.training.config import LearnerOptions
    from simarena.training.samples import Sample
    from simarena.training.trainer import hire

    options = LearnerOptions.model_validate(
        {"policy": {"model": "smollm2", "train": kind}, "optimiser": {"lr": 1e-9, "micro_tokens": 2048}}
    )
    trainer = hire(folder(), options, 0, 1, ranks)
    chance = random.Random(3)
    mask = tuple(n >= PROMPT and (n - PROMPT) % 46 < SPOKEN for n in range(WIDTH))
    batch = []
    for group in range(GROUPS):
        prompt = chance.choices(range(1000, 40_000), k=PROMPT)
        for member in range(MEMBERS):
            advantage = chance.gauss(0, 1)
            batch.append(
                Sample(
                    key=f"{group}-{member}/assistant/0",
                    ids=(*prompt, *chance.choices(range(1000, 40_000), k=WIDTH - PROMPT)),
                    mask=mask,
                    advantages=tuple(advantage * mine for mine in mask),
                    logprobs=(0.0,) * WIDTH,
                    versions=(0,) * WIDTH,
                    turns=tuple((n - PROMPT) // 46 if mine else -1 for n, mine in enumerate(mask)),
                )
            )
    version = 0

    def step() -> dict[str, Any]:
        nonlocal version
        fresh = [dataclasses.replace(one, versions=(version,) * WIDTH) for one in batch]
        version += 1
        return {"norm": trainer.do("update", fresh)["train/grad_norm"]}

    return step
