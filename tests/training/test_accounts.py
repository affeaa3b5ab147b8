"""Accounts: what a step's groups came to is on record, the same as training used."""

from pathlib import Path

import pytest
from rollouts import SEAT, episode

from simarena.arena.errors import RunFolderError
from simarena.arena.ledger import Ledger
from simarena.arena.record import RunFolder
from simarena.training import accounts
from simarena.training.config import Recipe, RolloutOptions, ScenarioChoice
from simarena.training.filters import FilterOptions
from simarena.training.lesson import Lesson

RECIPE = Recipe(
    name="toy",
    scenario=ScenarioChoice(name="toy:Toy"),
    rollout=RolloutOptions(deals=2, group=3),
    seats={SEAT: "learner:assistant"},
    filters=FilterOptions(min_group=0.5),
)


def lesson() -> Lesson:
    """Two deals of three: one with signal and a truncated member, one where all succeed."""
    step = Lesson(RECIPE, 4, Ledger())
    mixed, equal = step.wanted()
    rewards = {mixed: [[0.5, 1.0], [0.0, 0.0], None], equal: [[1.0], [1.0], [1.0]]}
    step.take(
        [
            episode(
                values or [0.0],
                id=f"{step.prefix}/{deal}/{member}",
                deal=deal,
                member=member,
                ending="finished" if values else "turn_cap",
                outcome=float(sum(values) > 0) if values else None,
            )
            for deal, row in rewards.items()
            for member, values in enumerate(row)
        ]
    )
    return step


def test_accounts_hold_what_training_used_and_come_back(tmp_path: Path) -> None:
    step = lesson()
    learned = step.samples()["assistant"]
    folder = RunFolder.create(tmp_path / "run")
    accounts.write(folder, "train-000005", step.accounts())
    kept = accounts.read(folder, "train-000005")
    assert kept == step.accounts()
    assert sorted(account.fate for account in kept) == ["filtered(zero_variance)", "trained"]
    trained = [account for account in kept if not account.rejected]
    for account in trained:
        assert (account.step, account.seat, account.rule["rule"]) == (5, SEAT, RECIPE.credit.rule)
        for member in account.members:
            (sample,) = [one for one in learned if one.rollout == f"{member}/{SEAT}"]
            used = [{sample.advantages[i] for i, t in enumerate(sample.turns) if t == n} for n in (0, 1)]
            assert used == [{turn.advantage} for turn in account.of(member)]
    assert accounts.read(folder, "eval-000000") == []


def test_who_is_not_in_a_group_has_no_credit() -> None:
    step = lesson()
    step.samples()
    assert all(account.of("train-4/0/99") == () for account in step.accounts())
    assert any(len(account.truncated) == 1 for account in step.accounts())


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.write_credit("train-000005", ["nonsense"])
    with pytest.raises(RunFolderError, match="credit/train-000005"):
        accounts.read(folder, "train-000005")
