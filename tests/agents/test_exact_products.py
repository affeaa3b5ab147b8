"""The matrix library is asked for exact products where it needs to be asked, before it is first used."""

import os
import subprocess
import sys

import pytest

from simarena.agents.exactness import SETTING, wants_strict

PROBE = """
import importlib, sys
importlib.import_module(sys.argv[1])
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
rows = torch.randn(64, 576)
for outputs in (128, 210, 576, 1536):
    weight = torch.randn(outputs, 576)
    whole = torch.nn.functional.linear(rows, weight)
    for count in (4, 8, 12, 24, 40):
        assert torch.equal(torch.nn.functional.linear(rows[:count], weight), whole[:count]), (outputs, count)
"""


def test_intel_is_asked_and_others_are_left_alone():
    assert wants_strict("vendor_id : GenuineIntel\nflags : fpu avx avx2 avx512f ")
    assert not wants_strict("vendor_id : AuthenticAMD\nflags : fpu avx avx2 avx512f ")
    assert not wants_strict("vendor_id : GenuineIntel\nflags : fpu avx ")


@pytest.mark.parametrize("first", ["simarena.agents.engines.attention", "simarena.training.learner"])
def test_a_row_is_the_same_in_any_product_in_a_fresh_process(first: str) -> None:
    """Whatever is loaded first: some libraries multiply while they are loaded, and the setting is read once."""
    unasked = {name: value for name, value in os.environ.items() if name != SETTING}
    done = subprocess.run([sys.executable, "-c", PROBE, first], env=unasked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
