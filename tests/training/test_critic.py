"""The critic: its loss, what it reads, that it learns without touching the policy, and that it resumes exactly."""

from dataclasses import replace
from pathlib import Path

import plain_losses as plain
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rollouts import BATCH, SEAT, episode, llama, record

from simarena.agents import tiny
from simarena.arena.errors import RunFolderError
from simarena.arena.messages import Message, Text
from simarena.training import checkpoints, recipe_file
from simarena.training.credit import Evidence
from simarena.training.credit.evidence import CriticOptions
from simarena.training.credit.turnppo import TurnPPOOptions, turnppo
from simarena.training.critic import Critic
from simarena.training.groups import form
from simarena.training.losses.value import value_loss
from simarena.training.privileged import hint
from simarena.training.samples import Sample, by_turn, samples
from simarena.training.trainer import Trainer

numbers = st.floats(-3, 3, width=32)


def test_value_loss_worked() -> None:
    """Towards 1 from 0: at 0.1 the error is 0.9; at 0.9 it counts from the bound, 0.2; past the goal in full."""
    values = torch.tensor([0.1, 0.9, 2.0], requires_grad=True)
    loss = value_loss(values, torch.zeros(3), torch.ones(3), 0.2)
    assert loss.item() == pytest.approx((0.9**2 + 0.8**2 + 1.0) / 6)
    loss.backward()
    assert values.grad is not None
    assert values.grad.tolist() == pytest.approx([-0.9 / 3, 0.0, 1.0 / 3])


@given(
    rows=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8), clip=st.sampled_from([0.1, 1.0])
)
def test_value_loss_equals_the_reference(rows: list[tuple[float, float, float]], clip: float) -> None:
    values, old, targets = (torch.tensor(column) for column in zip(*rows, strict=True))
    expected = plain.mean([plain.value_loss(v, o, t, clip) for v, o, t in rows])
    assert value_loss(values, old, targets, clip).item() == pytest.approx(expected, rel=1e-4, abs=1e-5)


def with_targets(batch: list[Sample]) -> list[Sample]:
    """The goal of each sampled token is its id over 64."""
    return [
        replace(s, targets=tuple(i / 64 if mine else None for i, mine in zip(s.ids, s.mask, strict=True)))
        for s in batch
    ]


def test_it_begins_at_zero_and_learns_its_targets_from_the_policys_own_states() -> None:
    model = llama()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    critic = Critic(32, CriticOptions(lr=1e-2, epochs=10, clip=1.0), seed=0)
    first = critic.values(model, BATCH, {}, 1000)
    assert {value for values in first.values() for value in values} == {0.0}
    batch = with_targets(BATCH)
    losses = []
    for _ in range(20):
        critic.values(model, BATCH, {}, 1000)
        losses.append(critic.learn(batch))
    assert losses[0]["critic/explained"] <= 0.0
    assert losses[-1]["critic/explained"] > 0.9
    values = critic.values(model, BATCH, {}, 1000)
    goals = [goal for s in batch for goal in s.targets if goal is not None]
    assert [v for s in batch for v in values[s.key]] == pytest.approx(goals, abs=0.15)
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


@pytest.mark.parametrize("budget", [1, 25, 1000])
def test_values_do_not_depend_on_micro_batches(budget: int) -> None:
    critic = trained()
    whole, cut = critic.values(llama(), BATCH, {}, 1000), critic.values(llama(), BATCH[::-1], {}, budget)
    assert whole.keys() == cut.keys()
    assert all(cut[key] == pytest.approx(values, abs=1e-5) for key, values in whole.items())


def trained() -> Critic:
    critic = Critic(32, CriticOptions(), seed=0)
    critic.values(llama(), BATCH, {}, 1000)
    critic.learn(with_targets(BATCH))
    return critic


def test_a_hint_is_read_first_and_changes_what_is_seen() -> None:
    critic = trained()
    plain_values = critic.values(llama(), BATCH, {}, 1000)
    hinted = critic.values(llama(), BATCH, {BATCH[0].rollout: (9, 9, 9)}, 1000)
    assert hinted[BATCH[0].key] != plain_values[BATCH[0].key]
    assert len(hinted[BATCH[0].key]) == len(plain_values[BATCH[0].key])
    assert hinted[BATCH[1].key] == pytest.approx(plain_values[BATCH[1].key], abs=1e-6)


def test_a_hint_holds_what_was_fixed_before_the_seat_spoke_and_that_it_did_not_hear() -> None:
    def said(number: str, text: str, audience: tuple[str, ...] | None) -> Message:
        return Message(
            episode="e", id=number, seat="user", kind="speech", parts=(Text(text=text),), audience=audience
        )

    messages = (
        said("0-0", "i am in a hurry", ("user",)),
        said("0-1", "hello", None),
        said("2-0", "now i am angry", ("user",)),
    )
    play = episode([1.0, 0.0], messages=messages, labels={"persona": "terse"})
    assert hint(play, SEAT) == "persona terse i am in a hurry"


def test_values_by_turn_follow_a_rollout_through_its_samples() -> None:
    says = [record((1, 2), (3, 4), start=True), record((1, 9), (4,), start=True), record((7,), (8, 2))]
    group = form([episode([1.0, 2.0, 3.0], records=says)], SEAT)
    zero = Evidence(values={("step/0/0", SEAT): [[0.0, 0.0], [0.0], [0.0, 0.0]]})
    credit = turnppo(group, TurnPPOOptions(gamma=1.0, trace=1.0), zero)
    drawn = samples(group, credit)
    assert by_turn(drawn, {drawn[0].key: [0.1, 0.2], drawn[1].key: [0.3, 0.4, 0.5]}) == {
        ("step/0/0", SEAT): [[0.1, 0.2], [0.3], [0.4, 0.5]]
    }
    assert [s.targets for s in drawn] == [(None, None, 6.0, None), (None, None, 5.0, None, 3.0, None)]


def test_a_critic_resumes_bit_for_bit(tmp_path: Path) -> None:
    straight, cut = trained(), trained()
    checkpoints.save_critic(tmp_path, cut)
    again = Critic(32, CriticOptions(), seed=5)
    checkpoints.load_critic(tmp_path, again)
    for critic in (straight, again):
        critic.values(llama(), BATCH, {}, 1000)
        critic.learn(with_targets(BATCH))
    one, other = straight.state(), again.state()
    assert one.keys() == other.keys()
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    with pytest.raises(RunFolderError, match="no critic to resume"):
        checkpoints.load_critic(tmp_path / "nowhere", again)


def test_a_hint_cannot_become_a_control_token(tmp_path: Path) -> None:
    model = tiny.build(["say", "red"], tmp_path / "model", seed=0)
    trainer = Trainer(model, recipe_file.load("service-desk-tiny", ["credit.rule=turnppo"]))
    control = set(trainer.tokenizer.all_special_ids) - {trainer.tokenizer.unk_token_id}
    text = " ".join(["say red", *trainer.tokenizer.all_special_tokens])
    assert not control & set(trainer._plain(text))
    assert trainer._plain("say red")
