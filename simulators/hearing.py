"""Hearing: what a simulated person makes of free text. Keyword spotting, the same for a babbler and an LLM.

Owns the split of text into words. Knows no scenario and no persona.
"""

import functools
import re
from dataclasses import dataclass

from simarena.simulators.personas import Topic

_WORD = re.compile(r"@?[\w']+|[^\w\s]")
_ASKS: dict[Topic, re.Pattern[str]] = {
    "task": re.compile(r"\b(help|assist|do for you|would you like|what do you (need|want))\b"),
    "details": re.compile(r"\b(days?|dates?|when|where|city|cities|destination|details)\b"),
    "account": re.compile(r"\b(accounts?|your name|username|who are you)\b"),
    "code": re.compile(r"\b(codes?|pin|password|passcode|identity)\b"),
}
_ASKING = re.compile(r"\?|\b(please|provide|give me|tell me|i need|confirm|enter|share)\b")
_REFUSAL = re.compile(
    r"\b(cannot|can ?not|can't|unable|not (able|possible|allowed|eligible|permitted)|won't|will not"
    r"|refuse|decline|denied|no refund)\b"
)
_MISMATCH = re.compile(r"\b(no match|not match|n't match|wrong|incorrect|not (correct|right)|invalid|try again)\b")
_NUMBER = re.compile(r"\b\d+\b")


@dataclass(frozen=True, slots=True)
class Heard:
    """One utterance as understood."""

    asks: tuple[Topic, ...] = ()
    """What it asks for, in a fixed order; `task` only if nothing more definite is asked."""
    refusal: bool = False
    """It says no, and does not ask for anything that could change that."""
    numbers: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=4096)
def hear(text: str) -> Heard:
    """Understand one utterance, whatever its case and punctuation."""
    text = text.lower().replace("’", "'")
    asks: tuple[Topic, ...] = ()
    if _ASKING.search(text):
        asks = tuple(topic for topic, cue in _ASKS.items() if cue.search(text))
        asks = tuple(topic for topic in asks if topic != "task") or asks
    refusal = bool(_REFUSAL.search(text)) and asks in ((), ("task",))
    if _MISMATCH.search(text) and not refusal and "code" not in asks:
        asks = (*asks, "code")
    return Heard(asks, refusal, frozenset(_NUMBER.findall(text)))


def words(text: str) -> list[str]:
    """Lower-case words and punctuation marks; `@name` is one word."""
    return _WORD.findall(text.lower())
