"""The load of the machine, with a stand-in for `nvidia-smi` that prints what the real one prints."""

from pathlib import Path

import pytest

from simarena.tui import machine


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("NVIDIA H200, 37, 1024, 143771\n", [("NVIDIA H200", 0.37, 1.0)]),
        ("A, B, 5, 512, 2048\nX\x1b[2J, 0, 0, 1024\n", [("A, B", 0.05, 0.5), ("X␛[2J", 0.0, 0.0)]),
        ("NVIDIA H200, [N/A], 1024, 143771\n", []),
        ("Failed to initialize NVML\n", []),
    ],
)
async def test_gpus_are_told_by_their_program(
    told: str, found: list[tuple[str, float, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "told").write_text(told)
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'told'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert [(gpu.name, gpu.busy, gpu.used) for gpu in await machine.gpus()] == found


async def test_no_program_no_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await machine.gpus() == ()
    load, cores = machine.cores()
    assert load >= 0
    assert cores >= 1
