"""The training book: a run's metrics as series, its ledger, its alarms and what it is, as far as told.

A fold of the rows of metrics.jsonl. Knows no file and no trainer; names are made safe to show here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simarena.arena.text import one_line

LEDGER = "ledger/"
EVALUATION = "eval/"
ALARM = "alarm/"


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
    _told: set[tuple[int, str]] = field(default_factory=set)

    @property
    def step(self) -> int:
        """The newest step told of."""
        return max((max(points) for points in self._series.values() if points), default=0)

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
            if why := _alarm(name, float(value)):
                self._alarm(Alarm(step, name, why))

    def rewind(self) -> None:
        """Forget all points: the file is being written anew."""
        self._series.clear()
        self.rows.clear()
        self.alarms.clear()
        self._told.clear()
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
        names = [name for name in self.names(EVALUATION) if name != f"{EVALUATION}success"]
        return {name[len(EVALUATION) :]: self.series(name) for name in names}

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            self.take(row)

    def _alarm(self, alarm: Alarm) -> None:
        if (alarm.step, alarm.name) not in self._told:
            self._told.add((alarm.step, alarm.name))
            self.alarms.append(alarm)


def _alarm(name: str, value: float) -> str:
    """Why this number alone is a reason to look; empty if it is not."""
    if not math.isfinite(value):
        return f"{name} is {value}"
    if name.startswith(ALARM) and value:
        return f"{name[len(ALARM) :]}: {value:g}"
    return ""
