"""Token records: concatenating turns rebuilds what the model saw, and only that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simarena.arena.errors import RecordError
from simarena.arena.tokens import TurnRecord, trail, trajectories

IDS = st.lists(st.integers(0, 2**31 - 1), max_size=6).map(tuple)


def record(fed: tuple[int, ...], sampled: tuple[int, ...], start: bool = False, policy: str = "a") -> TurnRecord:
    return TurnRecord(
        policy=policy,
        version=3,
        start=start,
        fed=fed,
        sampled=sampled,
        logprobs=(-0.5,) * len(sampled),
        finish="stop",
    )


RECORDS = st.lists(st.builds(record, IDS, IDS, st.booleans()), min_size=1, max_size=6)


def test_a_record_checks_equal_lengths() -> None:
    with pytest.raises(RecordError, match="2 sampled ids but 1 log-probs"):
        TurnRecord(policy="a", version=0, start=True, fed=(1,), sampled=(2, 3), logprobs=(-1.0,), finish="stop")


@pytest.mark.parametrize("bad", [0.5, float("nan"), float("-inf")])
def test_a_record_refuses_what_is_no_log_prob(bad: float) -> None:
    with pytest.raises(RecordError, match=f"finite and at most 0, got {bad}"):
        TurnRecord(policy="a", version=0, start=True, fed=(), sampled=(2, 3), logprobs=(-0.5, bad), finish="stop")


@given(RECORDS)
def test_json_keeps_every_bit(records: list[TurnRecord]) -> None:
    assert [TurnRecord.model_validate_json(r.model_dump_json()) for r in records] == records


def test_two_turns_make_one_sample() -> None:
    first = record((1, 2, 3), (10, 11), start=True)
    second = record((4,), (12,))
    (sample,) = trajectories("assistant", [first, second])
    assert sample.ids == (1, 2, 3, 10, 11, 4, 12)
    assert sample.mask == (False, False, False, True, True, False, True)
    assert sample.turn_of == (-1, -1, -1, 0, 0, -1, 1)
    assert sample.logprobs == (0, 0, 0, -0.5, -0.5, 0, -0.5)
    assert sample.turns == (0, 1)


def test_a_prefix_break_opens_a_new_sample() -> None:
    samples = trajectories("a", [record((1,), (2,), start=True), record((7, 8), (9,), start=True)])
    assert [sample.ids for sample in samples] == [(1, 2), (7, 8, 9)]
    assert [sample.turns for sample in samples] == [(0,), (1,)]


def test_policies_never_mix_in_a_sample() -> None:
    with pytest.raises(RecordError, match="mixes policies"):
        trajectories("a", [record((1,), (2,), start=True), record((3,), (4,), policy="b")])


@given(RECORDS)
def test_samples_hold_exactly_the_sampled_tokens(records: list[TurnRecord]) -> None:
    samples = trajectories("a", records)
    assert sum(sum(sample.mask) for sample in samples) == sum(len(r.sampled) for r in records)
    sampled = [i for sample in samples for i, m in zip(sample.ids, sample.mask, strict=True) if m]
    assert sampled == [i for r in records for i in r.sampled]
    assert sorted(t for sample in samples for t in sample.turns) == list(range(len(records)))


@given(RECORDS)
def test_the_trail_is_the_last_sample(records: list[TurnRecord]) -> None:
    held = trail(records)
    assert held is not None
    assert held.ids == trajectories("a", records)[-1].ids
    assert held.turns == len(records)
