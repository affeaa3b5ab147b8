"""Alarms: rules that look back over a run's steps and say when learning has gone wrong, and since when.

Each rule is a pure function of the metrics rows so far, so a resumed run raises what an uninterrupted one would.
Where several policies learn, each rule looks at each one's own metrics. What is then done (`warn`, `stop`,
`rollback`) is the run loop's affair. Knows no model and no episode.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from simarena.arena.messages import Frozen

Action = Literal["off", "warn", "stop", "rollback"]
"""`stop` saves and ends the run; `rollback` ends it at the newest checkpoint from before the trouble."""
Row = Mapping[str, float]

WINDOW = 5
"""Steps whose mean is compared."""
BASELINE = 10
"""First steps, which later ones are set against (as in RAGEN-2, arXiv 2604.06268)."""
SOLVED = 0.9
"""Mean raw outcome above which a lack of spread is success, not collapse."""
SIGMAS = 3.0
"""Standard errors by which two windows must differ to count as different."""


class Alert(Frozen):
    """One alarm that is raised."""

    alarm: str
    text: str
    """One line: what is seen, and what it may mean."""
    since: int
    """The last step that was still sound, as far as the rule can tell."""
    learner: str = ""
    """Whose metrics raised it; empty where one policy learns, and for what is of the whole run."""

    @property
    def name(self) -> str:
        """The alarm, with its learner's name before it where there are several."""
        return f"{self.learner}/{self.alarm}" if self.learner else self.alarm


def deviation(rows: Sequence[Row]) -> Alert | None:
    """In-group reward deviation below a tenth of its start for ten steps: nothing is left to compare (RAGEN-2)."""
    start, now = _start(rows, "reward/group_std"), _last(rows, "reward/group_std", 10)
    if not start or not now or _solved(rows, 10) or max(now) >= 0.1 * statistics.fmean(start):
        return None
    text = (
        f"reward differs by {max(now):.3g} within a group, {statistics.fmean(start):.3g} at the start: collapse?"
    )
    return Alert(alarm="deviation", text=text, since=_step(rows, 10))


def zero_variance(rows: Sequence[Row]) -> Alert | None:
    """Nine of ten groups without any difference in outcome for five steps: the deals are too hard, or too easy."""
    now = _last(rows, "groups/zero_variance", WINDOW)
    if not now or min(now) < 0.9 or _solved(rows, WINDOW):
        return None
    text = f"{statistics.fmean(now):.0%} of groups have equal outcomes: nothing to learn from these deals"
    return Alert(alarm="zero_variance", text=text, since=_step(rows, WINDOW))


def entropy(rows: Sequence[Row]) -> Alert | None:
    """Entropy a tenth, or more than threefold, of its start for five steps: collapse, or noise."""
    start, now = _start(rows, "loss/entropy"), _last(rows, "loss/entropy", WINDOW)
    if not start or not now:
        return None
    usual = statistics.fmean(start)
    low, high = max(now) < 0.1 * usual and not _solved(rows, WINDOW), min(now) > 3 * usual
    text = (
        f"entropy {statistics.fmean(now):.3g} nats, {usual:.3g} at the start: {'noise' if high else 'collapse'}?"
    )
    return Alert(alarm="entropy", text=text, since=_step(rows, WINDOW)) if low or high else None


def gradient(rows: Sequence[Row]) -> Alert | None:
    """Gradient norm tenfold its usual in two of three steps: the point of no return of the echo trap (RAGEN)."""
    norms = [row["train/grad_norm"] for row in rows if "train/grad_norm" in row]
    before, now = norms[-23:-3], norms[-3:]
    if len(before) < BASELINE:
        return None
    usual = statistics.median(before)
    spikes = sum(not norm <= 10 * usual for norm in now)  # so that nan is a spike
    if spikes < 2 or usual == 0:
        return None
    text = f"gradient norm {max(now):.3g}, usually {usual:.3g}: the policy may be about to fall apart"
    return Alert(alarm="gradient", text=text, since=_step(rows, 3))


