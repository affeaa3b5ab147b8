"""Pictures: their bytes by content, in a folder that every process of a run can read.

A message carries the hash alone, so that the bus and the record stay small and equal pictures are one file. The
folder is $SIMARENA_PICTURES, else one in $SIMARENA_HOME; on several machines it must be shared. Knows no format
and no model.
"""

import hashlib
import os
from pathlib import Path

from simarena.arena.errors import RecordError
from simarena.arena.messages import Image

PLACE = "SIMARENA_PICTURES"


def folder() -> Path:
    """Where pictures are kept."""
    home = os.environ.get("SIMARENA_HOME") or Path.home() / ".cache" / "simarena"
    return Path(os.environ.get(PLACE) or Path(home) / "pictures").expanduser()


def keep(data: bytes, mime: str = "image/png") -> Image:
    """Store the bytes of a picture file; what a message may then hold."""
    image = Image(sha256=hashlib.sha256(data).hexdigest(), mime=mime)
    file = folder() / image.sha256
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.{os.getpid()}")
        part.write_bytes(data)
        part.replace(file)  # whole or not at all: another process may be looking
    return image


def load(image: Image) -> bytes:
    """The bytes of a picture. Raises RecordError if they are not here, or are not those."""
    file = folder() / image.sha256
    try:
        data = file.read_bytes()
    except OSError:
        raise RecordError(
            f"picture {image.sha256[:12]} is not in {str(file.parent)!r}: set {PLACE} to the folder it was kept in"
        ) from None
    if hashlib.sha256(data).hexdigest() != image.sha256:
        raise RecordError(f"picture {str(file)!r} does not hold what its name says: remove it and keep it again")
    return data
