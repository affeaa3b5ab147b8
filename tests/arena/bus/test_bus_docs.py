"""docs/bus.md is true: its turn by hand works on a server, and its names are those of the wire."""

import re
import shlex
from pathlib import Path
from typing import Any

from worlds import World

from simarena.arena import wire
from simarena.arena.bus import PAYLOAD_CAP
from simarena.arena.host import DELIVERIES
from simarena.arena.lanes import GRACE
from simarena.arena.post import KEPT_SECONDS

PAGE = (Path(__file__).parents[3] / "docs" / "bus.md").read_text()


def _commands() -> list[list[str]]:
    blocks = re.findall(r"```redis\n(.*?)```", PAGE, re.DOTALL)
    return [shlex.split(line.removeprefix("> ")) for block in blocks for line in block.splitlines()]


async def test_the_turn_by_hand_works(served: World) -> None:
    replies: dict[str, Any] = {}
    for command in _commands():
        replies[command[0]] = await served.raw(*command)
    bus = await served.connect()
    ((_, fields),) = replies["XREADGROUP"][0][1]
    request = wire.TurnRequest.model_validate_json(fields[b"d"])
    ((_, fields),) = replies["XRANGE"]
    reply = wire.TurnReply.model_validate_json(fields[b"d"])
    assert (reply.episode, reply.turn, reply.seat) == (request.episode, request.turn, request.seat)
    assert reply.action is not None
    assert reply.action.text == "You said: hello"
    assert request.reply_to == wire.replies("demo", "0")
    work = wire.work("demo", request.spec.lane, "a0")
    assert (await bus.length(work), await bus.pending(work, wire.GROUP, "a0")) == (0, [])
    assert await bus.get([wire.hosts("demo", "remote.parrot")]) == ["a0"]
    assert await bus.get([wire.heartbeat("demo", "remote.parrot", "a0")]) == ["alive"]


def test_the_table_of_names_is_the_wires() -> None:
    named = set(re.findall(r"^\| `(sa:[^`]+)` \|", PAGE, re.MULTILINE))
    run, lane, replica = "RUN", "LANE", "REPLICA"
    assert named == {
        wire.hosts(run, lane),
        wire.heartbeat(run, lane, replica),
        wire.work(run, lane, replica),
        wire.replies(run, "CONDUCTOR"),
        wire.conversation(run, "EPISODE"),
        wire.pointers(run),
        wire.bulletin(run),
        wire.orders(run),
        wire.dead_letters(run),
        wire.runs(),
        wire.alive(run),
    }
    assert f"consumer group `{wire.GROUP}`" in PAGE


def test_the_numbers_are_the_codes() -> None:
    assert f"at most {PAYLOAD_CAP:,} bytes" in PAGE
    assert f"an expiry of {GRACE:g} seconds" in PAGE
    assert f"A request left for {GRACE:g} seconds" in PAGE
    assert f"delivered {DELIVERIES} times" in PAGE
    assert KEPT_SECONDS == 60
    assert "expires a minute after" in PAGE
