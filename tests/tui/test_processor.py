"""What a thread got of the machine: work counts, waiting for others does not count as its own."""

import time

from simarena.tui.bench.processor import Share


def test_work_is_told_from_sleep_and_waiting_from_both() -> None:
    began = Share.now()
    while time.thread_time() - began.worked < 0.05:
        pass
    busy = Share.now() - began
    time.sleep(0.05)
    both = Share.now() - began
    assert 0.05 <= busy.worked < 0.5
    assert both.passed >= busy.passed + 0.05
    assert both.worked - busy.worked < 0.04
    assert 0 <= both.waited <= both.passed
    assert both.worked <= both.own + 0.01
    assert both.own <= both.passed


def test_a_difference_never_waited_less_than_nothing() -> None:
    assert (Share(1.0, 0.5, 0.0) - Share(0.0, 0.0, 0.25)).waited == 0.0
    assert Share(1.0, 0.5, 0.75).own == 0.25
    assert Share(1.0, 0.5, 2.0).own == 0.0
