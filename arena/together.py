"""Together: several things awaited at once, all of which are given up when one fails: nobody would read them."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """What each comes to, in the order asked. Raises the first error, once the others have been told to end."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
