"""Several things awaited at once."""

import asyncio

import pytest

from simarena.arena.clock import run_virtual
from simarena.arena.together import together


def test_answers_come_in_the_order_asked() -> None:
    async def after(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def drill() -> None:
        assert await together(after(seconds) for seconds in (3, 1, 2)) == [3, 1, 2]
        assert await together([]) == []

    run_virtual(drill())


def test_where_one_fails_the_others_are_given_up() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("given up")

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("broken")

    async def drill() -> None:
        with pytest.raises(ValueError, match="broken"):
            await together([endless(), fail(), endless()])
        await asyncio.sleep(0)
        assert ended == ["given up", "given up"]

    run_virtual(drill())
