"""The training book: a run's metrics as series, its ledger, its alarms and what it is, as far as told.

A fold of the rows of metrics.jsonl. Knows no file and no trainer; names are made safe to show here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simarena.arena.text import one_line
from simarena.training.alarms import raised
from simarena.training.seating import chair

LEDGER = "ledger/"
EVALUATION = "eval/"
ALARM = "alarms/"
AGAINST = f"{EVALUATION}against "
EXPLOITABILITY = f"{EVALUATION}exploitability"
_NO_PERSONAS = (f"{EVALUATION}success", EXPLOITABILITY)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something in training that a person should look at; texts are safe to show."""

    step: int
    name: str
    text: str


@dataclass(slots=True)
class TrainingBook:
    """Series by metric name. All names are safe to show."""

    facts: dict[str, Any] = field(default_factory=dict)
    """run.json as it is: raw, for looking things up in."""
    learners: tuple[str, ...] = ()
    """Learning policies or seats, one tab each."""
    total_steps: int = 0
    revision: int = 0
    """Rises with every change."""
    alarms: list[Alarm] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    """Every row as it came: `step` and numbers by name."""
    _series: dict[str, dict[int, float]] = field(default_factory=dict)
    _ringing: set[str] = field(default_factory=set)
    """Alarms that the newest step raised."""

    @property
    def step(self) -> int:
        """The newest step told of."""
        return max((max(points) for points in self._series.values() if points), default=0)

    def describe(self, facts: Mapping[str, Any]) -> None:
        """What run.json says the run is. Raises ValueError, in words, if it cannot be that."""
        recipe = facts.get("recipe") or {}
        if not isinstance(recipe, dict):
            raise ValueError(f"recipe is {one_line(repr(recipe), 40)}, not an object")
        steps = recipe.get("steps") or 0
        if not isinstance(steps, int):
            raise ValueError(f"recipe.steps is {one_line(repr(steps), 40)}, not a whole number")
        self.facts, self.total_steps = dict(facts), steps
        self.learners = tuple(one_line(seat, 80) for seat in _learners(recipe))
        self.revision += 1

    def take(self, row: Mapping[str, Any]) -> None:
        """One row of metrics: `step` and numbers by name. A step told again replaces what was told."""
        step = int(row.get("step", 0))
        self.revision += 1
        told: dict[str, float] = {"step": step}
        self.rows.append(told)
        for raw, value in row.items():
            if raw == "step" or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            name = one_line(raw, 60)
            told[name] = float(value)
            self._series.setdefault(name, {})[step] = float(value)
            if not math.isfinite(value):
                self.alarms.append(Alarm(step, name, f"{name} is {value}"))
        self._ring(told)

    def rewind(self) -> None:
        """Forget all points: the file is being written anew."""
        self._series.clear()
        self.rows.clear()
        self.alarms.clear()
        self._ringing.clear()
        self.revision += 1

    def names(self, prefix: str = "") -> list[str]:
        """Metric names in order."""
        return sorted(name for name in self._series if name.startswith(prefix))

    def series(self, name: str) -> list[tuple[int, float]]:
        """(step, value) by step; empty for a name never told."""
        return sorted(self._series.get(name, {}).items())

    def latest(self, name: str) -> float | None:
        points = self._series.get(name)
        return points[max(points)] if points else None

    def ledger(self) -> dict[str, int]:
        """Newest counts: `dispatched`, `open`, the fates, then `fate(reason)`."""
        return {
            name[len(LEDGER) :]: int(self.latest(name) or 0) for name in self._series if name.startswith(LEDGER)
        }

    def ledger_adds_up(self) -> bool:
        counts = self.ledger()
        fates = ("trained", "filtered", "truncated", "discarded", "stale", "open")
        return counts.get("dispatched", 0) == sum(counts.get(fate, 0) for fate in fates)

    def personas(self) -> dict[str, list[tuple[int, float]]]:
        """Success by persona on held-out deals, by step."""
        names = [name for name in self.names(EVALUATION) if name not in _NO_PERSONAS]
        return {name[len(EVALUATION) :]: self.series(name) for name in names if not name.startswith(AGAINST)}

    def anchors(self) -> dict[str, list[tuple[int, float]]]:
        """Mean outcome against each frozen opponent, by step."""
        return {name[len(AGAINST) :]: self.series(name) for name in self.names(AGAINST)}

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            self.take(row)

    def _ring(self, row: Mapping[str, float]) -> None:
        """Alarms that this step raises and the one before did not, in the words of their rules."""
        if LEDGER + "dispatched" not in row:  # no optimiser step but an evaluation: it says nothing of alarms
            return
        now = {name[len(ALARM) :] for name, value in row.items() if name.startswith(ALARM) and value}
        if fresh := sorted(now - self._ringing):
            steps = [told for told in self.rows if LEDGER + "dispatched" in told]
            words = {alert.name: alert.text for alert, _ in raised(steps, {})}
            for name in fresh:
                learner, several, alarm = name.rpartition("/")
                text = f"{learner}: {words.get(name, alarm)}" if several else words.get(name, alarm)
                self.alarms.append(Alarm(int(row["step"]), name, one_line(text, 300)))
        self._ringing = now


def _learners(recipe: Mapping[str, Any]) -> list[str]:
    seats = recipe.get("seats")
    return (
        sorted(seat for seat, who in seats.items() if chair(str(who)).kind == "learner")
        if isinstance(seats, dict)
        else []
    )
