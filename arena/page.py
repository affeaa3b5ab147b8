"""The page: what every report in HTML is drawn on. One self-contained file; no network, no script.

Owns the look and the one way text enters a page: through the sanitiser, then escaped. Knows no run and no
tournament.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from simarena.arena.episodes import Episode
from simarena.arena.messages import ToolCall, ToolResult
from simarena.arena.text import visible

_STYLE = """
:root{--ink:#1d2733;--soft:#66758a;--line:#dfe5ec;--paper:#fff;--accent:#2563a8;--good:#1b7f4d;--heat:37,99,168}
@media(prefers-color-scheme:dark){:root{--ink:#e3e9f0;--soft:#93a1b3;--line:#2b3542;--paper:#141a21;--accent:#6cabef;
--good:#5cc78f;--heat:108,171,239}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1180px;margin:2rem auto;
padding:0 1rem}h1{font-size:1.5rem;margin:0}
h2{font-size:1.1rem;margin:2rem 0 .6rem}p,figcaption,th,.by{color:var(--soft)}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:1rem}figure{margin:0}
svg{width:100%;height:auto;border:1px solid var(--line);border-radius:6px}svg text{font-size:10px;fill:var(--soft)}
polyline{fill:none;stroke:var(--accent);stroke-width:1.6}.axis{stroke:var(--line)}circle{fill:var(--accent)}
table{border-collapse:collapse}td,th{padding:.2rem .9rem .2rem 0;text-align:left;
border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}
.said{margin:.2rem 0;white-space:pre-wrap}.by{display:inline-block;min-width:7rem}
.better{color:var(--good)}pre{border:1px solid var(--line);border-radius:6px;padding:.8rem;overflow:auto}
"""


def page(title: str, parts: Iterable[str], style: str = "") -> str:
    """The document of these parts, which are HTML already; the title is plain text."""
    head = f'<meta charset="utf-8"><title>{safe(title)}</title><style>{_STYLE}{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def safe(text: str) -> str:
    """Any text as HTML that shows it and does nothing else."""
    return html.escape(visible(text))


def conversation(episode: Episode) -> str:
    """What was said aloud, and how it ended."""
    lines = "".join(
        f'<div class="said"><span class="by">{safe(message.seat)}</span>{safe(_text(message.parts))}</div>'
        for message in episode.messages
        if message.kind != "thought"
    )
    checks = ", ".join(f"{'✓' if passed else '✗'} {name}" for name, passed in sorted(episode.checks.items()))
    labels = ", ".join(f"{name} {value}" for name, value in sorted(episode.labels.items()))
    return f"{lines}<p>{safe(' · '.join(filter(None, (labels, episode.ending, checks))))}</p>"


def _text(parts: Sequence[Any]) -> str:
    said = []
    for part in parts:
        if isinstance(part, ToolCall):
            said.append(f"{part.name}({', '.join(f'{k}={v}' for k, v in part.arguments.items())})")
        elif isinstance(part, ToolResult):
            said.append(f"{part.name} → {part.content}")
        else:
            said.append(getattr(part, "text", "[image]"))
    return " ".join(said)
