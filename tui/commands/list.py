"""`simarena list`: the names one may write: scenarios, recipes, agents, personas, credit rules, losses, runs."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from simarena.arena.errors import SimArenaError, UnknownName
from simarena.arena.record import RunFolder
from simarena.arena.specs import table
from simarena.arena.text import one_line
from simarena.tui import runs
from simarena.tui.casting import MODELS
from simarena.tui.console import emit, show

Names = dict[str, str]
"""Name → one line about it."""


def listing(
    what: Annotated[str | None, typer.Argument(help="Only this kind, such as `personas`.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """List scenarios, recipes, models, agents, personas, credit rules, losses and runs.

    Example: simarena list personas
    """
    if what is not None and what not in _KINDS:
        raise UnknownName("kind", what, _KINDS)
    found = {kind: names() for kind, names in _KINDS.items() if what in (None, kind)}
    if json:
        emit(found)
        return
    for kind, names in found.items():
        show(Text(kind, "bold"))
        width = max(map(len, names), default=0)
        for name, about in names.items():
            show(Text("  " + one_line(name).ljust(width) + "  " + one_line(about, 76 - width)))
        if not names:
            show(Text("  none yet", "dim"))


def _scenarios() -> Names:
    return dict(sorted(table("scenarios").items()))


def _agents() -> Names:
    return {"human": "you, in this terminal", **dict(sorted(table("agents").items()))}


def _recipes() -> Names:
    from simarena.training import recipe_file

    return {name: _recipe(name) for name in recipe_file.names()}


def _recipe(name: str) -> str:
    from simarena.training import recipe_file

    recipe = recipe_file.load(name)
    return f"{recipe.scenario.name}, {recipe.policy.model}, {recipe.credit.rule}, {recipe.steps} steps"


def _personas() -> Names:
    from simarena.simulators.adversaries import ADVERSARIES
    from simarena.simulators.personas import PERSONAS

    return {
        persona.name: f"{persona.split}, {persona.kind}" + (f", twin {persona.twin}" if persona.twin else "")
        for persona in (*PERSONAS, *ADVERSARIES)
    }


def _credit() -> Names:
    from simarena.training.credit import RULES

    return {name: _first_line(rule.__doc__) for name, (_, rule) in RULES.items()}


def _losses() -> Names:
    from simarena.training.losses import LOSSES

    return {name: _first_line(loss.__doc__) for name, (_, loss) in LOSSES.items()}


def _runs() -> Names:
    return {str(run.path): _run(run) for run in runs.known()}


def _run(run: RunFolder) -> str:
    try:
        steps = max((row["step"] for row in run.metrics()), default=0)
    except (SimArenaError, ValueError) as error:
        return f"cannot be read: {error}"
    newest = runs.newest_checkpoint(run)
    return f"{steps} steps, newest checkpoint {newest.name if newest else 'none'}"


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


_KINDS: dict[str, Callable[[], Names]] = {
    "scenarios": _scenarios,
    "recipes": _recipes,
    "models": lambda: MODELS,
    "agents": _agents,
    "personas": _personas,
    "credit": _credit,
    "losses": _losses,
    "runs": _runs,
}
