"""Trackers: where metrics go. metrics.jsonl is the record; TensorBoard and wandb are copies and extras.

A copy may fail when it is opened, never later: one that breaks in mid-run is dropped with a note. All share
one step axis, the policy version. Loads a tracker's package only when that tracker is asked for.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from simarena.arena.errors import MissingExtra, UsageError

Metrics = Mapping[str, float]


class Tracker(Protocol):
    def log(self, step: int, metrics: Metrics) -> None: ...

    def close(self) -> None: ...


class TensorBoard:
    """Event files in `<run folder>/tensorboard`."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        _need("tensorboard")
        self._writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(folder / "tensorboard")

    def log(self, step: int, metrics: Metrics) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class Wandb:
    """A run of Weights & Biases, named like the run folder; its own environment variables say where to."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        wandb = _need("wandb")
        try:
            self._run = wandb.init(project="simarena", name=folder.name, dir=str(folder), config=dict(settings))
        except Exception as error:
            raise UsageError(f"tracker 'wandb' cannot start: {error}") from error

    def log(self, step: int, metrics: Metrics) -> None:
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        self._run.finish()


TRACKERS: dict[str, Callable[[Path, Mapping[str, Any]], Tracker]] = {"tensorboard": TensorBoard, "wandb": Wandb}


class Trackers:
    """The record and its copies as one tracker.

    `record` appends one row to metrics.jsonl; what it raises is raised. `note` hears of a copy that broke.
    """

    def __init__(
        self, record: Callable[[dict[str, Any]], None], copies: Sequence[Tracker], note: Callable[[str], None]
    ) -> None:
        self._record, self._copies, self._note = record, list(copies), note

    def join(self, copy: Tracker) -> None:
        """One more copy, from here on."""
        self._copies.append(copy)

    def log(self, step: int, metrics: Metrics) -> None:
        self._record({"step": step, **metrics})
        self._each(lambda copy: copy.log(step, metrics))

    def close(self) -> None:
        self._each(lambda copy: copy.close())

    def _each(self, act: Callable[[Tracker], None]) -> None:
        for copy in list(self._copies):
            try:
                act(copy)
            except Exception as error:
                self._copies.remove(copy)
                self._note(f"tracker {type(copy).__name__} failed and is off from here on: {error}")


def open_copies(names: Sequence[str], folder: Path, settings: Mapping[str, Any]) -> list[Tracker]:
    """The trackers of these names. Raises MissingExtra or UsageError if one cannot start."""
    return [TRACKERS[name](folder, settings) for name in names]


def _need(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        raise MissingExtra(package, f"pip install 'simarena[{package}]'") from None
