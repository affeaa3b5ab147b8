"""Hand-made rollouts for the tests of training: a tiny random Llama, and episodes with token records."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from simarena.arena.episodes import Episode, Reward, Seat, Turn
from simarena.arena.specs import AgentSpec
from simarena.arena.tokens import TurnRecord
from simarena.training.config import Lora, OptimiserOptions
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.learner import Learner
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.losses.inputs import LossOptions
from simarena.training.samples import Sample

VOCAB = 64
SEAT = "assistant"
ADAPTER = Lora(rank=4, alpha=8.0, targets=("q_proj", "v_proj"))

torch.set_num_threads(1)


def llama(seed: int = 0) -> Any:
    """A random two-layer Llama with tied embeddings and a pad id that is also its end id."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCAB,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=2,
            initializer_range=0.2,
        )
    ).eval()


def record(
    fed: Sequence[int],
    sampled: Sequence[int],
    *,
    logprobs: Sequence[float] | None = None,
    start: bool = False,
    version: int = 0,
    **more: Any,
) -> TurnRecord:
    return TurnRecord(
        policy=more.pop("policy", "assistant"),
        version=version,
        start=start,
        fed=tuple(fed),
        sampled=tuple(sampled),
        logprobs=tuple(logprobs if logprobs is not None else [-1.0] * len(sampled)),
        finish="stop",
        **more,
    )


def episode(
    rewards: Sequence[float] = (),
    *,
    member: int = 0,
    deal: int = 0,
    outcome: float | None = None,
    keys: Sequence[str] = (),
    records: Sequence[TurnRecord] = (),
    **more: Any,
) -> Episode:
    """One reward per turn of the assistant; the user moves before each of its turns."""
    ending = more.pop("ending", "finished")
    finished = ending == "finished"
    turns = []
    for position in range(len(rewards)):
        turns.append(Turn(index=2 * position, seat="user"))
        turns.append(
            Turn(
                index=2 * position + 1,
                seat=SEAT,
                state_key=keys[position] if keys else "",
                record=records[position] if records else record((1, 2), (3, 4), start=position == 0),
            )
        )
    earned = sum(rewards) if outcome is None else outcome
    return Episode(
        id=more.pop("id", f"step/{deal}/{member}"),
        scenario="toy",
        deal=deal,
        member=member,
        seats=more.pop("seats", None)
        or {
            SEAT: Seat(spec=AgentSpec.of_policy("assistant"), version=0),
            "user": Seat(spec=AgentSpec(agent="toy")),
        },
        turns=tuple(turns),
        rewards=tuple(Reward(index=2 * p + 1, seat=SEAT, value=value) for p, value in enumerate(rewards)),
        outcome={SEAT: earned} if finished else {},
        checks=more.pop("checks", {"solved": earned > 0} if finished else {}),
        ending=ending,
        **more,
    )


def credited(*members: Sequence[float]) -> GroupCredit:
    """These advantages as a rule would give them: one row per member, one number per turn."""
    return tuple(tuple(TurnCredit(advantage=a) for a in member) for member in members)


def numbers(credit: GroupCredit) -> tuple[tuple[float, ...], ...]:
    """The advantages alone."""
    return tuple(tuple(turn.advantage for turn in member) for member in credit)


def plain_logprobs(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """log p of each id given those before it, from the full logits of one row; shape [len(ids) - 1]."""
    logits = model(input_ids=torch.tensor([list(ids)])).logits[0, :-1]
    return logits.log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def learner(seed: int = 0, adapter: Lora | None = None, loss: LossOptions | None = None, **more: Any) -> Learner:
    settings = {"lr": 1e-3, "grad_clip": 1e9, **more}
    return Learner(llama(seed), loss or GRPOOptions(), OptimiserOptions(**settings), adapter)


def rollout(number: int, advantages: tuple[float, ...] = (1.0, -0.5), model: Any = None) -> Sample:
    """Two sampled stretches of two tokens each; log-probs as `model` gives them."""
    chance = random.Random(number)
    length = 7 + number % 4
    ids = tuple(chance.randrange(3, VOCAB) for _ in range(length))
    turn = [-1] * length
    turn[2:4], turn[5:7] = [0, 0], [1, 1]
    scored = [0.0, *plain_logprobs(model or llama(), ids).tolist()]
    return Sample(
        key=f"e{number:02}",
        ids=ids,
        mask=tuple(t >= 0 for t in turn),
        advantages=tuple(advantages[t] if t >= 0 else 0.0 for t in turn),
        logprobs=tuple(scored[i] if t >= 0 else 0.0 for i, t in enumerate(turn)),
        versions=tuple(0 if t >= 0 else -1 for t in turn),
        turns=tuple(turn),
    )


BATCH = [rollout(i) for i in range(6)]
