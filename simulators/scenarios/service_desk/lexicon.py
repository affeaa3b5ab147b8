"""The lexicon: every word that a text of the service desk can hold. Knows no tokenizer."""

import functools
import re
from collections.abc import Iterator

from simarena.simulators.hearing import words
from simarena.simulators.scenarios.service_desk import database as data
from simarena.simulators.scenarios.service_desk.clerk import LINES
from simarena.simulators.scenarios.service_desk.phrases import BOOKS
from simarena.simulators.scenarios.service_desk.policy import INSTRUCTIONS, NOTICES
from simarena.simulators.scenarios.service_desk.tools import TOOLS, WORDING

VALUES = (*data.ACCOUNTS, *data.CITIES, *data.DAYS, *data.NUMERALS, *data.FARES)


@functools.cache
def lexicon() -> tuple[str, ...]:
    """Sorted words, lower-case, punctuation marks and tool names (`@book`) among them."""
    return tuple(sorted({word for text in _texts() for word in words(re.sub(r"\{\w+\}", " ", text))}))


def _texts() -> Iterator[str]:
    yield INSTRUCTIONS
    yield from NOTICES.values()
    yield from WORDING.values()
    yield from (f"@{tool.name} {tool.name} {' '.join(tool.parameters)} {tool.description}" for tool in TOOLS)
    yield from (line for book in (*BOOKS.values(), LINES) for line in book.templates())
    yield from VALUES
