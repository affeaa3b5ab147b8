"""The JSON display: one object a line on stdout for everything that happens, in ASCII.

`type` is `conversation`, `metrics`, `alarm`, `missed` or `status`; the rest are the fields of the feed's values.
"""

from dataclasses import asdict
from typing import Any

from simarena.tui.console import emit
from simarena.tui.displays.news import Metrics, Missed, News, news
from simarena.tui.feed.query import Query
from simarena.tui.feed.rows import Row
from simarena.tui.feed.source import Source
from simarena.tui.feed.training_book import Alarm


async def jsonl(source: Source, query: Query) -> None:
    """Write until the run is over; the last line is its status."""
    async for item in news(source, query):
        emit(told(item))
    emit({"type": "status", **asdict(source.status())})


def told(item: News) -> dict[str, Any]:
    """One piece of news as a JSON object."""
    match item:
        case Row():
            more = {"persona": item.persona, "reward": item.reward, "result": item.result}
            return {"type": "conversation", **asdict(item), **more}
        case Metrics():
            return {"type": "metrics", **item.values}
        case Alarm():
            return {"type": "alarm", **asdict(item)}
        case Missed():
            return {"type": "missed", "count": item.count}
    return {"type": "status", **asdict(item)}
