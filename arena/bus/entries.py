"""What one entry may be: the form of its id and the size of its payload.

Every backend checks the same things at its edge, before anything is stored or sent. Knows no backend.
"""

import re

from simarena.arena.bus import PAYLOAD_CAP
from simarena.arena.errors import PayloadTooLarge, UsageError

Position = tuple[int, int]
"""An id as numbers, ordered as the stream is."""

_ID = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def position(id: str) -> Position:
    """Where an id stands: `"12-3"` is (12, 3), `"12"` is (12, 0). Raises UsageError."""
    match = _ID.fullmatch(id)
    if match is None:
        raise UsageError(f"entry id {id!r} is not of the form `turn-seq`, such as '12-3'")
    return int(match[1]), int(match[2] or 0)


def writable(id: str) -> Position:
    """Where a new entry with this id would stand. Raises UsageError; the lowest id is `0-1`."""
    place = position(id)
    if "-" not in id or place == (0, 0):
        raise UsageError(f"entry id {id!r} cannot be written: give `turn-seq`, at least '0-1'")
    return place


def fitting(payload: bytes) -> bytes:
    """The payload, if it is under the cap. Raises PayloadTooLarge."""
    if len(payload) > PAYLOAD_CAP:
        raise PayloadTooLarge(f"payload of {len(payload)} bytes is over the cap of {PAYLOAD_CAP}: send less")
    return payload


def obituary(stream: str, id: str, deliveries: int) -> str:
    """The reason that a dead letter carries."""
    return f"entry {id} of {stream} was delivered {deliveries} times and never acknowledged"
