"""The report: one self-contained HTML page on a run. A pure function of data; no network, no script.

Curves are inline SVG. All text, above all what models said, passes the sanitiser and is escaped.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simarena.arena.episodes import Episode
from simarena.arena.page import conversation, page, safe
from simarena.training.events import Block, Rate

_WIDTH, _HEIGHT, _EDGE = 360, 150, 34
_CURVES = (
    "eval/success",
    "outcome/success",
    "reward/mean",
    "reward/group_std",
    "groups/zero_variance",
    "loss/entropy",
    "train/grad_norm",
    "episodes/turns",
    "mismatch/max",
)


def write_report(
    path: Path,
    run: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    conversations: Sequence[tuple[str, Episode]] = (),
) -> None:
    """Write the page at `path`, from the facts of run.json and the rows of metrics.jsonl."""
    path.write_text(render(run, metrics, conversations), encoding="utf-8")


def render(
    run: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]], conversations: Sequence[tuple[str, Episode]] = ()
) -> str:
    """The page. `run` may hold `name`, `plan`, `before` and `after` (blocks); each row of `metrics` has `step`."""
    title = str(run.get("name", "run"))
    before, after = (Block.model_validate(run[key]) if run.get(key) else None for key in ("before", "after"))
    steps = max((float(row["step"]) for row in metrics), default=0.0)
    parts = [
        f"<h1>{safe(title)}</h1><p>{steps:g} steps</p>",
        _comparison(before, after) if before and after else "",
        "<h2>Learning curves</h2>" + f'<div class="grid">{"".join(_curves(metrics))}</div>',
        "".join(f"<h2>{safe(heading)}</h2>{conversation(episode)}" for heading, episode in conversations),
        f"<h2>Settings</h2><pre>{safe(str(run.get('plan', '')))}</pre>",
    ]
    return page(title, parts)


def _comparison(before: Block, after: Block) -> str:
    rows: list[tuple[str, Rate | None, Rate | None]] = [("all", before, after)]
    for persona in sorted(before.by_persona.keys() | after.by_persona.keys()):
        rows.append((persona, before.by_persona.get(persona), after.by_persona.get(persona)))
    body = "".join(
        f"<tr><td>{safe(name)}</td><td>{_rate(was)}</td><td{_mark(was, now)}>{_rate(now)}</td></tr>"
        for name, was, now in rows
    )
    for name in ("harmful_compliance", "over_refusal"):
        was, now = (_percent(getattr(block, name)) for block in (before, after))
        body += f"<tr><td>{name.replace('_', ' ')}</td><td>{was}</td><td>{now}</td></tr>"
    return (
        f"<h2>Success on held-out deals</h2><table><tr><th>persona</th><th>before</th><th>after</th></tr>{body}"
        "</table><p>95 % intervals in brackets; green where they do not overlap.</p>"
    )


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "–"
    return f"{_percent(rate.success)} [{_percent(rate.low)}, {_percent(rate.high)}] of {rate.episodes}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _mark(was: Rate | None, now: Rate | None) -> str:
    return ' class="better"' if was and now and now.low > was.high else ""


def _curves(metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    drawn = []
    for name in _CURVES:
        points = [(float(row["step"]), float(row[name])) for row in metrics if name in row]
        points = [(step, value) for step, value in points if math.isfinite(value)]
        if points:
            drawn.append(f"<figure><figcaption>{name}</figcaption>{_curve(points)}</figure>")
    return drawn


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """One line over steps; the faint labels are the extremes of both axes."""
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))
    wide, tall = (right - left) or 1.0, (high - low) or 1.0
    inner, upper = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE / 2
    path = " ".join(
        f"{_EDGE + (step - left) / wide * inner:.1f},{_EDGE / 2 + (high - value) / tall * upper:.1f}"
        for step, value in points
    )
    x, y = path.rpartition(" ")[2].split(",")
    base = _HEIGHT - _EDGE / 2
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f'<line class="axis" x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{base}" y2="{base}"/>'
        f'<polyline points="{path}"/><circle cx="{x}" cy="{y}" r="2.5"/>'
        f'<text x="2" y="{_EDGE / 2 + 3}">{high:.3g}</text><text x="2" y="{base}">{low:.3g}</text>'
        f'<text x="{_EDGE}" y="{_HEIGHT - 4}">{left:g}</text>'
        f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - 4}" text-anchor="end">{right:g}</text>'
        f'<text x="{float(x) + 5:.1f}" y="{y}">{points[-1][1]:.3g}</text></svg>'
    )
