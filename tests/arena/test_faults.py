"""Drills: whatever the bus and the hosts suffer, the same conversations come out, none lost, none doubled."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import Counting

from simarena.arena.arena import SimulatorArena
from simarena.arena.clock import run_virtual
from simarena.arena.episodes import Episode
from simarena.arena.faults import Faults
from simarena.arena.messages import Limits
from simarena.arena.specs import AgentSpec

PATIENT = Limits(turn_seconds=600, episode_seconds=10_000, attempts=20)
NOISY = {seat: AgentSpec(agent="toys:Counter", options={"slip": 0.3, "delay": 1.0}) for seat in ("a", "b")}


def digests(faults: Faults | None, limits: Limits = PATIENT) -> list[str]:
    async def play() -> list[Episode]:
        async with SimulatorArena(people=3, faults=faults, limits=limits) as arena:
            return [e async for e in arena.play(Counting(turns=6), deals=range(6), group=2, seats=NOISY)]

    episodes = run_virtual(play())
    assert len({e.id for e in episodes}) == len(episodes) == 12
    return [e.digest() for e in sorted(episodes, key=lambda e: e.id)]


CALM = digests(None)


@pytest.mark.parametrize(
    "faults",
    [
        Faults(lose=0.2),
        Faults(double=0.5),
        Faults(refuse=0.2),
        Faults(delay=0.3, delay_seconds=20),
        Faults(crash_every=2.0),
    ],
    ids=lambda faults: "+".join(sorted(faults.model_fields_set)),
)
def test_each_fault_alone_changes_nothing(faults: Faults) -> None:
    assert digests(faults) == CALM


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        Faults,
        seed=st.integers(0, 10**6),
        lose=st.floats(0, 0.2),
        double=st.floats(0, 0.5),
        refuse=st.floats(0, 0.3),
        delay=st.floats(0, 0.3),
        crash_every=st.sampled_from([0.0, 1.0, 5.0]),
    )
)
def test_any_mixture_of_faults_changes_nothing(faults: Faults) -> None:
    assert digests(faults) == CALM


def test_a_drill_can_be_played_again() -> None:
    async def luck(seed: int) -> float:
        faults = Faults(seed=seed, lose=0.3, delay=0.3)
        async with SimulatorArena(faults=faults, limits=PATIENT) as arena:
            async for _ in arena.play(Counting(), deals=range(4), seats=NOISY):
                pass
        return asyncio.get_running_loop().time()

    assert run_virtual(luck(1)) == run_virtual(luck(1)) != run_virtual(luck(2))
