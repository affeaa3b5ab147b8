"""The briefing: what a seat alone knows, in words, for the person who takes it.

Knows the errands of simulated people by their type; any other private data is shown as an outline.
"""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue, ValidationError
from rich.text import Text

from simarena.arena.messages import View
from simarena.arena.text import visible
from simarena.simulators.errands import Errand
from simarena.simulators.personas import describe
from simarena.tui.transcript import outline


def briefing(view: View) -> Text:
    """Instructions, then the seat's private part: an errand in sentences, or whatever it is as an outline."""
    parts = [view.instructions] if view.instructions else []
    if view.private:
        parts += _errand(view.private) or [outline(view.private)]
    return Text(visible("\n".join(parts)))


def _errand(private: Mapping[str, JsonValue]) -> list[str]:
    """The lines of an errand; none if this is not one."""
    try:
        errand = Errand.model_validate(private)
    except ValidationError:
        return []
    return list(_sentences(errand))


def _sentences(errand: Errand) -> Iterator[str]:
    yield errand.brief
    yield f"You know: {_facts(errand.facts)}."
    if errand.later:
        yield f"Later you want instead: {_facts(errand.later)}."
    if errand.wrong and errand.persona.code in ("fumbles", "lacks"):
        yield f"Codes you might give by mistake: {', '.join(errand.wrong)}."
    yield f"You are {errand.persona.name}. {describe(errand.persona)}"


def _facts(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())
