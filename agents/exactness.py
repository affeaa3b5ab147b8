"""Exactness: asks the CPU's matrix library for products whose rows do not depend on how many there are.

Intel's MKL, inside torch, picks other kernels for other shapes, and on Intel's processors those round
differently: a conversation would then differ in the last bit with its batch mates. Its strict mode makes them
agree at full speed. On other makers' processors MKL has one path, and asking would send it to its slowest. The
library reads the setting at its first product, and some libraries make one while they are loaded, so the packages
that compute import this module before anything else. Knows no model.
"""

import os
from pathlib import Path

SETTING, STRICT = "MKL_CBWR", "AUTO,STRICT"
_CPUINFO = Path("/proc/cpuinfo")


def wants_strict(cpuinfo: str) -> bool:
    """Whether the processor that this text describes needs the strict mode, and has it."""
    return "GenuineIntel" in cpuinfo and " avx2 " in cpuinfo


if _CPUINFO.exists() and wants_strict(_CPUINFO.read_text()):
    os.environ.setdefault(SETTING, STRICT)
