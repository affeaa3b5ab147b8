"""The run loop: rollouts, update, publish; evaluation, checkpoints and resume around them.

Wires the parts and keeps the step axis, which is the policy version; knows no credit rule, loss, scenario
or engine by name. After a kill, `resume` goes on from the newest checkpoint and repeats exactly what was
lost, since every number of a step comes from (seed, step).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from simarena.arena.arena import SimulatorArena
from simarena.arena.ledger import Ledger
from simarena.arena.messages import Frozen
from simarena.arena.record import RunFolder
from simarena.training import accounts, alarms, events
from simarena.training.config import Recipe
from simarena.training.contrast import contrast
from simarena.training.credit import Evidence
from simarena.training.credit.turnppo import CriticCreditOptions
from simarena.training.credit.vine import ForkCreditOptions
from simarena.training.evaluation import POLICY, engine_spec, options_of, play_split, require_some, score, seats_of
from simarena.training.forking import play_on
from simarena.training.lesson import Lesson
from simarena.training.plan import plan
from simarena.training.provenance import provenance
from simarena.training.report import write_report
from simarena.training.samples import by_turn
from simarena.training.starting_point import starting_model
from simarena.training.trackers import Trackers, open_copies
from simarena.training.trainer import LocalTrainer, RayTrainer, TrainerDoor
from simarena.training.trend import Trend, trend

Emit = Callable[[events.Event], None]


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
    if not resume:
        folder.describe(provenance(recipe))
    copies = open_copies(recipe.trackers, folder.path, recipe.model_dump(mode="json"))
    trackers = Trackers(folder.metric, copies, lambda text: emit(events.Note(text=text)))
    emit(events.Started(plan=plan(recipe), total_steps=recipe.steps, run=str(folder.path)))
    try:
        model = await starting_model(recipe, emit)
        report = await _run(recipe, folder, model, trackers, emit, resume, stop)
    finally:
        trackers.close()
    report = report.model_copy(update={"seconds": time.monotonic() - began})
    folder.describe(folder.facts() | report.model_dump(mode="json", exclude={"run"}))
    _write_report(folder)
    return report


async def _run(
    recipe: Recipe,
    folder: RunFolder,
    model: Path,
    trackers: Trackers,
    emit: Emit,
    resume: bool,
    stop: asyncio.Event,
) -> TrainReport:
    async with SimulatorArena(
        recipe.backend,
        bus=recipe.bus,
        seed=recipe.seed,
        policies={POLICY: engine_spec(recipe, model)},
        people=recipe.rollout.people,
        limits=recipe.rollout.limits,
    ) as arena:
        trainer: TrainerDoor = (RayTrainer if recipe.backend == "ray" else LocalTrainer)(model, recipe)
        try:
            with folder.on_bus(arena.run, arena.bus.url):
                return await Run(recipe, folder, arena, trainer, trackers, emit).to_the_end(resume, stop)
        finally:
            await trainer.close()


class Run:
    """One run in an open arena."""

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        arena: SimulatorArena,
        trainer: TrainerDoor,
        trackers: Trackers,
        emit: Emit,
    ) -> None:
        self._recipe, self._folder, self._arena = recipe, folder, arena
        self._trainer, self._trackers, self._emit = trainer, trackers, emit
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

    async def to_the_end(self, resume: bool, stop: asyncio.Event) -> TrainReport:
        if resume:
            await self._restore()
        if self._before is None:
            self._before = self._after = await self._evaluate()
            await self._save()
        self._since = (time.monotonic(), self._step)
        while self._step < self._recipe.steps and not stop.is_set():
            await self._train_step()
            if await self._alarmed():
                break
            last = self._step == self._recipe.steps
            if last or _due(self._step, self._recipe.evaluation.every):
                self._after = await self._evaluate()
            if last or stop.is_set() or _due(self._step, self._recipe.checkpoint_every):
                await self._save()
        assert self._after is not None
        return TrainReport(
            run=str(self._folder.path),
            steps=self._step,
            seconds=0.0,
            before=self._before,
            after=self._after,
            reward=trend(self._folder.metrics()),
            ledger=self._ledger.counts(),
            interrupted=self._step < self._recipe.steps and not self._stopped_by,
            alarms=tuple(self._alarms),
            stopped_by=self._stopped_by,
        )

    async def _train_step(self) -> None:
        began = time.monotonic()
        lesson = Lesson(self._recipe, self._step, self._ledger, self._evidence)
        while deals := lesson.wanted():
            play = self._arena.play(
                self._recipe.scenario.name,
                options=options_of(self._recipe, "train"),
                seats=seats_of(self._recipe),
                deals=deals,
                group=self._recipe.rollout.group,
                concurrency=self._recipe.rollout.concurrency,
                prefix=lesson.prefix,
                limits=self._recipe.rollout.limits_at(self._step),
            )
            lesson.take([episode async for episode in play])
        require_some(lesson.episodes)
        played = time.monotonic()
        evidence, looked = await self._evidence_for(lesson)
        samples = lesson.samples(evidence)
        metrics = {**looked, **await self._trainer.update(samples)}
        if _due(self._step + 1, self._recipe.monitors.mutual_every):
            metrics |= await self._trainer.mutual(samples, self._recipe.monitors.mutual_samples)
        updated = time.monotonic()
        self._step += 1
        await self._arena.publish(POLICY, self._step, await self._trainer.weights())
        published = time.monotonic()
        batch = f"train-{self._step:06d}"
        accounts.write(self._folder, batch, lesson.accounts())
        self._folder.write_episodes(batch, lesson.episodes, lesson.fates)
        ended = time.monotonic()
        self._report_step(
            lesson,
            {
                **metrics,
                **lesson.metrics(),
                "time/rollout": played - began,
                "time/update": updated - played,
                "time/publish": published - updated,
                "time/step": ended - began,
                "time/tokens_per_second": lesson.tokens / max(1e-9, played - began),
            },
        )

    async def _evidence_for(self, lesson: Lesson) -> tuple[Evidence, dict[str, float]]:
        """What this step's credit rule asks to know, and metrics of finding out."""
        credit = self._recipe.credit_at(self._step)
        if isinstance(credit, CriticCreditOptions):
            drafts, hints = lesson.drafts(), lesson.hints() if credit.critic.privileged else {}
            values = await self._trainer.values(drafts, hints)
            return replace(self._evidence, values=by_turn(drafts, values)), {}
        if isinstance(credit, ForkCreditOptions):
            forks = await play_on(
                self._arena,
                lesson.kept(),
                credit,
                scenario=self._recipe.scenario.name,
                prefix=f"fork-{self._step}",
                concurrency=self._recipe.rollout.concurrency,
            )
            self._folder.write_episodes(f"fork-{self._step + 1:06d}", forks.episodes)
            return replace(self._evidence, continuations=forks.continuations()), forks.metrics()
        return self._evidence, {}

    def _report_step(self, lesson: Lesson, row: dict[str, float]) -> None:
        ledger = self._ledger.counts()
        self._rows.append({**row, "step": float(self._step)})
        raised = alarms.raised(self._rows, self._recipe.alarms)
        row |= {f"alarms/{alert.alarm}": 1.0 for alert, _ in raised}
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

    async def _alarmed(self) -> bool:
        """Say what alarms the step has raised, and act on them; whether the run is to end."""
        for alert, action in alarms.newly(self._rows, self._recipe.alarms):
            self._alarms.append(f"{alert.alarm} at step {self._step}: {alert.text}")
            self._emit(events.Note(text=f"alarm {self._alarms[-1]}"))
            if action != "warn" and not self._stopped_by:
                self._stopped_by = alert.alarm
                await self._end_at(alert.since if action == "rollback" else self._step)
        return bool(self._stopped_by)

    async def _end_at(self, step: int) -> None:
        """Make the newest checkpoint one of this step, or the last before it, and evaluate it."""
        if step < self._step:
            saved = self._folder.checkpoints()
            self._folder.prune({at for at in saved if at <= step} or {min(saved)})
            told = self._alarms
            await self._restore()
            self._alarms = told
            if not self._step:
                await self._arena.publish(POLICY, 0, await self._trainer.weights())
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
        block = score(episodes)
        rates = {"eval/success": block.success, **{f"eval/{n}": r.success for n, r in block.by_persona.items()}}
        self._trackers.log(self._step, rates)
        self._emit(events.Evaluated(step=self._step, split=self._recipe.evaluation.split, block=block))
        return block

    async def _save(self) -> None:
        assert self._before is not None
        assert self._after is not None
        extra: dict[str, JsonValue] = {
            "ledger": cast("JsonValue", self._ledger.dump()),
            "baselines": dict(self._evidence.baselines),
            "alarms": [*self._alarms],
            "before": self._before.model_dump(mode="json"),
            "after": self._after.model_dump(mode="json"),
        }
        with self._folder.checkpoint(self._step) as path:
            await self._trainer.save(path, extra)
        if "rollback" not in self._recipe.alarms.values():  # which may need any of them
            self._folder.prune({0, self._step})
        path = self._folder.checkpoints()[self._step]
        self._emit(events.Saved(step=self._step, path=str(path)))

    async def _restore(self) -> None:
        """Go back to the newest checkpoint; without one, start anew."""
        steps = self._folder.checkpoints()
        self._step = max(steps, default=0)
        extra = await self._trainer.load(steps[self._step]) if steps else {}
        self._folder.rewind(self._step if steps else -1)  # only now: a checkpoint that fails to load costs nothing
        if steps:
            self._ledger = Ledger.load(cast("dict[str, object]", extra["ledger"]))
            self._evidence = Evidence(cast("dict[str, float]", extra["baselines"]))
            self._rows = [row for row in self._folder.metrics() if "reward/mean" in row]
            self._alarms = cast("list[str]", extra["alarms"])
            self._before = events.Block.model_validate(extra["before"])
            self._after = events.Block.model_validate(extra["after"])
        if self._step:
            await self._arena.publish(POLICY, self._step, await self._trainer.weights())
        self._emit(events.Note(text=f"going on from step {self._step} of {self._recipe.steps}"))


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _write_report(folder: RunFolder) -> None:
    pair = contrast(folder)
    shown = list(zip(("Before", "After"), pair, strict=True)) if pair else []
    write_report(folder.path / "report.html", folder.facts(), folder.metrics(), shown)
