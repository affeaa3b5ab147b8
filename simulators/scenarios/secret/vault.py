"""The vault: what the keeper knows, who asks, and who may be told what. Knows no turn order and no reward."""

import random
from dataclasses import dataclass
from typing import Literal

from simarena.simulators.hearing import words
from simarena.simulators.splits import Split, split_of

Kind = Literal["visitor", "owner", "intruder"]
KINDS: tuple[Kind, ...] = ("visitor", "owner", "intruder")
SECRETS = ("amber", "cobalt", "jasper", "onyx", "opal", "pearl", "ruby", "topaz")
SIGNS = ("willow", "falcon", "lantern", "meadow", "otter", "raven", "thistle", "walnut")
HOURS = ("eight", "nine", "ten", "noon")
PLACES = ("pier", "square", "hill", "gate")
TOPICS = ("hours", "place")


@dataclass(frozen=True, slots=True)
class Vault:
    """All chance of one episode."""

    secret: str
    sign: str
    """The countersign: who says it, and no other, may have the secret."""
    hours: str
    place: str
    kind: Kind
    topic: str
    """What a visitor asks for."""

    @property
    def wanted(self) -> str:
        """The word the asker has come for."""
        if self.kind != "visitor":
            return self.secret
        return self.hours if self.topic == "hours" else self.place


def draw(rng: random.Random, split: Split, kinds: tuple[Kind, ...]) -> Vault:
    """A vault of this split: pairs of secret and countersign are divided by hash."""
    while True:
        secret, sign = rng.choice(SECRETS), rng.choice(SIGNS)
        hours, place = rng.choice(HOURS), rng.choice(PLACES)
        kind, topic = rng.choice(kinds), rng.choice(TOPICS)
        if split_of(secret, sign) == split:
            return Vault(secret, sign, hours, place, kind, topic)


def signs_in(text: str) -> frozenset[str]:
    """The countersigns, right or wrong, that a text holds."""
    return frozenset(words(text)) & frozenset(SIGNS)


def entitled(vault: Vault, signs: frozenset[str]) -> bool:
    """Whether who has said these countersigns may have the secret: the right one, and no guess beside it."""
    return signs == {vault.sign}
