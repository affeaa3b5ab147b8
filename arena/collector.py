"""The collector: Python's garbage collector, made to look rarely while many conversations are alive.

Turns make no reference cycles, but every message in flight is an object to walk: with a thousand conversations
the default thresholds spend two fifths of the time looking and find nothing. Knows no arena.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (20_000, 10, 10)
"""Allocations before a young collection; young ones before a middle, middle ones before a full one."""


@contextmanager
def rarely() -> Iterator[None]:
    """Raise the thresholds; they are the process's, and the former ones come back at the end."""
    before = gc.get_threshold()
    gc.set_threshold(*map(max, before, RARELY))
    try:
        yield
    finally:
        gc.set_threshold(*before)
