"""`simarena doctor`: what is installed, what would be used, what to do about the rest."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from simarena.arena.text import one_line
from simarena.tui.checkup import Finding, examine
from simarena.tui.console import emit, run, show


def doctor(
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Say what is installed, which engine and bus would be used, and what to install for the rest.

    Exits with 0 if the demo can run, else with 1.

    Example: simarena doctor
    """
    findings = run(examine())
    well = not any(finding.fatal for finding in findings)
    if json:
        emit({"ok": well, "findings": [asdict(finding) for finding in findings]})
    else:
        part = ""
        for finding in findings:
            if finding.part != part:
                show(Text(finding.part, "bold"))
                part = finding.part
            show(_line(finding))
        show(
            Text(
                "the demo can run: make demo" if well else "the demo cannot run yet: see the lines marked ✗",
                "bold",
            )
        )
    if not well:
        raise typer.Exit(1)


def _line(finding: Finding) -> Text:
    mark, style = ("✗", "red") if finding.fatal else ("·", "dim") if finding.fix else ("✓", "green")
    text = Text(f"  {mark} ", style)
    text.append(
        f"{one_line(finding.name):<20} {one_line(finding.found) or 'not installed'}",
        "" if not finding.fix else style,
    )
    if finding.fix:
        text.append(f"\n      {one_line(finding.fix)}", style)
    return text
