"""The index of a batch of episodes: each at a glance, and where in the batch's file it stands.

    {"bytes": 81920}                                  size of the batch it is of: of another size it is stale
    {"at": 0, "size": 2048, "episode": "eval-0/0/0", …}

Derived, but for the fate, and made anew from the batch wherever it is missing or stale. Knows the form of the
lines, not where files are.
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import TypeAdapter, ValidationError

from simarena.arena import glance
from simarena.arena.episodes import Episode
from simarena.arena.glance import Glance
from simarena.arena.messages import Frozen


class Header(Frozen):
    """First line of an index."""

    bytes: int


class Entry(Glance):
    """One episode of a batch."""

    at: int
    """Byte at which its line begins."""
    size: int
    """Bytes of its line, the newline among them."""
    fate: str = ""
    """What became of it in the ledger, if whoever wrote it said so: `trained`, `filtered(zero_variance)`, ..."""


_ENTRIES = TypeAdapter(list[Entry])


def entries(
    episodes: Iterable[Episode], lines: Sequence[bytes], fates: Mapping[str, str] | None = None, at: int = 0
) -> list[Entry]:
    """The entries of these episodes, whose lines stand one after the other from this byte on."""
    found = []
    for episode, line in zip(episodes, lines, strict=True):
        fate = (fates or {}).get(episode.id, "")
        found.append(Entry(at=at, size=len(line), fate=fate, **dict(glance.of(episode))))
        at += len(line)
    return found


def write(found: Sequence[Entry]) -> str:
    """The text of an index."""
    header = Header(bytes=found[-1].at + found[-1].size if found else 0)
    lines = [header.model_dump_json(), *(entry.model_dump_json(exclude_defaults=True) for entry in found)]
    return "\n".join(lines) + "\n"


def read(text: bytes, batch_bytes: int) -> list[Entry] | None:
    """The entries in an index; None if it is damaged or of another state of its batch."""
    header, _, rest = text.partition(b"\n")
    try:
        if Header.model_validate_json(header).bytes != batch_bytes:
            return None
        return _ENTRIES.validate_json(b"[" + rest.rstrip(b"\n").replace(b"\n", b",") + b"]")
    except ValidationError:
        return None
