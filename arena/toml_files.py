"""TOML files that a person writes: how they are read, and the one way of saying what is wrong in them.

Used by recipes and by tournament scripts. Knows none of their keys: who asks says which would have been valid.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from simarena.arena.errors import UnknownName, UsageError


def read(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file. Raises FileNotFoundError, and UsageError for one that cannot be read.

    `what` names it in errors: `recipe`, `tournament script`.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read {what} {str(path)!r}: {error}") from None


def explain(error: ErrorDetails, what: str, key: str, known: Callable[[], Iterable[str]]) -> UsageError:
    """One thing that is wrong, with its dotted key, the value and the fix; `known` gives the valid keys."""
    if error["type"] == "extra_forbidden":
        return UnknownName(f"{what} key", key, known())
    if error["type"] == "missing":
        return UsageError(f"{what} key {key!r} is missing")
    problem = error["msg"].removeprefix("Value error, ")
    if not isinstance(error["input"], Mapping | BaseModel):
        return UsageError(f"{what} key {key!r} = {error['input']!r}: {problem}")
    own = error["type"] == "value_error"  # our own words name their keys
    return UsageError(f"{what}: {problem}" if own or not key else f"{what} key {key!r}: {problem}")
