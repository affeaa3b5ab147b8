"""Mutual information: exact on matrices, and low for a policy that recites, however random its words."""

import math
from dataclasses import replace

import pytest
import torch
from rollouts import VOCAB, llama, plain_logprobs, rollout

from simarena.training.mutual import cross_scores, last_turns, mutual_information
from simarena.training.samples import Sample


def test_worked_matrices() -> None:
    """Each reply certain under its own input and impossible elsewhere: log N nats, all retrieved."""
    sure = [[0.0 if i == j else -50.0 for j in range(4)] for i in range(4)]
    found = mutual_information(sure)
    assert found["mutual/information"] == pytest.approx(math.log(4))
    assert (found["mutual/retrieval"], found["mutual/chance"]) == (1.0, 0.25)
    blind = mutual_information([[-1.0] * 4, [-2.0] * 4, [-3.0] * 4, [-0.5] * 4])
    assert blind["mutual/information"] == pytest.approx(0.0)
    mixed = mutual_information([[-1.0, -2.0], [-1.0, -3.0]])
    # row by row: −1 − log((e⁻¹ + e⁻²)/2) and −3 − log((e⁻¹ + e⁻³)/2)
    marginal = [math.log((math.exp(-1) + math.exp(-2)) / 2), math.log((math.exp(-1) + math.exp(-3)) / 2)]
    assert mixed["mutual/information"] == pytest.approx((-1 - marginal[0] + -3 - marginal[1]) / 2)
    assert mixed["mutual/retrieval"] == 0.5
    spread = abs(marginal[0] - marginal[1]) / 2
    assert mixed["mutual/z"] == pytest.approx(mixed["mutual/information"] / (spread + 1e-3))


def test_replies_are_scored_under_every_input() -> None:
    model = llama()
    ends = last_turns([rollout(n) for n in range(3)], 3)
    scores = cross_scores(model, ends, budget=30)
    for i, reply in enumerate(ends):
        said = [token for token, mine in zip(reply.ids, reply.mask, strict=True) if mine]
        for j, reader in enumerate(ends):
            read = reader.ids[: reader.mask.index(True)]
            expected = plain_logprobs(model, [*read, *said])[len(read) - 1 :].mean().item()
            assert scores[i][j] == pytest.approx(expected, abs=1e-5)


def test_one_turn_of_each_episode_is_taken_and_it_is_the_last() -> None:
    batch = [replace(rollout(n), key=f"e{n % 5}/seat/{n // 5:04}") for n in range(10)]
    ends = last_turns(batch, 3)
    assert [end.key for end in ends] == ["e0/seat/0001", "e1/seat/0001", "e2/seat/0001"]
    assert all(end.mask[-2:] == (True, True) and sum(end.mask) == 2 and len(end.ids) == 7 for end in ends)


def conversation(number: int, reply: list[int]) -> Sample:
    ids = (1, 3 + number, 4, *reply)
    zeros = (0.0,) * len(ids)
    mask = (False,) * 3 + (True,) * len(reply)
    turns = tuple(0 if mine else -1 for mine in mask)
    return Sample(f"e{number:02}/seat/0000", ids, mask, zeros, zeros, turns, turns)


def test_a_template_is_seen_while_entropy_stays_high() -> None:
    """One policy answers with what it was asked; another says something random, whatever it was asked."""
    answers, recites = llama(), llama()
    optimisers = [(model, torch.optim.AdamW(model.parameters(), lr=3e-3)) for model in (answers, recites)]
    chance = torch.Generator().manual_seed(0)

    def loss_of(model: object, ids: list[list[int]]) -> torch.Tensor:
        logits = model(input_ids=torch.tensor(ids)).logits[:, 2:-1]  # type: ignore[operator]
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(ids)[:, 3:].flatten())

    for _ in range(150):
        asked = torch.randint(0, 16, (16,), generator=chance).tolist()
        noise = torch.randint(20, VOCAB, (16, 2), generator=chance).tolist()
        for model, optimiser in optimisers:
            replies = [[3 + a, 2] if model is answers else words for a, words in zip(asked, noise, strict=True)]
            loss = loss_of(model, [[1, 3 + a, 4, *r] for a, r in zip(asked, replies, strict=True)])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    noise = torch.randint(20, VOCAB, (8, 2), generator=chance).tolist()
    good = mutual_information(cross_scores(answers, [conversation(n, [3 + n, 2]) for n in range(8)], 1000))
    collapsed = mutual_information(cross_scores(recites, [conversation(n, noise[n]) for n in range(8)], 1000))
    assert good["mutual/retrieval"] == 1.0
    assert good["mutual/information"] > 1.0
    assert collapsed["mutual/information"] < 0.1
    assert collapsed["mutual/retrieval"] <= 0.5
    with torch.no_grad():
        probs = recites(input_ids=torch.tensor([[1, 5, 4]])).logits[0, -1].softmax(-1)
    assert -(probs * probs.log()).sum() > 3.0  # nats: a policy that is far from certain
