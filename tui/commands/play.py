"""`simarena play`: plays conversations and prints them; a person may take a seat."""

import tomllib
from collections.abc import AsyncIterator
from typing import Annotated, Any

import typer
from pydantic import JsonValue
from rich.console import RenderableType
from rich.text import Text

from simarena.arena.arena import SimulatorArena, cast_seats
from simarena.arena.episodes import FAULTY, Episode
from simarena.arena.errors import UsageError
from simarena.arena.messages import Limits
from simarena.arena.specs import build_scenario
from simarena.arena.text import one_line
from simarena.training.evaluation import require_some
from simarena.tui import human
from simarena.tui.casting import ENGINE, Cast, cast, default_seats, pairs
from simarena.tui.console import emit, narrate, run, show
from simarena.tui.forking import PATIENCE, Fork, converse, fork_of
from simarena.tui.progress import tell
from simarena.tui.transcript import conversation, transcript, verdict


def play(
    scenario: Annotated[str, typer.Argument(help="A scenario by name, or module:Factory.")] = "",
    seat: Annotated[
        list[str] | None,
        typer.Option(help="seat=who: human, tiny, smollm2, a run, a model folder, ENGINE:MODEL, or an agent."),
    ] = None,
    deals: Annotated[int, typer.Option("-n", "--deals", min=1, help="How many different deals.")] = 1,
    group: Annotated[int, typer.Option(min=1, help="Conversations of each deal.")] = 1,
    split: Annotated[str | None, typer.Option(help="Split of the deals: train, validation or heldout.")] = None,
    option: Annotated[list[str] | None, typer.Option("-s", help="Scenario option, name=value.")] = None,
    fork: Annotated[
        str, typer.Option(metavar="RUN:EPISODE@TURN", help="Go on from a recorded conversation after this turn.")
    ] = "",
    backend: Annotated[str, typer.Option(help="inproc or ray.")] = "inproc",
    engine: Annotated[str, typer.Option(help="What samples for models: transformers or vllm.")] = ENGINE,
    seed: Annotated[int, typer.Option(help="Seed of the agents' chance.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per conversation on stdout.")] = False,
) -> None:
    """Play conversations and print them.

    A seat nobody is given to is played by the scenario's own cast, else by the newest checkpoint of the
    latest run, else by a scripted stand-in. In a fork it keeps who sat there, and the fork is recorded in its
    parent's run folder, linked to it.

    Example: simarena play service-desk --seat user=human
    """
    if bool(fork) == bool(scenario):
        raise UsageError("say what to play: a scenario, or --fork RUN:EPISODE@TURN")
    if fork:
        given = {"-n": deals != 1, "--group": group != 1, "--split": split, "-s": option, "--seed": seed}
        given["--engine"] = engine != ENGINE
        if unused := [name for name, value in given.items() if value]:
            raise UsageError(f"{unused[0]} is not used by --fork: its deal and options are those of its parent")
        run(_fork(fork_of(fork), pairs(seat or [], "--seat"), json))
        return
    how = {"options": _options(option or [], split), "deals": range(deals), "group": group}
    run(_play(scenario, pairs(seat or [], "--seat"), how, {"backend": backend, "seed": seed}, engine, json))


def _options(written: list[str], split: str | None) -> dict[str, JsonValue]:
    """Scenario options; values are TOML, anything else is text."""
    options: dict[str, JsonValue] = {key: _value(text) for key, text in pairs(written, "-s").items()}
    return options if split is None else {**options, "split": split}


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value


async def _play(
    scenario: str, who: dict[str, str], how: dict[str, Any], where: dict[str, Any], engine: str, json: bool
) -> None:
    """Cast the seats, open an arena `where` it is to be, and print every conversation as it ends."""
    rules = build_scenario(scenario, how["options"])
    free = [name for name in rules.seats if name not in who and name not in rules.cast()]
    default = default_seats(rules.name, free)
    chosen = await cast({**default, **who}, tell, engine=engine)
    cast_seats(rules, chosen.seats)
    if chosen.human:
        where["limits"] = Limits(turn_seconds=PATIENCE, episode_seconds=PATIENCE)
        how["concurrency"] = 1
    async with SimulatorArena(policies=chosen.policies, **where) as arena:
        for name, player in default.items():
            narrate(Text(one_line(f"{name}: {player} (another: --seat {name}=WHO)")))
        if chosen.human:
            await arena.host("human")
        fine, faulty = False, []
        async for episode in _in_order(arena.play(scenario, seats=chosen.seats, **how), how["group"]):
            _print(episode, chosen, json)
            fine |= episode.ending not in FAULTY
            faulty += [] if fine else [episode]
        if not fine:
            require_some(faulty)


async def _fork(start: Fork, who: dict[str, str], json: bool) -> None:
    episode = await converse(start, who, emit=tell)
    if json:
        emit(episode.model_dump(mode="json"))
    else:
        show(transcript(episode))
    require_some([episode])


async def _in_order(episodes: AsyncIterator[Episode], group: int) -> AsyncIterator[Episode]:
    """Conversations by deal and member, each as soon as all before it have ended."""
    early: dict[int, Episode] = {}
    due = 0
    async for episode in episodes:
        early[episode.deal * group + episode.member] = episode
        while due in early:
            yield early.pop(due)
            due += 1


def _print(episode: Episode, chosen: Cast, json: bool) -> None:
    if json:
        emit(episode.model_dump(mode="json"))
    elif chosen.human:
        show(*_last_words(episode, chosen), verdict(episode), "")
    else:
        show(transcript(episode), "")


def _last_words(episode: Episode, chosen: Cast) -> list[RenderableType]:
    """What the person could still hear after their last turn, and has not been shown."""
    mine = [seat for seat, spec in chosen.seats.items() if spec == human.SPEC]
    after = max((turn.index for turn in episode.turns if turn.seat in mine), default=0)
    rest = [m for m in episode.messages if m.turn >= after and m.seat not in mine and any(map(m.audible, mine))]
    return [conversation(rest, tuple(episode.seats))] if rest else []
