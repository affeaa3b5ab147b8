"""The collector's thresholds: raised while an arena is open, and what they were afterwards."""

import gc

import pytest

from simarena.arena.arena import SimulatorArena
from simarena.arena.collector import RARELY, rarely


@pytest.fixture(autouse=True)
def _thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


async def test_an_open_arena_collects_rarely_and_gives_the_thresholds_back():
    gc.set_threshold(700, 10, 10)
    async with SimulatorArena("inproc"):
        assert gc.get_threshold() == RARELY
    assert gc.get_threshold() == (700, 10, 10)


async def test_they_come_back_when_opening_fails():
    gc.set_threshold(700, 10, 10)
    with pytest.raises(Exception, match="engine"):
        async with SimulatorArena("inproc", policies={"p": _no_engine()}):
            pass
    assert gc.get_threshold() == (700, 10, 10)


def test_a_process_that_collects_more_rarely_still_is_left_alone():
    gc.set_threshold(100_000, 50, 50)
    with rarely():
        assert gc.get_threshold() == (100_000, 50, 50)


def _no_engine():
    from simarena.arena.specs import EngineSpec

    return EngineSpec(engine="no.such:Engine")
