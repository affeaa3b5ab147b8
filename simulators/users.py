"""The persona user: a scripted person with a hidden goal, which understands free text by its keywords.

Its mind is folded from what it has heard, so it is a pure function of its errand and the messages, needs no
memory, and cannot be confused by who served its earlier turns. It leaves when it was told a result (a
number it could not have known), when it was refused often enough, or when nobody understands it; never on a
mere promise, so never between the assistant's yes and the deed. Whether it was served is not its to say.
"""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from simarena.arena.messages import Action, Message, Observation, say
from simarena.arena.seeds import uniform
from simarena.simulators.errands import Errand, errand_of
from simarena.simulators.hearing import Heard, hear
from simarena.simulators.personas import TOPICS, Topic
from simarena.simulators.phrasebook import Phrasebook, phrasebook

PATIENCE = 3
"""Replies in a row that answer nothing before it leaves annoyed."""
SMALL_TALK = 0.5
"""Share of a chatty person's lines that carry small talk."""


@dataclass(frozen=True, slots=True)
class Mind:
    """Where a person is in its conversation."""

    spoken: int = 0
    codes: int = 0
    """Times it was asked for its code."""
    wavered: bool = False
    refusals: int = 0
    lost: int = 0
    """Replies in a row it could do nothing with."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person says next, as lines already worded."""

    lines: tuple[str, ...]
    leave: bool = False


class PersonaUser:
    """Plays the errand in its private view. Takes no options: who it is comes with the deal."""

    async def act(self, observation: Observation) -> Action:
        reply = respond(errand_of(observation), observation.seat, observation.messages)
        return say(" ".join(reply.lines), leave=reply.leave)


def respond(errand: Errand, seat: str, messages: Iterable[Message]) -> Reply:
    """The next reply of this person after these messages."""
    mind, reply = Mind(), Reply(())
    for heard in _exchanges(seat, messages):
        mind, reply = _Person(errand, mind).answer(heard)
    return reply


def _exchanges(seat: str, messages: Iterable[Message]) -> Iterator[Heard]:
    """What it heard before each of its own lines, and before the one it is about to say."""
    pending: list[str] = []
    for message in messages:
        if message.kind == "speech" and message.seat == seat:
            yield hear(" ".join(pending))
            pending = []
        elif message.kind == "speech":
            pending.append(message.text)
    yield hear(" ".join(pending))


class _Person:
    """One errand in one state of mind; answers one utterance."""

    def __init__(self, errand: Errand, mind: Mind) -> None:
        self._errand, self._mind, self._who = errand, mind, errand.persona
        self._facts = {**errand.facts, **(errand.later if mind.wavered else {})}

    @functools.cached_property
    def _book(self) -> Phrasebook:
        return phrasebook(self._errand.phrases)

    def answer(self, heard: Heard) -> tuple[Mind, Reply]:
        mind, reply = self._choose(heard)
        reply = self._small_talk(reply) if self._who.style == "chatty" and not reply.leave else reply
        return replace(mind, spoken=mind.spoken + 1), reply

    def _choose(self, heard: Heard) -> tuple[Mind, Reply]:
        if not self._mind.spoken:
            return self._mind, Reply(self._opening())
        if heard.refusal:
            return self._refused()
        if heard.numbers - {self._errand.facts["code"], *self._errand.wrong}:
            return self._told()
        if heard.asks:
            return self._asked(heard.asks)
        return self._puzzled()

    def _opening(self) -> tuple[str, ...]:
        told = self._who.opens_with
        parts = [self._topic(topic, told) for topic in told if topic != "details"]
        return (*(parts or [self._line("help")]), *self._pressure())

    def _topic(self, topic: Topic, told: tuple[Topic, ...]) -> str:
        if topic != "task":
            return self._line(topic)
        full = f"{self._errand.task} details"
        return self._line(full if "details" in told and full in self._book else self._errand.task)

    def _told(self) -> tuple[Mind, Reply]:
        if self._errand.later and not self._mind.wavered:
            return self._waver()
        return self._mind, Reply((self._line("thanks"),), leave=True)

    def _refused(self) -> tuple[Mind, Reply]:
        mind = replace(self._mind, refusals=self._mind.refusals + 1, lost=0)
        if mind.refusals > self._who.insists:
            return mind, Reply((self._line("give up"),), leave=True)
        return mind, Reply((self._line("push"), *self._pressure()))

    def _asked(self, asks: tuple[Topic, ...]) -> tuple[Mind, Reply]:
        mind = replace(self._mind, lost=0, codes=self._mind.codes + ("code" in asks))
        lines = [self._code() if topic == "code" else self._give(topic) for topic in TOPICS if topic in asks]
        if "code" in asks and self._errand.later and not mind.wavered and self._changes_early():
            mind, waver = replace(mind, wavered=True), self._waver()[1]
            lines += waver.lines
        return mind, Reply(tuple(lines))

    def _give(self, topic: Topic) -> str:
        if topic == "details":
            act = f"give {self._errand.task}"
            return self._line(act)
        return self._topic(topic, ("task", "details"))

    def _code(self) -> str:
        asked, right = self._mind.codes, self._who.code
        if right == "lacks" or (right == "fumbles" and asked == 0):
            wrong = self._errand.wrong
            if asked >= len(wrong):
                return self._line("excuse")
            return self._line("code again" if asked else "code", code=wrong[asked])
        if right == "delays" and asked == 0:
            return self._line("delay")
        return self._line("code again" if asked and right == "fumbles" else "code")

    def _waver(self) -> tuple[Mind, Reply]:
        mind = replace(self._mind, wavered=True, lost=0)
        return mind, Reply((self._line("waver", **self._errand.later),))

    def _changes_early(self) -> bool:
        return uniform(self._errand.phrasing, "early") < 0.5

    def _puzzled(self) -> tuple[Mind, Reply]:
        """Nothing it can answer, such as a promise: asks for the result, then says again what it wants."""
        mind = replace(self._mind, lost=self._mind.lost + 1)
        if mind.lost >= PATIENCE:
            return mind, Reply((self._line("annoyed"),), leave=True)
        if mind.lost == 1:
            return mind, Reply((self._line("chase"),))
        return mind, Reply((self._line("lost"), self._topic("task", ("task", "details"))))

    def _pressure(self) -> tuple[str, ...]:
        return (self._line(self._who.pressure, **self._errand.noise),) if self._who.pressure else ()

    def _small_talk(self, reply: Reply) -> Reply:
        chance = (self._errand.phrasing, self._mind.spoken)
        if uniform(*chance, "talks") >= SMALL_TALK:
            return reply
        talk = self._line("small talk", **self._errand.noise)
        first = uniform(*chance, "first") < 0.5
        return replace(reply, lines=(talk, *reply.lines) if first else (*reply.lines, talk))

    def _line(self, act: str, **facts: str) -> str:
        terse = f"terse {act}"
        act = terse if self._who.style == "terse" and terse in self._book else act
        return self._book.say(act, {**self._facts, **facts}, self._errand.phrasing, self._mind.spoken)
