"""A regular expression that a person typed, run on texts that a model wrote: bounded in time, whatever meets.

Knows no query and no row.
"""

import re
from collections.abc import Callable

import regex

from simarena.arena.errors import UsageError
from simarena.arena.text import one_line

BUDGET = 0.02
"""Seconds of work that one text may take: thousands of times what a sound expression needs on a line."""
_REPEATS = re.compile(r"[*+{]")


class TooSlow(UsageError):
    """The expression would go through a text in too many ways."""


def search(pattern: str) -> Callable[[str], bool]:
    """Whether the expression is found in a text, case aside.

    Raises UsageError if it is none. What is returned raises TooSlow when a text takes more than `BUDGET`.
    """
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, RecursionError, OverflowError) as error:
        raise UsageError(f"query: {one_line(pattern, 40)!r} is no regular expression: {error}") from None
    if not _REPEATS.search(pattern):  # nothing to go through in more than one way, and a clock costs time itself
        return lambda text: compiled.search(text) is not None

    def bounded(text: str) -> bool:
        try:
            return compiled.search(text, timeout=BUDGET) is not None
        except TimeoutError:
            raise TooSlow(
                f"query: {one_line(pattern, 40)!r} takes too long on {one_line(text, 30)!r}: "
                "leave out repeats within repeats"
            ) from None

    return bounded
