"""`simarena tournament`: plays a scripted competition and prints a table one can trust."""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from simarena.arena.arena import SimulatorArena
from simarena.arena.errors import UsageError
from simarena.arena.specs import AgentSpec, build_scenario
from simarena.arena.text import visible
from simarena.arena.tournament.estimate import estimate
from simarena.arena.tournament.folder import TournamentFolder
from simarena.arena.tournament.script import Budget, Script, load, parse
from simarena.arena.tournament.session import Session, Snapshot, Watch
from simarena.arena.tournament.tournament import Players, Tournament
from simarena.training.checkpoint_rating import rate_checkpoints
from simarena.tui import runs
from simarena.tui.board import clock
from simarena.tui.casting import Cast, cast, learned, recipe_of
from simarena.tui.console import emit, invocation, narrate, run, show
from simarena.tui.forking import PATIENCE
from simarena.tui.judging import Judges, panel_of
from simarena.tui.progress import tell
from simarena.tui.standings import panel, watching

HOME = Path("tournaments")
SCHEDULE = (
    "name",
    "seed",
    "scenario",
    "entrants",
    "format",
    "sides",
    "seats",
    "mirrored",
    "best_of",
    "trials",
    "limits",
    "rating",
)
"""Keys that decide who meets whom and what it means; a resume must not change them."""
PROBES = 24
"""Matches a dry run plays to see how long they take."""


def tournament(
    what: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A script (.toml or .py), a tournament's folder, or a training run."),
    ],
    out: Annotated[Path | None, typer.Option(help="The folder.  [default: tournaments/NAME-TIME]")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the folder in --out, or else the newest of this name.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how much there is to play, time a few matches, and exit.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout at the end.")] = False,
) -> None:
    """Play a tournament and rate everyone, with intervals.

    It can be killed at any moment: `--resume` goes on to the same table. A training run's name rates all its
    checkpoints.

    Example: simarena tournament examples/tournaments/dilemma.toml
    """
    script = _script(what)
    contest = script.contest(build_scenario(script.scenario.name, script.scenario.options))
    script.format.draw(contest, [])
    chosen, players = run(_cast(script))
    if script.judge is not None:
        panel_of(script.judge)  # all that can be wrong is found before anything is written
    if dry_run:
        run(_estimate(script, chosen, players, json))
        return
    folder = _folder(script, what, out, resume)
    try:
        with closing(folder), watching() as watch:
            final = run(_play(script, chosen, players, folder, watch))
    except typer.Exit:
        narrate(Text(visible(f"go on with: {invocation()} tournament {what} --resume --out {folder.path}")))
        raise
    if json:
        emit({**final.data(), "folder": str(folder.path)})
    (narrate if json else show)(*_ending(final, folder))


def _script(what: str) -> Script:
    """The script in a file, in a tournament's folder, or the one that rates a training run's checkpoints."""
    if Path(what).suffix in (".toml", ".py"):
        return load(Path(what))
    path = runs.folder(what) or HOME / what
    if not (path / "run.json").is_file():
        raise UsageError(f"{what!r} is no script (.toml, .py), no tournament folder and no training run")
    facts = TournamentFolder.open(path).facts()
    return parse(facts["script"]) if "script" in facts else rate_checkpoints(TournamentFolder.open(path))


def _folder(script: Script, what: str, out: Path | None, resume: bool) -> TournamentFolder:
    """The folder to write: a new one, or the one to go on with once it is known to hold the same tournament."""
    if not resume:
        folder = TournamentFolder.create(out or runs.fresh(script.name, HOME))
        folder.describe({"name": script.name, "script": script.model_dump(mode="json")})
        return folder
    folder = TournamentFolder.resume(out or _newest(script, what))
    before = folder.facts().get("script", {})
    for key, value in script.model_dump(mode="json", include=set(SCHEDULE)).items():
        if before.get(key) != value:
            folder.close()
            raise UsageError(
                f"{folder.path} was played with another {key!r}: resume with the script it was begun with "
                f"(`tournament {folder.path} --resume`), or begin anew without --resume"
            )
    folder.describe({**folder.facts(), "script": script.model_dump(mode="json")})
    return folder


