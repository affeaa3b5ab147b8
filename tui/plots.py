"""Which curves a run has: its training book in, plots out. A quantity that was never told makes no plot.

Pure. Knows metric names (producer/quantity) and nothing of widgets or files.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simarena.tui.feed.training_book import TrainingBook
from simarena.tui.widgets.braille import Point
from simarena.tui.widgets.curve import Plot, Series

Look = Callable[[str], list[Point]]
"""Metric name → its points."""
_OWN = "/reward/mean"
"""The metric by which a learner with curves of its own is known."""


@dataclass(frozen=True, slots=True)
class Share:
    """Success of one persona on held-out deals, or the outcome against one opponent, by evaluation."""

    name: str
    values: Sequence[float]

    @property
    def now(self) -> float:
        return self.values[-1]

    @property
    def change(self) -> float:
        return self.values[-1] - self.values[0]


def plots(book: TrainingBook, learner: str = "") -> list[Plot]:
    """The curves of a run, those looked at most first; of one learner where there are several."""
    made = [make(lambda name: points(book, name, learner)) for make in _PLOTS]
    return [plot for plot in made if any(series.points for series in plot.series)]


def learners(book: TrainingBook) -> list[str]:
    """Learners with curves of their own: the metrics of several are told as `NAME/metric`."""
    return [name.removesuffix(_OWN) for name in book.names() if name.endswith(_OWN)]


def personas(book: TrainingBook) -> list[Share]:
    """Held-out success by persona, weakest first."""
    return _shares(book.personas())


def anchors(book: TrainingBook) -> list[Share]:
    """Mean outcome against frozen opponents, strongest opponent first; an agent by the last part of its name."""
    return _shares({name.rpartition(":")[2]: series for name, series in book.anchors().items()})


def _shares(told: Mapping[str, Sequence[tuple[int, float]]]) -> list[Share]:
    shares = [Share(name, [value for _, value in series]) for name, series in told.items() if series]
    return sorted(shares, key=lambda share: (share.now, share.name))


def points(book: TrainingBook, name: str, learner: str = "") -> list[Point]:
    """(step, value) of one metric, where it is a finite number; of the learner if that has its own."""
    own = f"{learner}/{name}"
    series = book.series(own if learner and book.latest(own) is not None else name)
    return [(float(step), value) for step, value in series if math.isfinite(value)]


def _success(of: Look) -> Plot:
    training, heldout = of("outcome/success"), of("eval/success")
    series = [Series("held out", heldout, "good"), Series("training", training, "key")]
    return Plot("success", series, floor=0.0, ceiling=1.0, percent=True)


def _reward(of: Look) -> Plot:
    mean, within = of("reward/mean"), dict(of("reward/group_std"))
    spread = [(step, y - within[step], y + within[step]) for step, y in mean if step in within]
    return Plot("reward ± in-group deviation", [Series("reward", mean, "key", spread)])


def _one(title: str, name: str, floor: float | None = None, percent: bool = False) -> Callable[[Look], Plot]:
    return lambda of: Plot(title, [Series(title, of(name))], floor=floor, percent=percent)


def _several(title: str, floor: float | None, **names: str) -> Callable[[Look], Plot]:
    inks = ("key", "seat2", "seat3", "seat4")

    def make(of: Look) -> Plot:
        series = [Series(n, of(m), ink) for (n, m), ink in zip(names.items(), inks, strict=False)]
        return Plot(title, [one for one in series if one.points], floor=floor)

    return make


_PLOTS: tuple[Callable[[Look], Plot], ...] = (
    _success,
    _reward,
    _one("entropy (nats a token)", "loss/entropy", 0.0),
    _several("KL (nats a token)", 0.0, old="kl/old", reference="kl/reference"),
    _one("gradient norm", "train/grad_norm", 0.0),
    _several(
        "seconds", 0.0, rollout="time/rollout", score="time/score", update="time/update", publish="time/publish"
    ),
    _one("tokens a second", "time/tokens_per_second", 0.0),
    _one("groups without signal", "groups/zero_variance", 0.0, True),
    _one("largest policy ratio", "ratio/max"),
)
COUNT = len(_PLOTS)
"""Plots at most."""
