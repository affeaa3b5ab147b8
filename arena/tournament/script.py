"""Scripts: everything one tournament is, as data. TOML for the common case, a Python function for the rest.

Knows the shape and the wording of its errors, not how an entrant's `agent` is found (the command line casts it)
nor how anything is played. Every key is used by something; unknown ones are errors with the nearest valid name.
"""

import importlib
import os
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from simarena.arena import toml_files
from simarena.arena.bus.redaction import redact
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.messages import Frozen, Limits
from simarena.arena.protocols import Scenario
from simarena.arena.tournament.contest import Contest, Meeting
from simarena.arena.tournament.formats import KINDS, Format
from simarena.arena.tournament.results import Result

WHAT = "tournament script"
"""What errors call it."""


class Entrant(Frozen):
    """Who competes under one name."""

    agent: str
    """As in `play --seat`: an agent by name or `module:Factory`, `tiny`, `smollm2`, a run, a model folder,
    `human`, `openai:MODEL` for one on a server, or `remote:NAME` for a process that takes its seat over the
    bus."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The agent's options; of `openai:MODEL`, its engine's too."""


def _entrant(value: Any) -> Any:
    return {"agent": value} if isinstance(value, str) else value


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=40)]
"""Entrant names are parts of ids, so they hold letters, digits and `_ . + -` only."""


class Rules(Frozen):
    """The scenario that is played."""

    name: str
    """A registered scenario, or `package.module:Factory`."""
    options: dict[str, JsonValue] = Field(default_factory=dict)


class Function(Frozen):
    """A format of one's own."""

    kind: Literal["function"] = "function"
    function: str
    """`module:function`, called as (contest, results so far) for the meetings of the next round; see `formats`."""

    def draw(self, contest: Contest, results: Sequence[Result]) -> list[Meeting]:
        module, _, name = self.function.partition(":")
        try:
            draw = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"format.function = {self.function!r}: {error}; write it as module:function"
            ) from None
        return list(draw(contest, results))


class Budget(Frozen):
    """What it may cost. Matches are counted off exactly; the others stop it where they are reached."""

    matches: int | None = Field(default=None, ge=1)
    """The first so many of the schedule, whole mirrored sets only."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens sampled by engines, over all sessions."""
    minutes: float | None = Field(default=None, gt=0)
    """Wall time of this session; a resume has it anew."""


class Stop(Frozen):
    """Ends it early, at the end of a round, when the leader is known."""

    error: float | None = Field(default=None, gt=0, lt=0.5)
    """The chance of stopping with the wrong leader; left out: everything is played."""


class Rating(Frozen):
    """How the table is made."""

    method: Literal["bradley-terry", "score", "openskill", "elo"] | None = None
    """Left out: `bradley-terry` where sides oppose each other, `score` where one side plays alone."""
    covariates: tuple[Literal["length"], ...] = ()
    """What to hold equal: `length`, the characters a side said."""


class Jury(Frozen):
    """Who decides where no rule does: a panel of judges, for two seats. See docs/tournaments.md."""

    question: str
    """What they are asked, such as `Who made the better offer?`"""
    jurors: tuple[dict[str, JsonValue], ...] = Field(min_length=1)
    """`{ rule = "module:function" }`, or `{ engine = NAME, family = NAME, options = { ... } }` for a model."""
    families: dict[str, str] = Field(default_factory=dict)
    """Entrant's policy or agent → its model family: a judge of the same family is reported."""


