"""Batches keep token identity and a fixed order, and never look at ids to find padding."""

import random

import pytest
from rollouts import SEAT, credited, episode, record

from simarena.arena.errors import RecordError
from simarena.training.batches import MicroBatch
from simarena.training.branches import grow
from simarena.training.credit.turns import TurnCredit
from simarena.training.groups import form
from simarena.training.samples import Sample, samples


def micro_batches(batch: list[Sample], budget: int) -> list[MicroBatch]:
    return list(grow(batch, budget).all_parts())


def sample(key: str, length: int, sampled: int = 2) -> Sample:
    return Sample(
        key=key,
        ids=tuple(range(1, length + 1)),
        mask=(False,) * (length - sampled) + (True,) * sampled,
        advantages=(0.0,) * (length - sampled) + (1.0,) * sampled,
        logprobs=(0.0,) * (length - sampled) + (-1.0,) * sampled,
        versions=(-1,) * (length - sampled) + (0,) * sampled,
        turns=(-1,) * (length - sampled) + (0,) * sampled,
    )


def test_trained_ids_are_the_sampled_ids() -> None:
    records = [
        record((1, 2, 3), (4, 2), logprobs=(-0.5, -0.25), start=True, version=3),
        record((5,), (6,), logprobs=(-1.0,), version=4),
    ]
    (got,) = samples(form([episode([1.0, 2.0], records=records)], SEAT), credited([0.5, -0.5]))
    assert got == Sample(
        key="step/0/0/assistant/0000",
        ids=(1, 2, 3, 4, 2, 5, 6),
        mask=(False, False, False, True, True, False, True),
        advantages=(0.0, 0.0, 0.0, 0.5, 0.5, 0.0, -0.5),
        logprobs=(0.0, 0.0, 0.0, -0.5, -0.25, 0.0, -1.0),
        versions=(-1, -1, -1, 3, 3, -1, 4),
        turns=(-1, -1, -1, 0, 0, -1, 1),
    )
    (batch,) = micro_batches([got], 100)
    targets = batch.ids[batch.rows, batch.columns].tolist()
    assert targets == [4, 2, 6]
    assert batch.logprobs.tolist() == [-0.5, -0.25, -1.0]
    assert batch.advantages.tolist() == [0.5, 0.5, -0.5]


def test_a_prefix_break_starts_a_second_sample_with_its_own_turns() -> None:
    records = [record((1, 2), (3,), start=True), record((1, 9), (4, 2), start=True), record((7,), (8,))]
    first, second = samples(form([episode([1.0, 2.0, 3.0], records=records)], SEAT), credited([0.1, 0.2, 0.3]))
    assert (first.ids, first.advantages) == ((1, 2, 3), (0.0, 0.0, 0.1))
    assert (second.ids, second.advantages) == ((1, 9, 4, 2, 7, 8), (0.0, 0.0, 0.2, 0.2, 0.0, 0.3))
    assert first.key < second.key


def test_tokens_of_one_turn_may_have_credit_of_their_own() -> None:
    records = [record((1, 2), (3, 4), start=True), record((5,), (6, 2))]
    credit = ((TurnCredit(advantage=9.0, tokens=(0.1, 0.2)), TurnCredit(advantage=0.5)),)
    (got,) = samples(form([episode([1.0, 2.0], records=records)], SEAT), credit)
    assert got.advantages == (0.0, 0.0, 0.1, 0.2, 0.0, 0.5, 0.5)
    assert got.rollout == "step/0/0/assistant"


def test_order_and_cut_do_not_depend_on_arrival() -> None:
    batch = [sample(f"e{i}", 5 + i % 4) for i in range(12)]
    shuffled = random.Random(1).sample(batch, len(batch))
    one, other = micro_batches(batch, 24), micro_batches(shuffled, 24)
    assert len(one) == len(other) > 1
    assert all(a.ids.equal(b.ids) and a.rows.equal(b.rows) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("budget", [1, 24, 10_000])
def test_micro_batches_keep_to_the_budget_and_lose_nothing(budget: int) -> None:
    batch = [sample(f"e{i}", 4 + i % 5) for i in range(11)]
    parts = micro_batches(batch, budget)
    assert sum(part.count for part in parts) == 22
    assert sum(int(part.lengths.sum()) for part in parts) == sum(len(s.ids) for s in batch)
    assert all(part.ids.numel() <= budget or len(part.ids) == 1 for part in parts)


def test_right_padding_with_plain_positions() -> None:
    (batch,) = micro_batches([sample("a", 3), sample("b", 6)], 100)
    assert batch.lengths.tolist() == [3, 6]
    assert batch.positions.tolist() == [list(range(6))] * 2
    assert batch.ids[0, :3].tolist() == [1, 2, 3]


def test_samples_without_policy_tokens_are_left_out() -> None:
    assert micro_batches([sample("a", 4, sampled=0)], 100) == []


def test_one_sample_twice_is_refused() -> None:
    with pytest.raises(RecordError, match="twice"):
        micro_batches([sample("a", 3), sample("a", 4)], 100)


def test_a_sampled_id_needs_something_before_it() -> None:
    with pytest.raises(RecordError, match="begins with a sampled id"):
        micro_batches([sample("a", 2, sampled=2)], 100)


@pytest.mark.parametrize("temperatures", [(0.0, 0.0), (1.0, 0.5)])
def test_greedy_or_mixed_temperatures_cannot_be_learned_from(temperatures: tuple[float, float]) -> None:
    records = [record((1,), (3,), start=i == 0, temperature=t) for i, t in enumerate(temperatures)]
    with pytest.raises(RecordError, match="temperatures"):
        samples(form([episode([1.0, 0.0], records=records)], SEAT), credited([0.0, 0.0]))


def test_records_of_another_policy_are_refused() -> None:
    strange = episode([1.0], records=[record((1,), (3,), start=True, policy="rival")])
    with pytest.raises(RecordError, match="records are of 'rival'"):
        samples(form([strange], SEAT), ((0.0,),))
