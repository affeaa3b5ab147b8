"""Tables of evaluations: one on its own, or before against after, per persona with 95 % intervals.

A pure function of evaluations to a table that fits 80 columns. Knows no run and no policy.
"""

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from simarena.arena.text import one_line
from simarena.training.events import Block, Rate

_ALL = "all"
_RATES = {"harmful_compliance": "harmful compliance", "over_refusal": "over-refusal"}
"""Shares that are best at 0."""


def comparison(columns: Mapping[str, Block], split: str = "held-out") -> Table:
    """Success by persona, then harmful compliance and over-refusal, one column per evaluation."""
    table = Table(box=None, pad_edge=False)
    table.add_column(f"success on {split} deals", min_width=26)
    for name in columns:
        table.add_column(f"{name} (95 %)", justify="right")
    table.add_column("episodes", justify="right")
    evaluations = list(columns.values())
    _row(table, _ALL, evaluations, "bold")
    for persona in sorted({name for one in evaluations for name in one.by_persona}):
        _row(table, persona, [one.by_persona.get(persona) for one in evaluations])
    for field, label in _RATES.items():
        values = [getattr(one, field) for one in evaluations]
        if any(value is not None for value in values):
            shown = [Text("–" if value is None else f"{value:.2f}") for value in values]
            table.add_row(Text(f"{label} (best: 0)"), *shown, "")
    for label, measured in _measures(evaluations):
        table.add_row(Text(one_line(label, 40)), *(Text("–" if n is None else f"{n:.3f}") for n in measured), "")
    return table


def _measures(evaluations: Sequence[Block]) -> Iterator[tuple[str, list[float | None]]]:
    """Numbers that are no share of episodes, where there are any."""
    exact = [one.exploitability for one in evaluations]
    if any(number is not None for number in exact):
        yield "exploitability (best: 0)", exact
    for anchor in sorted({name for one in evaluations for name in one.anchors}):
        yield f"against {anchor.rpartition(':')[2]}", [one.anchors.get(anchor) for one in evaluations]


def _row(table: Table, name: str, rates: Sequence[Rate | None], style: str = "") -> None:
    counts = [str(rate.episodes) for rate in rates if rate is not None]
    episodes = "/".join(dict.fromkeys(counts))
    table.add_row(Text(one_line(name, 24), style), *(Text(_rate(rate), style) for rate in rates), Text(episodes))


def _rate(rate: Rate | None) -> str:
    return "–" if rate is None else f"{rate.success:.2f} ({rate.low:.2f}–{rate.high:.2f})"
