"""The pipeline: lessons of coming steps are played while the trainer learns from earlier ones.

A lesson begins once the policy is at most as many versions behind the one it will train as is allowed. So the age
of a token, counted when it is trained on, with all its time in the queue, is bounded before it is sampled. Where
none is allowed a lesson begins when the step before it is published: synchronous training is this, and not a
second way. Knows no arena and no model.
"""

import asyncio
from collections.abc import Awaitable, Callable

from simarena.training.lesson import Lesson


class Pipeline:
    """Plays the lessons of steps `first` to `end` - 1 in their order, as early as `max_age` of each allows."""

    def __init__(
        self, play: Callable[[int], Awaitable[Lesson]], first: int, end: int, max_age: Callable[[int], int]
    ) -> None:
        self._play, self._max_age = play, max_age
        self._version = first
        self._newer = asyncio.Event()
        self._played: asyncio.Queue[Lesson | Exception] = asyncio.Queue()
        self._playing = asyncio.create_task(self._ahead(first, end), name="pipeline")

    async def next(self) -> Lesson:
        """The lesson of the next step, as soon as it is played. Raises what playing raised."""
        found = await self._played.get()
        if isinstance(found, Exception):
            raise found
        return found

    def published(self, version: int) -> None:
        """Turns asked for from now on are played by this version."""
        self._version = version
        self._newer.set()

    async def close(self) -> None:
        """Give up what is being played."""
        self._playing.cancel()
        await asyncio.gather(self._playing, return_exceptions=True)

    async def _ahead(self, first: int, end: int) -> None:
        try:
            for step in range(first, end):
                while step - self._version > self._max_age(step):
                    self._newer.clear()
                    await self._newer.wait()
                self._played.put_nowait(await self._play(step))
        except Exception as error:  # for whoever waits for the lesson
            self._played.put_nowait(error)
