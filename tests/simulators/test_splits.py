"""Splits: by hash, stable, disjoint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simarena.arena.errors import ScenarioError
from simarena.simulators.phrasebook import Phrasebook, phrasebook
from simarena.simulators.scenarios.service_desk.phrases import PATHS, TRAIN
from simarena.simulators.splits import require_disjoint, split_of


def test_an_eighth_is_held_out_and_an_eighth_for_validation():
    sides = [split_of("x", str(n)) for n in range(4000)]
    assert 0.1 < sides.count("heldout") / 4000 < 0.15
    assert 0.1 < sides.count("validation") / 4000 < 0.15


def test_a_request_never_moves():
    # Worked values: moving one would mix old checkpoints' training deals with held-out ones.
    goals = [("service-desk", "book", "maple", "rome", day) for day in ("monday", "tuesday", "thursday", "friday")]
    assert [split_of(*goal) for goal in goals] == ["train", "heldout", "train", "heldout"]


@given(st.sets(st.text(min_size=1)), st.sets(st.text(min_size=1)))
def test_overlap_raises_exactly_when_there_is_one(train, heldout):
    if train & heldout:
        with pytest.raises(ScenarioError, match="lines in two splits"):
            require_disjoint("lines", train, heldout)
    else:
        assert require_disjoint("lines", train, heldout) is None


def test_a_phrasebook_is_found_by_its_path_and_chooses_by_chance_alone():
    assert phrasebook(PATHS["train"]) is TRAIN
    book = Phrasebook({"hello": ("hi {name}.", "hello {name}."), "bye": ("bye.",)})
    said = [book.say("hello", {"name": "ann"}, n) for n in range(40)]
    assert set(said) == {"hi ann.", "hello ann."}
    assert said == [book.say("hello", {"name": "ann"}, n) for n in range(40)]
