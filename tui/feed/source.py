"""Source: the one door through which screens and displays see a run, wherever it lives.

A source fills a `Conversations` store and a `TrainingBook` in the background of one event loop; whoever draws
looks at their `revision` at its own pace. A viewer that does not look costs the run nothing.
"""

from pathlib import Path
from typing import Protocol

from simarena.arena.episodes import Episode
from simarena.arena.wire import Asked
from simarena.tui.feed.conversations import Conversations
from simarena.tui.feed.opened import Opened
from simarena.tui.feed.status import Status
from simarena.tui.feed.training_book import TrainingBook
from simarena.tui.feed.why import Why


class Source(Protocol):
    """Use it from one event loop: `start`, look, `close`."""

    conversations: Conversations
    training: TrainingBook

    @property
    def title(self) -> str:
        """Name of the run, safe to show."""
        ...

    @property
    def path(self) -> Path | None:
        """The run folder; None where only the bus can be reached."""
        ...

    @property
    def live(self) -> bool:
        """Whether it can still change."""
        ...

    def status(self) -> Status: ...

    async def start(self) -> None:
        """Read what is there and go on following in the background. Raises UsageError, RunFolderError or BusError
        if it cannot begin; later trouble is told by `status`."""
        ...

    async def open(self, key: str) -> Opened:
        """The conversation of a row, as it is now. Cheap to call again when its row has changed.

        Raises UnknownName for a key that no row has.
        """
        ...

    def episode(self, key: str) -> Episode:
        """The whole record of a conversation, to fork or save it. Raises UsageError, in words for the person,
        where it is not recorded (yet)."""
        ...

    async def why(self, key: str, seat: str = "") -> Why:
        """How the turns of a seat were credited; the first learning seat if none is named.

        Raises UsageError, in words for the person, where nothing was recorded.
        """
        ...

    async def ask(self, asked: Asked) -> None:
        """Ask the run to pause, resume or stop after the step that is under way; its answer is `status().run`.

        Raises UsageError or BusError, in words for the person, where it cannot be asked.
        """
        ...

    def look_again(self) -> None:
        """Take in now what is new in the run folder, such as a fork that was recorded there; trouble is told by
        `status`."""
        ...

    async def close(self) -> None: ...
