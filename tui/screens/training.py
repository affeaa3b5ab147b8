"""Training: the curves of a run, success by persona, where every episode went, and what needs a look."""

import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal, VerticalScroll

from simarena.tui import machine, plots
from simarena.tui.feed.status import Status
from simarena.tui.feed.training_book import EXPLOITABILITY, TrainingBook
from simarena.tui.screens.room import Room
from simarena.tui.widgets.blocks import number
from simarena.tui.widgets.braille import bar, sparkline
from simarena.tui.widgets.curve import Curve, Plot
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel

_FATES = ("trained", "filtered", "truncated", "discarded", "stale", "open")
_ALARMS = 8
"""Newest alarms shown."""


class Training(Room):
    """Curves at the left, figures at the right; on a narrow screen below each other."""

    NAME = "training"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll(3)", "Down", show=False, id="training.down"),
        Binding("k,up", "scroll(-3)", "Up", show=False, id="training.up"),
        Binding("g,home", "ends(0)", "Top", show=False, id="training.top"),
        Binding("G,end", "ends(1)", "Bottom", show=False, id="training.bottom"),
        Binding("right_square_bracket", "learner(1)", "Next learner", id="training.next", key_display="]"),
        Binding("left_square_bracket", "learner(-1)", "Previous learner", show=False, id="training.previous"),
        Binding("z", "zoom", "Larger curves", id="training.zoom"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._seen: tuple[object, ...] | None = None
        self._learner = 0
        self._gpus: tuple[machine.Gpu, ...] = ()

    def body(self) -> ComposeResult:
        yield Line(id="training-title", classes="title")
        with Horizontal(id="training"):
            with VerticalScroll(id="curves", can_focus=False), Grid(id="grid"):
                for _ in range(plots.COUNT):
                    yield Curve()
            yield Panel(id="figures")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#figures", Panel).focus()
        self.set_interval(machine.PERIOD, self._ask_gpus)
        self._ask_gpus()

    @work(exclusive=True, group="gpus")
    async def _ask_gpus(self) -> None:
        if self.is_current:
            self._gpus = await machine.gpus()

    def look(self) -> None:
        book = self.source.training
        names = plots.learners(book)
        seen = (book.revision, self._learner, self.size, self._gpus, int(time.monotonic() / machine.PERIOD))
        if self.watch_app.held is not None or seen == self._seen:
            return
        self._seen = seen
        self.query_one("#training-title", Line).left = _title(book, names, self._learner)
        drawn = plots.plots(book, names[self._learner] if names else "")
        self.refresh_bindings()
        for curve, plot in zip(self.query(Curve), [*drawn, *[Plot("")] * plots.COUNT], strict=False):
            curve.plot = plot
            curve.display = bool(plot.title)
        self.query_one("#curves").display = bool(drawn)
        self.set_class(not drawn, "-alone")
        panel = self.query_one("#figures", Panel)
        if book.names():
            panel.fill(lambda width: list(_figures(book, width, self.source.status(), self._gpus)))
        else:
            panel.show(_nothing(self.source.live))

    def action_scroll(self, by: int) -> None:
        for pane in ("#curves", "#figures"):
            self.query_one(pane).scroll_relative(y=by, animate=False)

    def action_ends(self, end: int) -> None:
        for pane in ("#curves", "#figures"):
            target = self.query_one(pane)
            target.scroll_end(animate=False) if end else target.scroll_home(animate=False)

    def action_learner(self, by: int) -> None:
        self._learner = (self._learner + by) % len(plots.learners(self.source.training))
        self.look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        return len(plots.learners(self.source.training)) > 1 if action == "learner" else True

    def action_zoom(self) -> None:
        self.toggle_class("-large")


def _title(book: TrainingBook, names: Sequence[str], chosen: int) -> Text:
    title = Text(" Training", "strong")
    facts: list[tuple[str, str]] = [
        ("step", f"{book.step:,} of {book.total_steps:,}" if book.total_steps else f"{book.step:,}")
    ]
    for name, metric in (("success", "outcome/success"), ("held out", "eval/success"), ("reward", "reward/mean")):
        if (value := book.latest(metric)) is not None:
            facts.append((name, f"{value:+.2f}" if name == "reward" else f"{value:.0%}"))
    if book.learners and not names:
        facts.append(("learns", ", ".join(book.learners)))
    for name, told in facts if book.names() else []:
        title.append(f"   {name} ", "muted").append(told)
    title.append("   " if names else "")
    for i, name in enumerate(names):
        title.append(f" {name} ", "key" if i == chosen else "muted")
    return title


def _figures(book: TrainingBook, width: int, status: Status, gpus: Sequence[machine.Gpu]) -> Iterator[Text]:
    """Success by persona, the ledger, the alarms, the machine."""
    yield from _shares("Success by persona", "held out, weakest first", plots.personas(book), width)
    yield from _shares("Against frozen opponents", "mean outcome", plots.anchors(book), width)
    if (exploitability := book.latest(EXPLOITABILITY)) is not None:
        first = book.series(EXPLOITABILITY)[0][1]
        yield Text.assemble(
            (" Exploitability ", "strong"), f"{exploitability:.3g}", (f"  from {first:.3g}", "muted")
        )
        yield Text()
    yield from _ledger(book, width)
    yield Text()
    yield Text(" Alarms", "strong")
    for alarm in reversed(book.alarms[-_ALARMS:]):
        yield Text.assemble((f" step {alarm.step:<5} ", "muted"), (alarm.text, "alarm"))
    if not book.alarms:
        yield Text(" none", "muted")
    yield Text()
    yield from _load(status, gpus)


def _load(status: Status, gpus: Sequence[machine.Gpu]) -> Iterator[Text]:
    """How busy this machine and the bus are."""
    yield Text(" Load", "strong")
    load, cores = machine.cores()
    yield Text.assemble(
        (" CPU        ", "muted"),
        (f"{load:.1f}", "warn" if load > 2 * cores else "plain"),
        (f" on {cores} cores", "muted"),
    )
    for gpu in gpus:
        held = f"{gpu.used:.1f} of {gpu.memory:.0f} GiB"
        yield Text.assemble((" GPU        ", "muted"), f"{gpu.busy:.0%}", (f"  {held}  {gpu.name}", "muted"))
    if not status.over:
        rate = f"{status.rate:,.0f} messages a second, {status.lag * 1000:,.0f} ms behind"
        yield Text.assemble((" bus        ", "muted"), rate)


def _shares(title: str, what: str, shares: Sequence[plots.Share], width: int) -> Iterator[Text]:
    """A line each: how it went, where it stands, how far it came."""
    if not shares:
        return
    yield Text.assemble((f" {title}", "strong"), (f"  {what}", "muted"))
    room = max(6, width - 34)
    for share in shares:
        line = Text.assemble(f" {share.name[:12]:<12} ", (f"{sparkline(share.values, 6):<6} ", "muted"))
        line.append_text(bar(share.now, room)).append(f" {share.now:>4.0%}")
        yield line.append_text(_change(share.change))
    yield Text()


def _change(value: float) -> Text:
    text = number(value * 100, 5)
    return Text(f"{value * 100:+.0f}".replace("-", "−").rjust(6), text.style)


def _ledger(book: TrainingBook, width: int) -> Iterator[Text]:
    counts = book.ledger()
    if not counts:
        return
    whole = max(1, counts.get("dispatched", 0))
    yield Text.assemble((" Ledger", "strong"), (f"  {counts.get('dispatched', 0):,} episodes dispatched", "muted"))
    room = max(6, width - 30)
    for fate in _FATES:
        count = counts.get(fate, 0)
        ink = "key" if fate == "trained" else ("warn" if fate in ("discarded", "stale") and count else "muted")
        line = Text.assemble(f" {fate:<12}", f"{count:>8,}  ", bar(count / whole, room, ink))
        yield line.append(f" {count / whole:>4.0%}", "muted")
        for name, part in counts.items():
            if name.startswith(f"{fate}("):
                yield Text(f"   {name[len(fate) + 1 : -1]:<16}{part:>2,}", "muted")
    if book.ledger_adds_up():
        yield Text(" ✓ adds up to those dispatched", "good")
    else:
        yield Text(" ✗ does not add up to those dispatched: episodes are missing", "bad")


def _nothing(live: bool) -> list[Text]:
    lines: tuple[str, ...]
    if live:
        lines = ("", " No figures yet.", " Curves appear with the first step.", "", " 1 shows what is being said.")
    else:
        lines = ("", " This run trained nothing, or recorded no metrics.", "", " 1 shows its conversations.")
    return [Text(line, "muted") for line in lines]
