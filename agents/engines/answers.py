"""Answers: the completions of one call, gathered from requests that are answered each by itself.

For engines whose server makes the batch. Knows no server.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from simarena.arena.protocols import Completion


async def all_of(asked: Iterable[Coroutine[Any, Any, Completion]]) -> list[Completion]:
    """All answers in the order asked. Raises the first fault, and gives up the others: nobody would read them."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
