"""Plays eight conversations between a scripted clerk and simulated customers, in this process.

python examples/play.py
"""

import asyncio

from simarena.arena import SimulatorArena

CLERK = "simarena.simulators.scenarios.service_desk.clerk:Clerk"


async def main() -> None:
    async with SimulatorArena(backend="inproc") as arena:
        async for episode in arena.play("service-desk", seats={"assistant": CLERK}, deals=range(4), group=2):
            failed = [name for name, passed in episode.checks.items() if not passed]
            print(f"{episode.id}  {episode.labels['persona']:<12} {'served' if episode.success else failed}")


if __name__ == "__main__":
    asyncio.run(main())
