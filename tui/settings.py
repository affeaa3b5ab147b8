"""What a person has settled for the screens: theme and keys, read from one TOML file.

    theme = "simarena-light"

    [keys]
    "arena.follow" = "t"

Keys are given by the stable id of what they do; `?` on the screen shows the ids. Knows no screen.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.messages import Frozen


class Settings(Frozen):
    theme: str = ""
    """Empty: the app's own choice."""
    keys: dict[str, str] = Field(default_factory=dict)
    """Id of an action → its keys, separated by commas; they replace the ones it has."""


def path() -> Path:
    """Where the settings are read from."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "simarena" / "watch.toml"


def load(themes: tuple[str, ...], actions: tuple[str, ...]) -> Settings:
    """The settings, or the defaults if there is no file. Raises UsageError for what it cannot mean."""
    file = path()
    if not file.exists():
        return Settings()
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {file}: {error}; mend it or remove it") from None
    for name in data:
        if name not in ("theme", "keys"):
            raise UnknownName("setting", name, ("theme", "keys"))
    theme, keys = data.get("theme", ""), data.get("keys", {})
    if theme and theme not in themes:
        raise UnknownName("theme", str(theme), themes)
    chosen = dict(_flat(keys if isinstance(keys, dict) else {}))
    for name, value in chosen.items():
        if name not in actions:
            raise UnknownName("action", name, actions)
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f'keys.{name} = {value!r} in {file}: give a key such as "t" or "ctrl+t"')
    return Settings(theme=theme, keys=chosen)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`[keys.arena] follow = …` means the same as `"arena.follow" = …`."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