def ratio(rows: Sequence[Row]) -> Alert | None:
    """Effective sample size below half for three steps: rollouts are of another policy than the one trained."""
    now = _last(rows, "ratio/ess", 3)
    if not now or max(now) >= 0.5:
        return None
    text = f"effective sample size {max(now):.2f}: rollouts too old, or too many epochs on them"
    return Alert(alarm="ratio", text=text, since=_step(rows, 3))


def template(rows: Sequence[Row]) -> Alert | None:
    """Replies no longer depend on what was said, whatever the entropy (template collapse, RAGEN-2)."""
    measured = [row for row in rows if "mutual/information" in row]
    if len(measured) < 4:
        return None
    usual = statistics.fmean(row["mutual/information"] for row in measured[:2])
    now, found = measured[-2:], [row["mutual/retrieval"] for row in measured[-2:]]
    chance = now[-1]["mutual/chance"]
    if max(row["mutual/information"] for row in now) >= 0.2 * usual or max(found) > 3 * chance:
        return None
    text = (
        f"information between input and reply {now[-1]['mutual/information']:.3g} nats, {usual:.3g} at the start; "
        f"the input is told from the reply in {found[-1]:.0%} (chance {chance:.0%}): one template for all?"
    )
    return Alert(alarm="template", text=text, since=int(measured[-3]["step"]))


def repetition(rows: Sequence[Row]) -> Alert | None:
    """Three-token phrases said again within a turn, 0.3 more of them than at the start, for five steps."""
    start, now = _start(rows, "tokens/repetition"), _last(rows, "tokens/repetition", WINDOW)
    if not start or not now or min(now) < statistics.fmean(start) + 0.3:
        return None
    text = (
        f"{statistics.fmean(now):.0%} of phrases repeat within a turn, {statistics.fmean(start):.0%} at the start"
    )
    return Alert(alarm="repetition", text=text, since=_step(rows, WINDOW))


def length(rows: Sequence[Row]) -> Alert | None:
    """Turns three times as long, or as short, as at the start for five steps."""
    start, now = _start(rows, "tokens/per_turn"), _last(rows, "tokens/per_turn", WINDOW)
    if not start or not now:
        return None
    usual = statistics.fmean(start)
    if usual / 3 < max(now) and min(now) < 3 * usual:
        return None
    text = f"{statistics.fmean(now):.1f} tokens a turn, {usual:.1f} at the start"
    return Alert(alarm="length", text=text, since=_step(rows, WINDOW))


def hacking(rows: Sequence[Row]) -> Alert | None:
    """Reward has risen while the raw outcome or a named check has fallen, both beyond noise: reward hacking."""
    now = rows[-WINDOW:]
    checked = ["outcome/mean", *sorted(name for name in rows[-1] if name.startswith("checks/"))] if rows else []
    for first in range(len(rows) - 2 * WINDOW + 1):
        then = rows[first : first + WINDOW]
        if not _rose(then, now, "reward/mean"):
            continue
        for name in checked:
            fallen = _rose(now, then, name)
            if fallen > 0.05 * statistics.fmean(row.get(name, 0.0) for row in then):
                since = int(then[-1]["step"])
                text = f"reward rises while {name} falls by {fallen:.2f} since step {since}: reward hacking?"
                return Alert(alarm="hacking", text=text, since=since)
    return None


def selfplay(rows: Sequence[Row]) -> Alert | None:
    """Learners do better among themselves or against past selves, and worse against frozen opponents."""
    measured = [place for place, row in enumerate(rows) if "anchor/score" in row]
    name = "population/score" if rows and "population/score" in rows[-1] else "outcome/mean"
    for first in measured[:-1]:
        then, now = rows[first], rows[measured[-1]]
        fallen = then["anchor/score"] - now["anchor/score"]
        error = math.hypot(then["anchor/error"], now["anchor/error"])
        window = rows[first : first + WINDOW]
        if fallen > SIGMAS * error and len(rows) - first >= 2 * WINDOW and _rose(window, rows[-WINDOW:], name):
            since = int(then["step"])
            text = f"{name} rises while the score against anchors falls by {fallen:.2f} since step {since}"
            return Alert(alarm="selfplay", text=text, since=since)
    return None


