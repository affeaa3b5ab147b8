"""The run loop: lessons in, update, publish; evaluation, checkpoints and resume around them.

Wires the parts and keeps the step axis, which is the policy version; knows no credit rule, loss, scenario
or engine by name. After a kill, `resume` goes on from the newest checkpoint and repeats exactly what was
lost, since every number of a step comes from (seed, step); asynchronous runs play again what was in flight.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.errors import RunFolderError
from simarena.arena.ledger import Ledger
from simarena.arena.messages import Frozen
from simarena.arena.record import RunFolder
from simarena.arena.wire import RunState
from simarena.training import accounts, alarms, events, opposition
from simarena.training.bulletin import bulletin
from simarena.training.config import Recipe
from simarena.training.contrast import contrast
from simarena.training.credit import Evidence
from simarena.training.credit.turnppo import CriticCreditOptions
from simarena.training.credit.vine import ForkCreditOptions
from simarena.training.evaluation import (
    engines_of,
    options_of,
    play_split,
    require_records,
    require_some,
    score,
)
from simarena.training.exact import measure
from simarena.training.forking import play_on
from simarena.training.learners import Learners
from simarena.training.lesson import Lesson
from simarena.training.opposition import Opposition
from simarena.training.orders import Orders, heeding
from simarena.training.pace import Pace, pace
from simarena.training.pipeline import Pipeline
from simarena.training.plan import plan
from simarena.training.provenance import provenance
from simarena.training.report import write_report
from simarena.training.samples import by_turn
from simarena.training.seating import named
from simarena.training.snapshots import PastSelves
from simarena.training.starting_point import starting_models
from simarena.training.trackers import Trackers, open_copies
from simarena.training.trend import Trend, trend

Emit = Callable[[events.Event], None]
BOOKS = "run.json"
"""In a checkpoint: the state of the run beside its learners."""


class TrainReport(Frozen):
    """What a run came to."""

    run: str
    """The run folder."""
    steps: int
    seconds: float
    before: events.Block
    after: events.Block
    reward: Trend | None = None
    """Mean reward of the last steps against the first; None for a short run."""
    pace: Pace | None = None
    """How fast it went and how old its tokens were; None for a run without a step."""
    ledger: dict[str, int]
    interrupted: bool = False
    """Stopped before the last step; it was saved, and a resume goes on."""
    alarms: tuple[str, ...] = ()
    """What was raised on the way, one line each."""
    stopped_by: str = ""
    """The alarm that ended the run; a resume would only repeat what led to it."""


async def train(
    recipe: Recipe, folder: RunFolder, *, resume: bool, emit: Emit, stop: asyncio.Event
) -> TrainReport:
    """Train to the end of the recipe, or until `stop` is set: then the step is finished and saved."""
    began = time.monotonic()
    require_records(recipe)
    if not resume:
        folder.describe(provenance(recipe))
    copies = open_copies(recipe.trackers, folder.path, recipe.model_dump(mode="json"))
    trackers = Trackers(folder.metric, copies, lambda text: emit(events.Note(text=text)))
    emit(events.Started(plan=plan(recipe), total_steps=recipe.steps, run=str(folder.path)))
    try:
        models = await starting_models(recipe, emit)
        report = await _run(recipe, folder, models, trackers, emit, resume, stop)
    finally:
        trackers.close()
    report = report.model_copy(update={"seconds": time.monotonic() - began})
    folder.describe(folder.facts() | report.model_dump(mode="json", exclude={"run"}))
    _write_report(folder)
    return report


async def _run(
    recipe: Recipe,
    folder: RunFolder,
    models: Mapping[str, Path],
    trackers: Trackers,
    emit: Emit,
    resume: bool,
    stop: asyncio.Event,
) -> TrainReport:
    async with SimulatorArena(
        recipe.backend,
        bus=recipe.bus,
        seed=recipe.seed,
        policies={**engines_of(recipe, models), **opposition.engines(recipe, models)},
        people=recipe.rollout.people,
        limits=recipe.rollout.limits,
    ) as arena:
        learners = Learners.of(recipe, models)
        try:
            with folder.on_bus(arena.run, arena.bus.url):
                about = {"name": recipe.name, "recipe": recipe.model_dump(mode="json")}
                async with bulletin(arena.bus, arena.run, about) as copy:
                    trackers.join(copy)

                    def tell(state: RunState) -> None:
                        emit(events.Note(text=f"asked by a viewer: {state}"))
                        copy.state(state)

                    async with heeding(arena.bus, arena.run, stop, tell) as orders:
                        run = Run(recipe, folder, arena, learners, trackers, emit)
                        return await run.to_the_end(resume, orders)
        finally:
            await learners.close()


class Run:
    """One run in an open arena."""

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        arena: SimulatorArena,
        learners: Learners,
        trackers: Trackers,
        emit: Emit,
    ) -> None:
        self._recipe, self._folder, self._arena = recipe, folder, arena
        self._learners, self._trackers, self._emit = learners, trackers, emit
        self._opposition = Opposition(recipe, arena, learners, folder.path / "population")
        self._past = PastSelves(recipe, learners, folder.path / "past")
        self._pipeline: Pipeline | None = None
        self._ledger = Ledger()
        self._evidence = Evidence()
        self._step = 0
        self._rows: list[dict[str, float]] = []
        """Metrics of all steps so far."""
        self._alarms: list[str] = []
        self._stopped_by = ""
        self._since = (time.monotonic(), 0)
        """When this process began to step, and from which step."""
        self._before: events.Block | None = None
        self._after: events.Block | None = None
        """The newest evaluation."""

    async def to_the_end(self, resume: bool, orders: Orders) -> TrainReport:
        if resume:
            await self._restore()
        if self._before is None:
            if self._recipe.population.every:
                await self._opposition.grow(0)
            self._before = self._after = await self._evaluate()
            await self._save()
        self._since = (time.monotonic(), self._step)
        self._pipeline = Pipeline(self._play, self._step, self._recipe.steps, self.max_age)
        try:
            while self._step < self._recipe.steps and not orders.stop.is_set():
                await self._train_step(self._pipeline)
                if await self._alarmed():
                    break
                began, first = self._since
                self._since = (began + await orders.rest(), first)
                last = self._step == self._recipe.steps
                if last or _due(self._step, self._recipe.evaluation.every):
                    self._after = await self._evaluate()
                if last or orders.stop.is_set() or _due(self._step, self._recipe.checkpoint_every):
                    await self._save()
        finally:
            await self._halt()
        assert self._after is not None
        return TrainReport(
            run=str(self._folder.path),
            steps=self._step,
            seconds=0.0,
            before=self._before,
            after=self._after,
            reward=trend(self._folder.metrics()),
            pace=pace(self._rows),
            ledger=self._ledger.counts(),
            interrupted=self._step < self._recipe.steps and not self._stopped_by,
            alarms=tuple(self._alarms),
            stopped_by=self._stopped_by,
        )

    def max_age(self, step: int) -> int:
        """Versions that the policy may lack when this step's conversations begin."""
        return self._recipe.asynchronous.max_age

    async def _halt(self) -> None:
        """Give up the conversations of coming steps; a resume plays them again, so nothing of them is kept."""
        if self._pipeline is not None:
            await self._pipeline.close()
            self._ledger = Ledger.load(self._ledger.dump())

    async def _play(self, step: int) -> Lesson:
        """The conversations of one step."""
        began = time.monotonic()
        lesson = Lesson(self._recipe, step, self._ledger, self._evidence)
        while deals := lesson.wanted():
            play = self._arena.play(
                self._recipe.scenario.name,
                options=options_of(self._recipe, "train"),
                seats=lambda deal: self._opposition.company(lesson.step, lesson.number(deal)),
                deals=deals,
                group=self._recipe.rollout.group,
                concurrency=self._recipe.rollout.concurrency,
                prefix=lesson.prefix,
                limits=self._recipe.rollout.limits_at(step),
            )
            lesson.take([episode async for episode in play])
        require_some(lesson.episodes)
        lesson.seconds = time.monotonic() - began
        return lesson

    async def _train_step(self, pipeline: Pipeline) -> None:
        began = time.monotonic()
        pipeline.published(self._step)
        lesson = await pipeline.next()
        played = time.monotonic()
        evidence, looked = await self._evidence_for(lesson)
        samples = lesson.samples(evidence)
        scored = time.monotonic()
        metrics = {**looked, **await self._learners.update(samples)}
        if _due(self._step + 1, self._recipe.monitors.mutual_every):
            metrics |= await self._learners.mutual(samples, self._recipe.monitors.mutual_samples)
        updated = time.monotonic()
        self._step += 1
        await self._past.keep(self._step)
        await self._learners.publish(self._arena, self._step)
        published = time.monotonic()
        if self.max_age(self._step):  # if not, the next step begins when all of this one is done
            pipeline.published(self._step)
        grown = await self._opposition.grow(self._step) if _due(self._step, self._recipe.population.every) else {}
        batch = f"train-{self._step:06d}"
        accounts.write(self._folder, batch, lesson.accounts())
        self._folder.write_episodes(batch, lesson.episodes, lesson.fates)
        ended = time.monotonic()
        self._report_step(
            lesson,
            {
                **metrics,
                **lesson.metrics(),
                **self._opposition.learn_from(lesson.episodes),
                **grown,
                "time/rollout": lesson.seconds,
                "time/waiting": played - began,
                "time/score": scored - played,
                "time/update": updated - scored,
                "time/publish": published - updated,
                "time/step": ended - began,
                "time/tokens_per_second": lesson.tokens / max(1e-9, lesson.seconds),
            },
        )

    async def _evidence_for(self, lesson: Lesson) -> tuple[dict[str, Evidence], dict[str, float]]:
        """What each learner's credit rule asks to know in this step, and metrics of finding out."""
        known = dict.fromkeys(self._recipe.roster, self._evidence)
        looked: dict[str, dict[str, float]] = {name: {} for name in known}
        forked: list[Episode] = []
        for name, learner in self._recipe.roster.items():
            credit = learner.credit_at(self._step)
            if isinstance(credit, CriticCreditOptions):
                drafts, hints = lesson.drafts(name), lesson.hints(name) if credit.critic.privileged else {}
                values = await self._learners.values(name, drafts, hints)
                known[name] = replace(self._evidence, values=by_turn(drafts, values))
            elif isinstance(credit, ForkCreditOptions):
                forks = await play_on(
                    self._arena,
                    lesson.kept(name),
                    credit,
                    scenario=self._recipe.scenario.name,
                    prefix=f"fork-{self._step}" if len(known) == 1 else f"fork-{self._step}-{name}",
                    concurrency=self._recipe.rollout.concurrency,
                )
                forked += forks.episodes
                known[name] = replace(self._evidence, continuations=forks.continuations())
                looked[name] = forks.metrics()
        if forked:
            self._folder.write_episodes(f"fork-{self._step + 1:06d}", forked)
        return known, named(looked)

    def _report_step(self, lesson: Lesson, row: dict[str, float]) -> None:
        ledger = self._ledger.counts()
        row |= self._anchored()
        self._rows.append({**row, "step": float(self._step)})
        raised = alarms.raised(self._rows, self._recipe.alarms)
        row |= {f"alarms/{alert.name}": 1.0 for alert, _ in raised}
        self._trackers.log(self._step, row | {f"ledger/{name}": float(n) for name, n in ledger.items()})
        self._emit(
            events.StepDone(
                step=self._step,
                total=self._recipe.steps,
                metrics=row,
                ledger=ledger,
                by_persona=dict(lesson.by_persona()),
                seconds_left=self._seconds_left(),
            )
        )

    def _anchored(self) -> dict[str, float]:
        """How the evaluation just before this step went against frozen opponents, for alarms to look at."""
        fresh = self._step == 1 or _due(self._step - 1, self._recipe.evaluation.every)
        scores = list(self._after.anchors.values()) if fresh and self._after is not None else []
        games = len(scores) * len(self._recipe.learning) * self._recipe.evaluation.deals
        return {"anchor/score": sum(scores) / len(scores), "anchor/error": 0.5 / games**0.5} if scores else {}

    async def _alarmed(self) -> bool:
        """Say what alarms the step has raised, and act on them; whether the run is to end."""
        for alert, action in alarms.newly(self._rows, self._recipe.alarms):
            self._alarms.append(f"{alert.name} at step {self._step}: {alert.text}")
            self._emit(events.Note(text=f"alarm {self._alarms[-1]}"))
            if action != "warn" and not self._stopped_by:
                self._stopped_by = alert.name
                await self._end_at(alert.since if action == "rollback" else self._step)
        return bool(self._stopped_by)

    async def _end_at(self, step: int) -> None:
        """Make the newest checkpoint one of this step, or the last before it, and evaluate it."""
        await self._halt()
        if step < self._step:
            saved = self._folder.checkpoints()
            self._folder.prune({at for at in saved if at <= step} or {min(saved)})
            told = self._alarms
            await self._restore()
            self._alarms = told
            if not self._step:
                await self._learners.publish(self._arena, 0)
        self._after = await self._evaluate()
        await self._save()

    def _seconds_left(self) -> float:
        """At the pace of this process so far, evaluations and saving among it."""
        began, first = self._since
        return (time.monotonic() - began) / (self._step - first) * (self._recipe.steps - self._step)

    async def _evaluate(self) -> events.Block:
        episodes = await play_split(
            self._arena,
            self._recipe,
            split=self._recipe.evaluation.split,
            deals=self._recipe.evaluation.deals,
            prefix=f"eval-{self._step}",
        )
        self._folder.write_episodes(f"eval-{self._step:06d}", episodes)
        exact = await measure(self._recipe, self._learners.first_words)
        anchors = await self._opposition.against_anchors(self._step)
        block = score(episodes).model_copy(update={"exploitability": exact, "anchors": anchors})
        rates = {"eval/success": block.success, **{f"eval/{n}": r.success for n, r in block.by_persona.items()}}
        known = {f"eval/against {name}": value for name, value in anchors.items()}
        known |= {} if exact is None else {"eval/exploitability": exact}
        self._trackers.log(self._step, rates | known)
        self._emit(events.Evaluated(step=self._step, split=self._recipe.evaluation.split, block=block))
        return block

    async def _save(self) -> None:
        assert self._before is not None
        assert self._after is not None
        books = {
            "ledger": self._ledger.dump(),
            "baselines": dict(self._evidence.baselines),
            "alarms": [*self._alarms],
            "population": self._opposition.book.model_dump(mode="json"),
            "before": self._before.model_dump(mode="json"),
            "after": self._after.model_dump(mode="json"),
        }
        with self._folder.checkpoint(self._step) as path:
            await self._learners.save(path)
            (path / BOOKS).write_text(json.dumps(books, indent=1), encoding="utf-8")
        if "rollback" not in self._recipe.alarms.values():  # which may need any of them
            every = self._recipe.keep_every
            kept = {step for step in self._folder.checkpoints() if every and step % every == 0}
            self._folder.prune({0, self._step, *kept})
            self._opposition.prune()
            self._past.prune(self._step)
        path = self._folder.checkpoints()[self._step]
        self._emit(events.Saved(step=self._step, path=str(path)))

    async def _restore(self) -> None:
        """Go back to the newest checkpoint; without one, start anew."""
        steps = self._folder.checkpoints()
        self._step = max(steps, default=0)
        books = await self._load(steps[self._step]) if steps else {}
        self._folder.rewind(self._step if steps else -1)  # only now: a checkpoint that fails to load costs nothing
        if steps:
            self._ledger = Ledger.load(books["ledger"])
            self._evidence = Evidence(books["baselines"])
            self._rows = [row for row in self._folder.metrics() if "reward/mean" in row]
            self._alarms = books["alarms"]
            await self._opposition.restore(books["population"])
            self._before = events.Block.model_validate(books["before"])
            self._after = events.Block.model_validate(books["after"])
        if self._step:
            await self._past.revive(self._arena, self._step)
            await self._learners.publish(self._arena, self._step)
        self._emit(events.Note(text=f"going on from step {self._step} of {self._recipe.steps}"))

    async def _load(self, path: Path) -> dict[str, Any]:
        """Put a checkpoint into the learners; the run's own books of that step."""
        await self._learners.load(path)
        try:
            books: dict[str, Any] = json.loads((path / BOOKS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunFolderError(f"checkpoint {str(path)!r} cannot be resumed: {error}") from None
        return books


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _write_report(folder: RunFolder) -> None:
    pair = contrast(folder)
    shown = list(zip(("Before", "After"), pair, strict=True)) if pair else []
    write_report(folder.path / "report.html", folder.facts(), folder.metrics(), shown)
