"""The table: rows of figures against figures, printed and kept in results.json."""

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parent.parent / "docs" / "speed.md"
MARKS = ("<!-- what `make bench` found -->", "<!-- end of it -->")


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` is what the target speaks of."""

    name: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    target: str
    """Such as `>= 2.2`; empty where none was set."""
    against: str
    """Whom it is compared with."""
    note: str = ""
    date: str = ""
    load: float = 0.0
    """Others' work when the row was taken: the machine's load average, less ours."""

    @property
    def met(self) -> str:
        """`yes` or `no`, or nothing without a target."""
        if not self.target:
            return ""
        sign, bound = self.target.split()
        return "yes" if (self.ratio >= float(bound)) == (sign == ">=") else "no"

    def __str__(self) -> str:
        figures = f"{self.ours:>10.4g} {self.theirs:>10.4g} {self.unit:<14} {self.ratio:>7.3g}"
        verdict = f"{self.target:<8} {self.met:<3}"
        return f"{self.name:<22} {figures} {verdict} {self.against}{f'; {self.note}' if self.note else ''}"


HEADING = f"{'row':<22} {'ours':>10} {'theirs':>10} {'unit':<14} {'ratio':>7} {'target':<8} met theirs is"


def stamped(row: Row) -> Row:
    """The row with today's date and the load of the machine."""
    return Row(
        **{**asdict(row), "date": date.today().isoformat(), "load": round(max(0, os.getloadavg()[0] - 1), 1)}
    )


def keep(rows: list[Row], file: Path = RESULTS) -> None:
    """Put rows into the file in the place of older ones of the same names."""
    held = json.loads(file.read_text())["rows"] if file.exists() else []
    fresh = {row.name: asdict(row) for row in rows}
    names = [*(row["name"] for row in held), *(name for name in fresh if name not in {r["name"] for r in held})]
    old = {row["name"]: row for row in held}
    data = {
        "machine": machine(),
        "date": date.today().isoformat(),
        "rows": [fresh.get(name) or old[name] for name in names],
    }
    file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def tell_docs(results: Path = RESULTS, page: Path = PAGE) -> None:
    """Put the rows of the results into the page, between its two marks: it says what was measured."""
    data = json.loads(results.read_text())
    told = ", ".join(f"{name} {value}" for name, value in data["machine"].items() if value)
    lines = [
        f"{data['date']}: {told}. Load is what others had the machine do meanwhile.",
        "",
        "| row | ours | theirs | unit | ratio | target | met | theirs is | load |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in (Row(**row) for row in data["rows"]):
        against = f"{one.against}; {one.note}" if one.note else one.against
        cells = (
            one.name,
            f"{one.ours:.3g}",
            f"{one.theirs:.3g}",
            one.unit,
            f"{one.ratio:.3g}",
            one.target,
            one.met,
        )
        lines.append(f"| {' | '.join((*cells, against, f'{one.load:g}'))} |")
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    page.write_text("\n".join((before + MARKS[0], *lines, MARKS[1] + after)), encoding="utf-8")


def machine() -> dict[str, str | int]:
    """What the figures were taken on."""
    from importlib.metadata import version

    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    model = next(
        (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), ""
    )
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    vectors = next((name for name in ("avx512f", "avx2") if f" {name} " in f"{flags} "), "")
    return {
        "processor": model or platform.machine(),
        "cores": os.cpu_count() or 0,
        "vectors": vectors,
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "trl")},
    }


def tell(text: str) -> None:
    """What is going on, on stderr."""
    print(text, file=sys.stderr, flush=True)
