"""The examples run as written, and the remote one plays in a real arena over Valkey."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from simarena.arena import AgentSpec, Limits, SimulatorArena

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def run(name: str) -> list[str]:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_play_prints_every_episode() -> None:
    lines = run("play.py")
    assert len(lines) == 8
    assert lines[0].startswith("play/")


def test_a_scenario_of_ones_own_is_checked_and_played() -> None:
    lines = run("guess_number.py")
    assert len(lines) == 5
    assert all(line.endswith("right") for line in lines)


def test_examples_are_short() -> None:
    assert len((EXAMPLES / "remote_agent.py").read_text().splitlines()) < 45
    assert "simarena" not in (EXAMPLES / "remote_agent.py").read_text().replace("AgentSpec", "")


@pytest.mark.slow
async def test_any_process_can_take_a_seat() -> None:
    async with SimulatorArena(bus="auto", limits=Limits(turn_seconds=20)) as arena:
        command = [sys.executable, str(EXAMPLES / "remote_agent.py"), arena.bus.url, arena.run, "parrot"]
        parrot = await asyncio.create_subprocess_exec(*command)
        try:
            seats = {"assistant": AgentSpec.of_remote("parrot")}
            play = arena.play("service-desk", seats=seats, deals=range(6))
            episodes = [episode async for episode in play]
        finally:
            parrot.kill()
            await parrot.wait()
    assert [episode.ending for episode in episodes] == ["finished"] * 6
    said = [m.text for e in episodes for m in e.messages if m.seat == "assistant"]
    assert said
    assert all(text.startswith("You said: ") for text in said)
