"""The matrix library is asked for exact products where it needs to be asked, before it is first used."""

import subprocess
import sys

from simarena.agents.exactness import wants_strict

PROBE = """
import simarena.agents.engines.attention, torch
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


def test_a_row_is_the_same_in_any_product_in_a_fresh_process():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
