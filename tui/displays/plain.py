"""The plain display: one line of text for everything that happens, for logs and pipes.

Data goes to stdout, how it is going to stderr. All texts come from a feed and are safe to show already.
"""

import time

from rich.text import Text

from simarena.tui.console import narrate, write
from simarena.tui.displays.news import Metrics, Missed, News, news
from simarena.tui.feed.query import Query
from simarena.tui.feed.rows import Row
from simarena.tui.feed.source import Source
from simarena.tui.feed.status import Status
from simarena.tui.feed.training_book import Alarm

_SHOWN = ("outcome/success", "eval/success", "reward/mean", "reward/group_std", "loss/entropy", "train/grad_norm")
"""Metrics on a line of their step, where they are told."""
_WORDS = {
    "recorded": "recorded run",
    "following": "following the files of",
    "connected": "connected to",
    "silent": "no sign of life from",
    "reconnecting": "the bus is away, trying again:",
    "ended": "the run is over:",
    "lost": "the run is gone:",
}


async def plain(source: Source, query: Query) -> None:
    """Write until the run is over."""
    told: set[str] = set()
    async for item in news(source, query):
        if isinstance(item, Row):
            if item.key not in told:
                write([line(item)])
            if item.state == "ended":  # that it was recorded meanwhile is no news
                told.add(item.key)
        elif isinstance(item, Metrics):
            write([line(item)])
        else:
            narrate(Text(line(item)))
    status = source.status()
    tail = f", {status.dropped} dropped" if status.dropped else ""
    narrate(Text(f"{len(source.conversations)} conversations, {status.arrived} moves{tail}"))


def line(item: News) -> str:
    """One piece of news on one line."""
    match item:
        case Row():
            return _row(item)
        case Metrics():
            values = item.values
            shown = [f"{name} {values[name]:.4g}" for name in _SHOWN if name in values]
            return f"{'':8} step {values['step']:g}: {', '.join(shown) or f'{len(values) - 1} metrics'}"
        case Alarm():
            return f"alarm at step {item.step}: {item.text}"
        case Missed():
            return f"… {item.count} moves not shown: whoever reads this is too slow"
    return _status(item)


def _row(row: Row) -> str:
    reward = "" if row.reward is None else f", reward {row.reward:+.2f}"
    persona = f" ({row.persona})" if row.persona else ""
    when = time.strftime("%H:%M:%S", time.gmtime(row.updated)) if row.updated else "--:--:--"
    if row.state == "running":
        who = f"{row.speaker}{'' if row.kind == 'speech' else f' [{row.kind}]'}"
        return f"{when} {row.id}{persona} {row.turn} {who}: {row.last}{reward}"
    how = row.ending if row.result in ("success", "failure") else ""
    return f"{when} {row.id}{persona} {row.result}{f', {how}' if how else ''} after turn {row.turn}{reward}"


def _status(status: Status) -> str:
    detail = f": {status.detail}" if status.detail else ""
    return f"{_WORDS.get(status.connection, status.connection)} {status.where}{detail}"
