"""The one sanitiser: makes hostile text safe to show. Everything shown to a person passes through it.

Control characters and direction overrides become visible marks; nothing is dropped, so what is shown can
be told apart from what was sent. Knows nothing of terminals, markup or widgets.
"""

import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>"


def visible(text: str) -> str:
    """The text with C0 (but tab and newline), DEL, C1, bidi and zero-width controls made visible."""
    return _INVISIBLE.sub(_mark, text)


def one_line(text: str, width: int = 0) -> str:
    """Visible text on one line; cut to `width` characters with an ellipsis when `width` is positive."""
    line = " ".join(visible(text).split())
    return line if not 0 < width < len(line) else line[: width - 1] + "…"
