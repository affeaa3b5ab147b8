"""A source in memory for tests of screens and displays: says what a test tells it to say, when it says so."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simarena.arena.episodes import Episode
from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.wire import Asked
from simarena.tui.feed.conversations import Conversations
from simarena.tui.feed.opened import Line, Opened, Piece, TurnFacts
from simarena.tui.feed.rows import Row
from simarena.tui.feed.status import Status
from simarena.tui.feed.training_book import TrainingBook
from simarena.tui.feed.why import Why


def row(key: str, **more: Any) -> Row:
    """A row with the parts that a test does not care about filled in."""
    fields: dict[str, Any] = {
        "id": key,
        "scenario": "service-desk",
        "seats": {"assistant": "policy.learner", "user": "PersonaUser"},
        "learners": ("assistant",),
        "labels": {"persona": "forger", "task": "refund"},
        "started": 1_796_126_400.0,
        **more,
    }
    return Row(key=key, **fields)


class FakeSource:
    """Holds to `Source`."""

    live = True
    path: Path | None = None

    def __init__(
        self,
        rows: Iterable[Row] = (),
        opened: Mapping[str, Opened] | None = None,
        whys: Mapping[str, Why] | None = None,
        title: str = "fake",
        limit: int = 100_000,
    ) -> None:
        self.conversations = Conversations(limit)
        self.training = TrainingBook()
        self.title = title
        self.now = Status(where="runs/fake", connection="connected")
        self.asked: list[Asked] = []
        self._opened = dict(opened or {})
        self._whys = dict(whys or {})
        for one in rows:
            self.conversations.put(one)

    def status(self) -> Status:
        return self.now

    def set(self, **more: Any) -> None:
        """Change the status."""
        self.now = dataclasses.replace(self.now, **more)

    def say(self, key: str, seat: str, text: str, kind: str = "speech", reward: float = 0.0, **more: Any) -> None:
        """The conversation moves on by one turn; it begins if there is none of this key."""
        before = self.conversations.get(key) or row(key)
        turn = before.turn + 1
        returns = {**before.returns, seat: before.returns.get(seat, 0.0) + reward} if reward else before.returns
        after = dataclasses.replace(
            before, turn=turn, speaker=seat, kind=kind, last=text[:160], returns=returns, **more
        )
        told = self._opened.get(key, Opened(after))
        line = Line(f"{turn}-1", turn, seat, kind, (Piece("text", text),))
        facts = {(turn, seat): TurnFacts(turn, seat, reward)}
        self._opened[key] = dataclasses.replace(
            told, row=after, lines=(*told.lines, line), turns={**told.turns, **facts}
        )
        self.conversations.put(after)
        self.now = dataclasses.replace(self.now, arrived=self.now.arrived + 1)

    def end(self, key: str, success: bool | None = True, ending: str = "finished", **checks: bool) -> None:
        after = dataclasses.replace(self.conversations.get(key) or row(key), state="ended", ending=ending)
        after = dataclasses.replace(after, success=success)
        self._opened[key] = dataclasses.replace(self._opened.get(key, Opened(after)), row=after, checks=checks)
        self.conversations.put(after)

    async def start(self) -> None: ...

    async def open(self, key: str) -> Opened:
        if key not in self.conversations:
            raise UnknownName("conversation", key, [one.key for one in self.conversations])
        return self._opened.get(key) or Opened(self.conversations._rows[key])

    def episode(self, key: str) -> Episode:
        raise UsageError(f"{key!r} is not recorded yet")

    async def why(self, key: str, seat: str = "") -> Why:
        if key not in self._whys:
            raise UsageError(f"nothing was recorded on how {key!r} was credited")
        return self._whys[key]

    async def ask(self, asked: Asked) -> None:
        self.asked.append(asked)

    def look_again(self) -> None: ...

    async def close(self) -> None: ...
