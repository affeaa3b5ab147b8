"""Conversations that a person starts: new ones, and forks of recorded ones, with whoever they choose at the seats.

Owns the grammar of `RUN:EPISODE@TURN`. Played in this process; a fork is recorded in its parent's run folder, a
new one in the folder it is given, each in a batch of its own that training never reads. Knows no screen and no
command line.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from pydantic import JsonValue

from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.errors import UsageError
from simarena.arena.messages import Limits
from simarena.arena.record import RunFolder
from simarena.arena.specs import PEOPLE, AgentSpec, EngineSpec, build_scenario
from simarena.arena.text import one_line
from simarena.training import recipe_file
from simarena.training.events import Event, Note
from simarena.tui import human, runs
from simarena.tui.casting import DEFAULT_RECIPE, Cast, cast, default_seats

PATIENCE = 24 * 3600.0
"""Seconds a person may think."""
_FORM = "RUN:EPISODE@TURN, such as latest:eval-20/3/0@4"

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class New:
    """A conversation from its beginning."""

    scenario: str
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    deal: int = 0
    folder: RunFolder | None = None
    """Where it is recorded; None: nowhere."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A recorded conversation, to go on from where it stood after `turn`."""

    folder: RunFolder
    episode: Episode
    turn: int


def fork_of(text: str) -> Fork:
    """The fork that `RUN:EPISODE@TURN` names. Raises UsageError, UnknownName or RunFolderError."""
    run, colon, rest = text.partition(":")
    episode, at, turn = rest.rpartition("@")
    if not (run and colon and episode and at and turn.isdecimal()):
        raise UsageError(f"{one_line(text, 80)!r} is not of the form {_FORM}")
    folder = runs.locate(run)
    return Fork(folder, runs.find(folder, episode), int(turn))


async def converse(
    start: New | Fork, who: Mapping[str, str], person: AgentSpec = human.SPEC, emit: Emit = lambda _: None
) -> Episode:
    """Play one conversation to its end; where it was recorded is told by `emit`.

    `who` says who sits where, in the words of `simarena play --seat`; `person` is the agent behind `human`. Seats
    left out are cast by the scenario or keep who sat there. Raises UsageError for what cannot be played.
    """
    chosen = await _cast(start, who, emit)
    seats = {seat: person if spec == human.SPEC else spec for seat, spec in chosen.seats.items()}
    async with _arena(chosen) as arena:
        folder, kind = start.folder, "seat" if isinstance(start, New) else "fork"
        with folder.claim(kind) if folder is not None else nullcontext("play") as batch:
            (episode,) = [one async for one in _playing(arena, start, seats, batch)]
            if folder is not None:
                folder.write_episodes(batch, [episode])
    if folder is not None:
        emit(Note(text=f"recorded as {episode.id} in {folder.path}"))
    return episode


def _playing(
    arena: SimulatorArena, start: New | Fork, seats: Mapping[str, AgentSpec], batch: str
) -> AsyncIterator[Episode]:
    if isinstance(start, Fork):
        return arena.fork(start.episode, start.turn, scenario=_rules(start), seats=seats, prefix=batch)
    options = dict(start.options)
    return arena.play(start.scenario, options=options, seats=seats, deals=[start.deal], prefix=batch)


@asynccontextmanager
async def _arena(chosen: Cast) -> AsyncIterator[SimulatorArena]:
    limits = Limits(turn_seconds=PATIENCE, episode_seconds=PATIENCE) if chosen.human else None
    async with SimulatorArena(policies=chosen.policies, limits=limits) as arena:
        if chosen.human:
            await arena.host("human")
        yield arena


async def _cast(start: New | Fork, who: Mapping[str, str], emit: Emit) -> Cast:
    if isinstance(start, New):
        rules = build_scenario(start.scenario, start.options)
        free = [name for name in rules.seats if name not in who and name not in rules.cast()]
        return await cast({**default_seats(rules.name, free), **who}, emit)
    chosen = await cast(who, emit)
    for name, seat in start.episode.seats.items():
        if name in who:
            continue
        if seat.spec.policy is not None:
            chosen.policies.setdefault(seat.spec.policy, _engine(start, name, emit))
        elif seat.spec.lane != PEOPLE:
            raise UsageError(f"seat {name!r} was played over lane {seat.spec.lane!r}: say who plays it now")
    return chosen


def _engine(start: Fork, seat: str, emit: Emit) -> EngineSpec:
    """The engine for a seat that a policy keeps: its checkpoint of that version, else the newest."""
    found = start.folder.checkpoints()
    if not found:
        raise UsageError(
            f"{start.folder.path} keeps no checkpoint of the policy at seat {seat!r}: say who plays it"
        )
    version, newest = start.episode.seats[seat].version, max(found)
    if version not in found:
        emit(Note(text=f"{seat}: version {version} was not kept, {found[newest].name} plays on"))
    recipe = recipe_file.parse(start.folder.facts().get("recipe") or recipe_file.load(DEFAULT_RECIPE).model_dump())
    path = found[version if version in found else newest]
    policy = start.episode.seats[seat].spec.policy or ""
    options: dict[str, JsonValue] = {**recipe.policy.options, "model": str(path), "policy": policy}
    return EngineSpec(engine=recipe.policy.engine, options=options)


def _rules(start: Fork) -> str:
    """How to build the scenario: by the name the run gave, since an episode holds only what it calls itself."""
    recipe = start.folder.facts().get("recipe")
    named = recipe.get("scenario") if isinstance(recipe, dict) else None
    name = str(named.get("name", "")) if isinstance(named, dict) else ""
    return name or start.episode.scenario