class Script(Frozen):
    """One tournament."""

    name: str = "tournament"
    seed: int = 0
    backend: Literal["inproc", "ray"] = "inproc"
    bus: str | None = None
    """`memory://`, `auto`, or a Redis URL without a password; left out: what suits the backend."""
    people: int = Field(default=1, ge=1)
    """Hosts for scripted agents."""
    concurrency: int = Field(default=64, ge=1)
    """Matches in flight."""
    scenario: Annotated[Rules, BeforeValidator(lambda value: {"name": value} if isinstance(value, str) else value)]
    entrants: dict[Name, Annotated[Entrant, BeforeValidator(_entrant)]] = Field(min_length=2)
    """By name, best seed first. A string is short for its `agent`."""
    format: Format | Function = Field(discriminator="kind")
    sides: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Side → the seats that one entrant plays together; left out: every seat the scenario does not cast is a
    side."""
    seats: dict[str, str] = Field(default_factory=dict)
    """Seat → agent, for seats nobody competes for; left out: the scenario's own cast."""
    mirrored: bool = True
    """Play each deal once for every rotation of the sides."""
    best_of: int = Field(default=1, ge=1)
    """Deals per meeting."""
    trials: int = Field(default=1, ge=1)
    """Times each match is played, on the same deal with fresh chance of the agents: for pass^k."""
    limits: Limits = Limits()
    judge: Jury | None = None
    """Left out: the scenario's own outcome counts."""
    rating: Rating = Rating()
    budget: Budget = Budget()
    stop: Stop = Stop()

    @model_validator(mode="after")
    def _agree(self) -> "Script":
        if self.bus and redact(self.bus) != self.bus:
            raise ValueError("bus holds a password: set SIMARENA_REDIS_URL to that URL and bus to 'auto'")
        return self

    def contest(self, scenario: Scenario[Any]) -> Contest:
        """The frame for the format. Raises UsageError for seats the scenario does not have, and for a budget that
        no meeting fits in."""
        sides = self.sides or self._default_sides(scenario)
        contested = [seat for seats in sides.values() for seat in seats]
        given = [*contested, *self.seats]
        for seat in given:
            if seat not in scenario.seats:
                raise UnknownName(f"seat of {scenario.name!r}", seat, scenario.seats)
        if twice := sorted({seat for seat in given if given.count(seat) > 1}):
            raise UsageError(f"seats given twice: {', '.join(twice)}; each goes to one side or to [seats]")
        if empty := [seat for seat in scenario.seats if seat not in given and seat not in scenario.cast()]:
            raise UsageError(f"nobody sits at {', '.join(empty)}: put it in [sides] or [seats]")
        try:
            contest = Contest(
                entrants=tuple(self.entrants),
                seed=self.seed,
                sides=sides,
                mirrored=self.mirrored,
                best_of=self.best_of,
                trials=self.trials,
            )
        except ValidationError as error:
            raise toml_files.explain(error.errors()[0], WHAT, "", tuple) from None
        if self.budget.matches is not None and self.budget.matches < contest.size:
            raise UsageError(
                f"budget.matches = {self.budget.matches} is less than one meeting, which is played as "
                f"{contest.size} matches: give at least {contest.size}"
            )
        return contest

    def _default_sides(self, scenario: Scenario[Any]) -> dict[str, tuple[str, ...]]:
        free = [seat for seat in scenario.seats if seat not in self.seats]
        uncast = [seat for seat in free if seat not in scenario.cast()]
        return {seat: (seat,) for seat in uncast or free}

    def method(self, contest: Contest) -> str:
        """The rating method."""
        return self.rating.method or ("score" if len(contest.sides) == 1 else "bradley-terry")


def load(path: Path) -> Script:
    """The script in this file: TOML, or Python with a function `tournament()` that returns the same as plain data.

    Raises UsageError with the key, the value and the fix, and UnknownName with the nearest valid key.
    """
    try:
        data = _python(path) if path.suffix == ".py" else toml_files.read(path, WHAT)
    except FileNotFoundError:
        raise UsageError(f"no {WHAT} {str(path)!r}: give a .toml or .py file, or a training run") from None
    data.setdefault("name", path.stem)
    return parse(data)


def parse(data: Mapping[str, Any]) -> Script:
    """The script in plain data."""
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        # A mistyped key is also a missing one: say the first.
        raise _explain(min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")) from None


def _python(path: Path) -> dict[str, Any]:
    """What `tournament()` of the file returns. Its folder is on the path, so the file may name its own
    functions."""
    if not path.is_file():
        raise FileNotFoundError(path)
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))  # for workers
    function = runpy.run_path(str(path)).get("tournament")
    if not callable(function):
        raise UsageError(
            f"{str(path)!r} has no function tournament(): write one that returns the script as a dict"
        )
    data: object = function()
    if not isinstance(data, dict):
        raise UsageError(f"tournament() of {str(path)!r} returned {type(data).__name__}, not a dict")
    return dict(data)


def _explain(error: ErrorDetails) -> UsageError:
    path = [str(part) for part in error["loc"] if str(part) != "[key]"]
    if path[:1] == ["format"] and len(path) > 1:
        path.pop(1)
    key = ".".join(path)
    if error["type"] == "union_tag_invalid":
        return UnknownName("format.kind", str(error["ctx"]["tag"]), [*KINDS, "function"])
    if error["type"] == "union_tag_not_found":
        return UsageError(f"format.kind is missing: one of {', '.join([*KINDS, 'function'])}")
    if error["type"] == "string_pattern_mismatch" and path[0] == "entrants":
        return UsageError(f"entrant {error['input']!r}: names hold letters, digits and _ . + - only")
    return toml_files.explain(error, WHAT, key, lambda: _siblings(path, error))


def _siblings(path: Sequence[str], error: ErrorDetails) -> Iterator[str]:
    """The keys that might have been meant: those of the same table."""
    if path[0] == "format":
        kind = str(error["loc"][1])
        model: type[BaseModel] = {**KINDS, "function": Function}[kind]
        yield from (f"format.{name}" for name in model.model_fields)
    elif path[0] == "entrants":
        yield from (".".join([*path[:-1], name]) for name in Entrant.model_fields)
    elif len(path) == 1:
        yield from Script.model_fields
    else:
        table = Script.model_fields[path[0]].annotation
        assert isinstance(table, type)
        assert issubclass(table, BaseModel)
        yield from (f"{path[0]}.{name}" for name in table.model_fields)
