"""The customers' phrases: templates by speech act, one book a split. No template is in two of them.

Templates of the other splits are new sentences made of words that training templates also use, so a word-level
policy can understand them. A city after "in" and a day after "last" are small talk, here and in the clerk's ear.
Knows no goal and no persona.
"""

from simarena.simulators.phrasebook import Phrasebook
from simarena.simulators.scenarios.service_desk.phrases.heldout import HELDOUT
from simarena.simulators.scenarios.service_desk.phrases.train import TRAIN
from simarena.simulators.scenarios.service_desk.phrases.validation import VALIDATION
from simarena.simulators.splits import Split, require_disjoint

BOOKS: dict[Split, Phrasebook] = {"train": TRAIN, "validation": VALIDATION, "heldout": HELDOUT}
PATHS: dict[Split, str] = {split: f"{__name__}.{split}:{split.upper()}" for split in BOOKS}

require_disjoint("templates", *(book.templates() for book in BOOKS.values()))
