"""Plays every TextArena game once between players who know nothing, and says which came to an end and which did
not.

pip install 'simarena[textarena]'
python examples/textarena_games.py [SECONDS_PER_GAME]
"""

import asyncio
import sys

from simarena.arena import Limits, SimulatorArena
from simarena.arena.text import one_line
from simarena.simulators.scenarios.textarena import TextArena, games

DICE = "simarena.simulators.scenarios.textarena:Dice"


async def played(arena: SimulatorArena, game: str) -> tuple[bool, str]:
    """Whether it came to an end, and how."""
    try:
        rules = TextArena(game)
        play = arena.play(rules, seats=dict.fromkeys(rules.seats, DICE), deals=[0], prefix=game)
        (episode,) = [episode async for episode in play]
    except Exception as error:  # a game is anyone's code
        return False, f"{type(error).__name__}: {error}"
    turns = f"{len(rules.seats)} players, {len(episode.turns)} turns"
    return episode.ending == "finished", f"{turns}, {episode.ending} {episode.fault}"


async def main() -> None:
    seconds = float(sys.argv[1]) if sys.argv[1:] else 20.0
    limits = Limits(turns=2000, turn_seconds=seconds, episode_seconds=seconds, message_chars=100_000)
    async with SimulatorArena(limits=limits) as arena:
        ended = {game: await played(arena, game) for game in games()}
    for game, (finished, how) in sorted(ended.items(), key=lambda item: not item[1][0]):
        print("ended " if finished else "FAILED", f"{game:<32}", one_line(how, 110))
    print(f"{sum(finished for finished, _ in ended.values())} of {len(ended)} games came to an end")


if __name__ == "__main__":
    asyncio.run(main())