def _newest(script: Script, what: str) -> Path:
    if (
        not Path(what).suffix
        and (path := runs.folder(what) or HOME / what).is_dir()
        and (path / "results.jsonl").exists()
    ):
        return path
    for begun in reversed(runs.known(HOME)):
        if begun.facts().get("name") == script.name:
            return begun.path
    raise UsageError(f"no folder of tournament {script.name!r} in {HOME}/: begin it without --resume")


async def _cast(script: Script) -> tuple[Cast, Players]:
    """Everyone who plays, and who of them plays for whom: a checkpoint of several learners is a team."""
    who: dict[str, str] = {}
    teams: dict[str, dict[str, str]] = {}
    for name, entrant in script.entrants.items():
        folder = Path(entrant.agent)
        recipe, models = recipe_of(folder), learned(folder)
        who |= {f"{name}.{learner}": str(path) for learner, path in models.items()} or {name: entrant.agent}
        if recipe is not None and models:
            teams[name] = {seat: f"{name}.{learner}" for seat, learner in recipe.learning.items()}
    chosen = await cast(who, tell, {name: entrant.options for name, entrant in script.entrants.items()})
    players: dict[str, AgentSpec | Mapping[str, AgentSpec]] = {**chosen.seats}
    for name, seated in teams.items():
        players[name] = {seat: chosen.seats[one] for seat, one in seated.items()}
    return chosen, players


@asynccontextmanager
async def _opened(script: Script, chosen: Cast) -> AsyncIterator[SimulatorArena]:
    """An arena in which all entrants can play."""
    limits = script.limits
    if chosen.human:
        limits = limits.model_copy(update={"turn_seconds": PATIENCE, "episode_seconds": PATIENCE})
    async with SimulatorArena(
        script.backend,
        bus=script.bus,
        seed=script.seed,
        policies=chosen.policies,
        people=script.people,
        limits=limits,
    ) as arena:
        if chosen.human:
            await arena.host("human")
        yield arena


async def _play(
    script: Script, chosen: Cast, players: Players, folder: TournamentFolder, watch: Watch
) -> Snapshot:
    if chosen.human:
        script = script.model_copy(update={"concurrency": 1})
    async with _opened(script, chosen) as arena:
        judge = Judges(script.judge, folder) if script.judge is not None else None
        remarks = judge.remarks if judge is not None else tuple
        with folder.on_bus(arena.run, arena.bus.url):
            return await Session(script, folder, players, watch, judge, remarks).play(arena)


async def _estimate(script: Script, chosen: Cast, players: Players, json: bool) -> None:
    """Count the matches, play a few without keeping them, and say what all of it will take."""
    scenario = build_scenario(script.scenario.name, script.scenario.options)
    contest = script.contest(scenario)
    plan = estimate(script, contest)
    probe = script.model_copy(update={"budget": Budget(matches=max(PROBES, contest.trials * len(contest.sides)))})
    jury = panel_of(script.judge) if script.judge is not None else None
    async with _opened(script, chosen) as arena:
        began = time.monotonic()
        trial = Tournament(
            probe, scenario, contest, players, arena, jury, lambda *_: None, lambda _: False, lambda *_: None
        )
        results = await trial.play()
        seconds = (time.monotonic() - began) / len(results)
    tokens = sum(result.tokens for result in results) / len(results)
    if json:
        emit({"rounds": plan.rounds, "matches": [plan.low, plan.high], "seconds": seconds, "tokens": tokens})
        return
    show(
        Text(f"{script.name}: {len(contest.entrants)} entrants, {script.format.kind}", "bold"),
        Text(f"matches  {plan.matches()} in {plan.rounds} rounds"),
        Text(
            f"time     about {clock(seconds * plan.high)} ({seconds:.2g} s a match in {len(results)} played now)"
        ),
        Text(f"tokens   about {tokens * plan.high:,.0f}"),
        Text("nothing was kept", "dim"),
    )


def _ending(final: Snapshot, folder: TournamentFolder) -> Iterator[RenderableType]:
    yield panel(final)
    yield ""
    yield from (Text(visible(sentence)) for sentence in final.words)
    yield ""
    yield Text(visible(f"folder  {folder.path}\nreport  {folder.path / 'report.html'}"))
