"""Finds what earlier training left under runs/, for the scripts beside this one. No tournament itself."""

from simarena.arena.errors import UsageError
from simarena.tui import runs


def first_and_newest(recipe: str) -> dict[str, str]:
    """Entrants `step-N`: the first and the newest checkpoint of the newest run of this recipe."""
    for run in reversed(runs.known()):
        saved = run.checkpoints() if run.facts().get("recipe", {}).get("name") == recipe else {}
        if saved:
            return {f"step-{step}": str(saved[step]) for step in (min(saved), max(saved))}
    raise UsageError(f"no run of {recipe} in {runs.HOME}/: train one with `simarena train {recipe}`")


def smollm2() -> dict[str, object]:
    """Entrant `smollm2`, if it is installed (make smollm2); it finds the tools listed in its instructions."""
    from simarena.agents.smollm2 import find_gguf
    from simarena.arena.errors import MissingExtra

    try:
        find_gguf()
    except MissingExtra:
        return {}
    return {"smollm2": {"agent": "smollm2", "options": {"tools": "lines"}}}