def disagreement(rows: Sequence[Row]) -> Alert | None:
    """Within groups, reward and raw outcome order four of ten pairs the other way round, for five steps."""
    now = _last(rows, "reward/discordance", WINDOW)
    if not now or min(now) < 0.4:
        return None
    text = (
        f"reward prefers the episode with the worse outcome in {statistics.fmean(now):.0%} of pairs: who judges?"
    )
    return Alert(alarm="disagreement", text=text, since=_step(rows, WINDOW))


ALARMS: dict[str, Callable[[Sequence[Row]], Alert | None]] = {
    rule.__name__: rule
    for rule in (
        deviation,
        zero_variance,
        entropy,
        gradient,
        ratio,
        template,
        repetition,
        length,
        hacking,
        selfplay,
        disagreement,
    )
}


WHOLE = ("selfplay",)
"""Alarms on the run as a whole, however many learn."""


def raised(rows: Sequence[Row], actions: Mapping[str, Action]) -> list[tuple[Alert, Action]]:
    """The alarms that these rows raise, but for those that are off; `warn` where nothing is said."""
    names = _learners(rows[-1]) if rows else []
    found = []
    for rule, look in ALARMS.items():
        if actions.get(rule, "warn") != "off":
            for name in [""] if rule in WHOLE or not names else names:
                alert = look([_Own(row, name) for row in rows] if name else rows)
                found += [alert.model_copy(update={"learner": name})] if alert is not None else []
    return [(alert, actions.get(alert.alarm, "warn")) for alert in found]


def newly(rows: Sequence[Row], actions: Mapping[str, Action]) -> list[tuple[Alert, Action]]:
    """Those that the row before did not raise already."""
    known = {alert.name for alert, _ in raised(rows[:-1], actions)}
    return [(alert, action) for alert, action in raised(rows, actions) if alert.name not in known]


_OF_A_LEARNER = "/train/learning_rate"


def _learners(row: Row) -> list[str]:
    """The learners whose metrics carry their names; none where a single one's do not."""
    return sorted(key.removesuffix(_OF_A_LEARNER) for key in row if key.endswith(_OF_A_LEARNER))


class _Own(Mapping[str, float]):
    """A row as one of several learners sees it: what is told of it by name comes before what is told of all."""

    def __init__(self, row: Row, learner: str) -> None:
        self._row, self._prefix = row, f"{learner}/"

    def __getitem__(self, key: str) -> float:
        own = self._prefix + key
        return self._row[own] if own in self._row else self._row[key]

    def __iter__(self) -> Iterator[str]:
        return iter({key.removeprefix(self._prefix): None for key in self._row})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _start(rows: Sequence[Row], name: str) -> list[float]:
    """The first values; none before there are later ones to set against them."""
    values = [row[name] for row in rows if name in row]
    return values[:BASELINE] if len(values) > BASELINE else []


def _last(rows: Sequence[Row], name: str, steps: int) -> list[float]:
    """The values of the last steps; none if some step has none."""
    values = [row[name] for row in rows[-steps:] if name in row]
    return values if len(values) == steps else []


def _solved(rows: Sequence[Row], steps: int) -> bool:
    return statistics.fmean(row.get("outcome/mean", 0.0) for row in rows[-steps:]) > SOLVED


def _step(rows: Sequence[Row], steps: int) -> int:
    """The step before the last `steps` ones."""
    return int(rows[-steps - 1]["step"]) if len(rows) > steps else 0


def _rose(then: Sequence[Row], now: Sequence[Row], name: str) -> float:
    """By how much the mean rose between two windows; 0 if it did not, beyond noise."""
    one, other = ([row.get(name, 0.0) for row in window] for window in (then, now))
    gain = statistics.fmean(other) - statistics.fmean(one)
    error = math.sqrt((_variance(one) + _variance(other)) / WINDOW)
    return gain if gain > SIGMAS * error else 0.0


def _variance(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
