"""Recipe files: reads TOML by name or path, applies `key=value` overrides, and says clearly what is wrong.

Owns what is special about recipes: choices that have keys of their own, and learners. Knows no key: those are in
`config.py`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from simarena.arena import toml_files
from simarena.arena.errors import UnknownName, UsageError
from simarena.training.config import LearnerOptions, Recipe
from simarena.training.credit import RULES
from simarena.training.losses import LOSSES

WHAT = "recipe"
"""What errors call it."""
FOLDER = Path(__file__).parent / "recipes"
_CHOICES: Mapping[str, tuple[str, Mapping[str, tuple[type[BaseModel], Any]]]] = {
    "credit": ("rule", RULES),
    "loss": ("kind", LOSSES),
}


def names() -> tuple[str, ...]:
    """The recipes that come with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of this name, or in the file at this path, with `dotted.key=value` overrides on top.

    Values are TOML (`3`, `0.5`, `true`, `"text"`, `[1, 2]`); anything else is taken as text. Raises UsageError
    with the key, the value and the fix, and UnknownName with the nearest valid key.
    """
    data = _read(name)
    data.setdefault("name", Path(name).stem)
    for override in overrides:
        _apply(data, override)
    return parse(data)


def parse(data: Mapping[str, Any]) -> Recipe:
    """The recipe in these plain data, such as those of a run folder. Raises as `load` does."""
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        raise _explain(error.errors()[0]) from None


def _read(name: str) -> dict[str, Any]:
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        return toml_files.read(path, WHAT)
    except FileNotFoundError:
        if name.endswith(".toml"):
            raise UsageError(f"no recipe file {name!r}") from None
        raise UnknownName("recipe", name, names()) from None


def _apply(data: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise UsageError(f"override {override!r} is not of the form key=value")
    table = data
    for part in parts[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise UsageError(f"override {override!r}: {part!r} is a value, not a table")
    table[parts[-1]] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _explain(error: ErrorDetails) -> UsageError:
    path = [str(part) for part in error["loc"]]
    named = path[:2] if path[:1] == ["learners"] else []
    path = path[len(named) :]
    if path[:1] == ["phases"] and len(path) > 2:
        path = path[2:]
    section = path[0] if path else ""
    if section in _CHOICES and len(path) > 1:
        chosen = path.pop(1)
        if error["type"] == "extra_forbidden" and len(path) == 2:
            return _unused(section, chosen, path[-1])
    key = ".".join([*named, *path])
    if error["type"] == "union_tag_invalid":
        tag, table = _CHOICES[section]
        return UnknownName(f"{section}.{tag}", str(error["ctx"]["tag"]), table)
    prefix = "".join(f"{part}." for part in named)
    return toml_files.explain(error, WHAT, key, lambda: _keys(LearnerOptions if named else Recipe, prefix))


def _unused(section: str, chosen: str, key: str) -> UsageError:
    tag, table = _CHOICES[section]
    users = [name for name, (options, _) in table.items() if key in options.model_fields]
    if not users:
        known = [f"{section}.{name}" for name in table[chosen][0].model_fields]
        return UnknownName("recipe key", f"{section}.{key}", known)
    return UsageError(
        f"recipe key '{section}.{key}' is not used by {section}.{tag} {chosen!r}, only by {', '.join(users)}: "
        f"remove it or set {section}.{tag}"
    )


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{prefix}{name}.")
        elif name in _CHOICES:
            for options, _ in _CHOICES[name][1].values():
                yield from _keys(options, f"{prefix}{name}.")
