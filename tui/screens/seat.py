"""Seat: take a seat of a new conversation, or go on from a turn of one on record, with others of one's choice."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from simarena.arena.episodes import Episode
from simarena.arena.errors import SimArenaError, UsageError
from simarena.arena.messages import Observation
from simarena.arena.record import RunFolder
from simarena.arena.specs import build_scenario, table
from simarena.arena.text import one_line, visible
from simarena.training.events import Event
from simarena.tui import runs, seated
from simarena.tui.board import line as told_in_a_line
from simarena.tui.briefing import briefing
from simarena.tui.feed.opened import Opened, line_of, opened_of
from simarena.tui.feed.rows import Row, short
from simarena.tui.forking import Fork, New, converse
from simarena.tui.screens.room import Room
from simarena.tui.widgets import blocks
from simarena.tui.widgets.line import Line
from simarena.tui.widgets.panel import Panel
from simarena.tui.widgets.prompt import Prompt
from simarena.tui.widgets.reader import Reader
from simarena.tui.widgets.table import Table

ME = "human"
Start = New | Fork
_KEY = "here"
_WAYS = (
    ("human", "you, at this screen"),
    ("tiny", "the built-in policy"),
    ("latest", "the newest checkpoint of the latest run"),
    ("a folder", "of a run, a checkpoint or a model"),
    ("an agent", "by name or package.module:Factory"),
    ("(empty)", "who sat there on record, else the scenario's own"),
)
Converse = Callable[..., Awaitable[Episode]]


class SeatRoom(Room):
    """First who sits where, then the conversation as one's seat may hear it."""

    NAME = "seat"
    HOLDS = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer", "Change/speak", id="seat.answer"),
        Binding("u", "me", "Sit here", id="seat.me"),
        Binding("d", "deal", "Deal", id="seat.deal"),
        Binding("o", "scenario", "Scenario", id="seat.scenario"),
        Binding("b", "begin", "Begin", id="seat.begin"),
        Binding("L", "leave", "Leave", id="seat.leave"),
        Binding("y", "copy", "Copy the conversation", show=False, id="seat.copy"),
        Binding("escape", "back", "Back", id="seat.back"),
    ]

    def __init__(self, talk: Converse = converse) -> None:
        super().__init__()
        self._talk = talk
        self._start: Start | None = None
        self._who: dict[str, str] = {}
        self._door: seated.Door | None = None
        self._ended: Episode | None = None
        self._trouble = ""
        """Why the last try came to nothing."""

    def body(self) -> ComposeResult:
        yield Line(id="seat-title", classes="title")
        with Horizontal(id="setup"):
            yield Table[str](id="seats")
            yield Panel(id="ways")
        with Horizontal(id="talk"):
            with Vertical(id="talk-left"):
                yield Line(id="talk-columns")
                yield Reader(id="talk-reader")
            yield Panel(id="briefing")
        yield Prompt(id="prompt")

    @property
    def prompt(self) -> Prompt:
        return self.query_one("#prompt", Prompt)

    @property
    def seats(self) -> Table[str]:
        return self.query_one("#seats", Table)

    @property
    def reader(self) -> Reader:
        return self.query_one("#talk-reader", Reader)

    @property
    def playing(self) -> bool:
        """Whether a conversation goes on here."""
        return self._door is not None

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()
        self.seats.focus()

    def look(self) -> None:
        if self._start is None:
            row, known = self.watch_app.chosen(), sorted(table("scenarios"))
            self.prepare(New(row.scenario if row is not None and row.scenario in known else known[0]))

    # Setting up.

    def prepare(self, start: Start) -> None:
        """A new conversation, or a fork; who sits where is chosen next."""
        if self.playing:
            self.watch_app.tell("a conversation goes on here: L leaves it")
            return
        self._start, self._ended, self._trouble = start, None, ""
        try:
            self._who = dict.fromkeys(_seats(start), "")
        except SimArenaError as error:
            self._who, self._trouble = {}, visible(str(error))
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        self.set_class(self.playing or self._ended is not None, "-talking")
        title = Text.assemble((" Seat", "strong"), "  ")
        title.append(_told(self._start) if self._start is not None else "", "plain")
        self.query_one("#seat-title", Line).left = title
        rows = [
            Text.assemble(
                f" {short(seat):<16}", (one_line(who) or "as recorded or cast", "key" if who else "muted")
            )
            for seat, who in self._who.items()
        ]
        ways = [Text.assemble((f"  {name:<10}", "key"), (what, "muted")) for name, what in _WAYS]
        told = [Text(" It could not be played", "strong"), Text(f" {self._trouble}", "bad"), Text()]
        head = Text(" Who can sit there", "strong")
        self.query_one("#ways", Panel).show([*(told if self._trouble else []), head, *ways])
        nothing = [Text(" This scenario cannot be set up here: o chooses another.", "muted")]
        self.seats.fill(tuple(self._who), rows or nothing)
        self.refresh_bindings()

    def action_me(self) -> None:
        if (seat := self.seats.item) is not None:
            self._who[seat] = "" if self._who[seat] == ME else ME
            self._draw()

    def action_deal(self) -> None:
        self.prompt.ask("deal", "deal (a number)", "")

    def action_scenario(self) -> None:
        self.prompt.ask("scenario", f"scenario ({', '.join(sorted(table('scenarios')))})")

    def action_answer(self) -> None:
        if self._door is not None and self._door.observation is not None:
            self._ask_for_words(self._door.observation)
        elif not self.playing and (seat := self.seats.item) is not None:
            self.prompt.ask("who", f"who sits at {short(seat)}", self._who[seat])

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        text = event.text.strip()
        (self.reader if self.playing else self.seats).focus()
        if event.purpose == "words":
            self._say(text)
        elif event.purpose == "who" and (seat := self.seats.item) is not None:
            self._who[seat] = text
            self._draw()
        elif event.purpose == "scenario":
            self.prepare(New(text))
        elif event.purpose == "deal" and isinstance(self._start, New):
            if text.isdecimal():
                self._start = replace(self._start, deal=int(text))
                self._draw()
            else:
                self.watch_app.tell("a deal is a number, such as 7")

    def on_prompt_closed(self, event: Prompt.Closed) -> None:
        (self.reader if self.playing else self.seats).focus()

    # Talking.

    def action_begin(self) -> None:
        if self._start is not None and not self.playing:
            try:
                start = self._recorded(self._start)
            except SimArenaError as error:
                self._trouble = visible(str(error))
                self._draw()
                return
            self._door = seated.open_door(self._asked)
            self._ended, self._trouble = None, ""
            self.reader.say(Text(), Text(" It begins …", "muted"))
            self.query_one("#briefing", Panel).show([])
            self._draw()
            self.reader.focus()
            self._converse(start, {seat: who for seat, who in self._who.items() if who})

    def _recorded(self, start: Start) -> Start:
        """With a place for its record: the run that is watched, else a folder of its own."""
        if isinstance(start, Fork):
            return start
        path = self.source.path
        if path is not None:
            return replace(start, folder=RunFolder.open(path))
        folder = RunFolder.create(runs.fresh("seat"), latest=False)
        with closing(folder):
            folder.describe({"name": f"seat of {start.scenario}"})
        return replace(start, folder=folder)

    @work(exclusive=True, group="seat")
    async def _converse(self, start: Start, who: Mapping[str, str]) -> None:
        try:
            self._ended = await self._talk(start, who, seated.SPEC, self._note)
            self.source.look_again()  # a folder that nobody writes is not followed
        except SimArenaError as error:
            self._trouble = visible(str(error))
        finally:
            self._door = None
        if self.app.is_running:
            self._close()

    def _close(self) -> None:
        if self.prompt.purpose == "words":
            self.prompt.action_close()
        if (episode := self._ended) is not None:
            self._show(opened_of(episode, _row(episode)))
        self._draw()

    def _note(self, event: Event) -> None:
        if (words := told_in_a_line(event)) and self.app.is_running:
            self.watch_app.tell(words)

    def _asked(self, observation: Observation) -> None:
        """It is the person's turn."""
        lines = tuple(map(line_of, observation.messages))
        seats = dict.fromkeys(map(short, self._who), "")
        self._show(Opened(Row(key=_KEY, id=_KEY, scenario=short(observation.scenario), seats=seats), lines))
        words = briefing(observation.view)
        tools = [f"@{tool.name}  {tool.description}" for tool in observation.view.tools]
        self.query_one("#briefing", Panel).show(
            [
                Text.assemble((" You are the ", "strong"), (short(observation.seat), "key")),
                Text(),
                *(Text(f" {visible(line)}") for line in words.plain.split("\n")),
                *([Text(), Text(" Tools", "strong")] if tools else []),
                *(Text(f" {visible(tool)}", "muted") for tool in tools),
            ]
        )
        self._ask_for_words(observation)
        self.refresh_bindings()

    def _ask_for_words(self, observation: Observation) -> None:
        if self.is_current:
            self.prompt.ask("words", f"{short(observation.seat)} says")

    def _show(self, opened: Opened) -> None:
        self.reader.show(opened)
        self.reader.action_last()
        self.query_one("#talk-columns", Line).left = blocks.heading(self.reader.plan)

    def _say(self, text: str) -> None:
        if self._door is None or self._door.observation is None or not text:
            return
        try:
            self._door.say(text)
        except UsageError as error:
            self.watch_app.tell(str(error), "error")
            self.prompt.ask("words", "again", text)

    def action_leave(self) -> None:
        if self._door is not None and self._door.observation is not None:
            self._door.leave()

    def action_copy(self) -> None:
        self.watch_app.copy("\n".join(self.reader.words(item) for item in range(self.reader.items())))

    def action_back(self) -> None:
        if self._ended is not None and not self.playing:
            self._ended = None
            self._draw()
            self.seats.focus()
        else:
            self.watch_app.action_room("arena")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are shown where they do something."""
        asked = self._door is not None and self._door.observation is not None
        resting = not self.playing and self._ended is None
        match action:
            case "deal" | "scenario":
                return resting and not isinstance(self._start, Fork)
            case "me" | "begin":
                return resting and bool(self._who)
            case "answer":
                return asked or (resting and bool(self._who))
            case "leave":
                return asked
            case "copy":
                return self.playing or self._ended is not None
            case _:
                return True


def _seats(start: Start) -> list[str]:
    return list(start.episode.seats if isinstance(start, Fork) else build_scenario(start.scenario).seats)


def _told(start: Start) -> str:
    if isinstance(start, New):
        return f"a new conversation of {one_line(start.scenario)}, deal {start.deal}"
    return f"{one_line(start.episode.id)} goes on after turn {start.turn}, recorded as a fork of it"


def _row(episode: Episode) -> Row:
    return Row(
        key=episode.id,
        id=one_line(episode.id),
        scenario=short(episode.scenario),
        seats=dict.fromkeys(map(short, episode.seats), ""),
        returns={short(seat): value for seat in episode.seats if (value := episode.returns(seat))},
        state="ended",
        ending=episode.ending,
        success=episode.success if episode.checks else None,
    )
