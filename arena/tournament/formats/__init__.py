"""Formats: who meets whom. A format is a pure function of (contest, results so far) to the meetings known by then.

Those are of one round where results decide who meets next, of all rounds elsewhere. The contest holds the entrants
and the seed. All meetings a format draws at once may be played in any order; the next draw needs all their
results, in any order. It draws nothing when the tournament is over. So a tournament resumes by drawing again from
the results on file. A further format is one file, a class with `kind` and `draw`,
and one entry in `Format`.
"""

from typing import Annotated

from pydantic import Discriminator

from simarena.arena.tournament.formats.block import Block
from simarena.arena.tournament.formats.elimination import DoubleElimination, SingleElimination
from simarena.arena.tournament.formats.gauntlet import Gauntlet
from simarena.arena.tournament.formats.ladder import Ladder
from simarena.arena.tournament.formats.round_robin import RoundRobin
from simarena.arena.tournament.formats.swiss import Swiss

__all__ = [
    "KINDS",
    "Block",
    "DoubleElimination",
    "Format",
    "Gauntlet",
    "Ladder",
    "RoundRobin",
    "SingleElimination",
    "Swiss",
]

Format = Annotated[
    RoundRobin | Swiss | SingleElimination | DoubleElimination | Ladder | Block | Gauntlet,
    Discriminator("kind"),
]

KINDS = {
    model.model_fields["kind"].default: model
    for model in (RoundRobin, Swiss, SingleElimination, DoubleElimination, Ladder, Block, Gauntlet)
}
"""Format → its class."""
