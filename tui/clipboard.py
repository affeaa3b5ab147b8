"""Where copied text goes: the desktop's clipboard if a program for it is here, else the terminal and a file.

Says which, since a terminal never answers whether it took the text. Knows no screen.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
)
_TERMINAL_BYTES = 74_000
"""Most terminals take no more than this by OSC 52 (100,000 characters of base64)."""


def copy(text: str, terminal: Callable[[str], None]) -> str:
    """Copy, and say in a few words where the text went. `terminal` sends it there (OSC 52)."""
    for variable, command in _PROGRAMS:
        if (not variable or os.environ.get(variable)) and shutil.which(command[0]) and _piped(command, text):
            return f"copied {len(text):,} characters to the clipboard with {command[0]}"
    path = Path(tempfile.gettempdir()) / f"simarena-copied-{os.getuid()}.txt"
    _private(path, text)
    if len(text.encode()) > _TERMINAL_BYTES:
        return f"too long for the terminal's clipboard: {len(text):,} characters written to {path}"
    terminal(text)
    return f"sent {len(text):,} characters to the terminal's clipboard, and to {path} in case it takes none"


def _piped(command: tuple[str, ...], text: str) -> bool:
    try:
        subprocess.run(command, input=text.encode(), timeout=2, check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _private(path: Path, text: str) -> None:
    """Readable by this person only; never through a link that somebody else put there."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
