"""The model that every side uses: SmolLM2-135M-Instruct, converted once and cached, or the one asked for."""

import os
from pathlib import Path

CHOSEN = "SIMARENA_BENCH_MODEL"
"""Environment variable through which the command tells its sides."""


def folder() -> Path:
    """Where it is. Raises MissingExtra if SmolLM2 is not installed (`make smollm2`)."""
    from simarena.agents import models

    return models.locate(os.environ.get(CHOSEN) or "smollm2")
