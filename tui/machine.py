"""The machine: how busy its cores and its GPUs are. GPUs are asked for through `nvidia-smi`, where there is one.

Knows no run and no screen.
"""

import asyncio
import os
import shutil
from dataclasses import dataclass

from simarena.arena.text import one_line

PERIOD = 2.0
"""Seconds for which a look at the machine is good."""
_ASKED = "--query-gpu=name,utilization.gpu,memory.used,memory.total"
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; the name is safe to show."""

    name: str
    busy: float
    """Share of the last moment in which it worked."""
    used: float
    """GiB of its memory in use, by whomever."""
    memory: float


def cores() -> tuple[float, int]:
    """Processes that wanted a core, on average over the last minute, and how many cores there are."""
    return os.getloadavg()[0], os.cpu_count() or 1


async def gpus() -> tuple[Gpu, ...]:
    """What the GPUs do now; none where there are none, or nobody who tells."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        process = await asyncio.create_subprocess_exec(
            program, _ASKED, "--format=csv,noheader,nounits",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        told, _ = await asyncio.wait_for(process.communicate(), _PATIENCE)
    except (OSError, TimeoutError):
        return ()
    found = (_gpu(line) for line in told.decode(errors="replace").splitlines())
    return tuple(gpu for gpu in found if gpu is not None)


def _gpu(line: str) -> Gpu | None:
    """One line of `nvidia-smi`: name, percent, MiB, MiB; None if it says something else, such as `[N/A]`."""
    name, *numbers = line.rsplit(",", 3)
    try:
        busy, used, memory = map(float, numbers)
    except ValueError:
        return None
    return Gpu(one_line(name, 40), busy / 100, used / 1024, memory / 1024)
