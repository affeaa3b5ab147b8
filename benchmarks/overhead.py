"""What the arena costs: conversations through bus, hosts and record, against the same turns by bare calls.

Scripted agents at both seats, so that nearly nothing but the arena is measured; a model call is one turn of the
assistant.
"""

import asyncio
from typing import Any

from benchmarks.side import Side, Work, in_turns
from benchmarks.table import Row

CONVERSATIONS = 200


def compare(repetitions: int) -> list[Row]:
    """One row: milliseconds of processor time per assistant turn, the agents' own work taken off."""
    with Side("arena", "benchmarks.overhead.arena") as arena, Side("bare", "benchmarks.overhead.bare") as bare:
        in_turns([arena, bare], 1 + repetitions)  # the least counts; the first one loads modules
        assert arena.facts["turns"] == bare.facts["turns"], "the two played other conversations"
        with_arena, alone = (1000 * one.cpu / one.facts["turns"] for one in (arena, bare))
        note = f"{CONVERSATIONS} calls at the service desk; wall {1000 * arena.wall / arena.facts['turns']:.2f} ms"
        over = with_arena - alone
        return [
            Row(
                "overhead per call",
                with_arena,
                alone,
                "CPU ms",
                over,
                "<= 10",
                "bare calls; ratio: ours less theirs",
                note,
            )
        ]


def arena() -> Work:
    """The arena with its private server as the bus, hosts in this process."""
    from simarena.arena.arena import SimulatorArena
    from simarena.tui.casting import stand_in

    async def play() -> int:
        async with SimulatorArena("inproc", bus="auto") as opened:
            seats: dict[str, Any] = {"assistant": stand_in("service-desk")}
            playing = opened.play(
                "service-desk", seats=seats, deals=range(CONVERSATIONS), concurrency=CONVERSATIONS, prefix="bench"
            )
            return sum([len(episode.turns_of("assistant")) async for episode in playing])

    return lambda: {"turns": asyncio.run(play())}


def bare() -> Work:
    """The same agents and rules, called one after the other."""
    from benchmarks.desk import Call
    from simarena.arena.specs import AgentSpec, build_agent
    from simarena.tui.casting import stand_in

    clerk = build_agent(AgentSpec(agent=stand_in("service-desk")))

    async def play() -> int:
        turns = 0
        for deal in range(CONVERSATIONS):
            call = Call(deal, patience=10)
            await call.listen()
            while not call.over:
                await call.act(await clerk.act(call.observation("assistant")))
                turns += 1
        return turns

    return lambda: {"turns": asyncio.run(play())}
