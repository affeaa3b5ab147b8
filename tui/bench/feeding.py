"""A run that only talks: writes messages and pointers to a bus at a given rate, as a conductor would.

A process of its own, so that what it costs is not the viewer's: `python -m simarena.tui.bench.feeding URL RATE
SECONDS CONVERSATIONS`. Begins with the first line on its stdin, so that whoever measures is ready, and tells on
stdout how much it wrote. Keeps the pace on the clock: when it fell behind it catches up.
"""

import asyncio
import sys
import time

from simarena.arena import wire
from simarena.arena.bus import Bus, connect
from simarena.arena.messages import Message, Text
from simarena.arena.post import KEPT_POINTERS
from simarena.arena.presence import Presence

RUN = "bench"
TICK = 0.02
"""Seconds between batches."""
_LINE = "hello, please get me a refund for my trip to tokyo on friday, my account is cedar. "
_PERSONAS = ("prepared", "forger", "muddled", "mumbler", "thief", "undecided")


async def feed(bus: Bus, rate: int, seconds: float, conversations: int) -> int:
    """Write until `seconds` are over; returns how many messages were written."""
    began, number = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        due = int(rate * min(seconds, passed + TICK))
        await asyncio.gather(*(_say(bus, n, conversations) for n in range(number, due)))
        number = max(number, due)
        await asyncio.sleep(max(0.0, number / rate - (time.perf_counter() - began)))
    return number


async def _say(bus: Bus, number: int, conversations: int) -> None:
    turn, place = divmod(number, conversations)
    episode, seat = f"train-3/{place // 8}/{place % 8}", ("user", "assistant")[turn % 2]
    now = time.time()
    message = Message(
        episode=episode, id=f"{turn + 1}-1", seat=seat, kind="speech", parts=(Text(text=_LINE),), time=now
    )
    pointer = wire.Pointer(
        number=number + 1,
        message=message.id,
        episode=episode,
        scenario="service-desk",
        seats={"assistant": "policy.learner", "user": "PersonaUser"},
        labels={"persona": _PERSONAS[place % len(_PERSONAS)], "task": "refund", "kind": "cooperative"},
        deal=place // 8,
        member=place % 8,
        turn=turn + 1,
        seat=seat,
        kind="speech",
        line=_LINE,
        returns={"assistant": 0.01 * turn},
        earned={"assistant": 0.01} if turn % 2 else {},
        version=3,
        started=now - turn,
        updated=now,
    )
    stream = wire.conversation(RUN, episode)
    await asyncio.gather(
        bus.append(stream, message.id, message.model_dump_json().encode()),
        bus.push(wire.pointers(RUN), pointer.model_dump_json(exclude_defaults=True).encode(), keep=KEPT_POINTERS),
    )


async def _main(url: str, rate: int, seconds: float, conversations: int) -> None:
    bus = await connect(url)
    presence = Presence(bus, RUN)
    await presence.start()
    await asyncio.to_thread(sys.stdin.readline)
    print(await feed(bus, rate, seconds, conversations), flush=True)
    await asyncio.to_thread(sys.stdin.readline)  # the run goes on until the viewer has caught up
    await presence.stop()
    await bus.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
