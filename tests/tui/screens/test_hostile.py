"""Hostile texts on every screen: nothing acts on a terminal, nothing is parsed as markup, nothing crashes."""

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest
from feeds import FakeSource, row
from hostile import TEXTS, escapes
from screens import press, settled, shown, text_of, typed

from simarena.tui.feed.opened import Line, Opened, Piece, TurnFacts
from simarena.tui.feed.training_book import Alarm
from simarena.tui.feed.why import Other, Sibling, Token, Why, WhyTurn


def poisoned(text: str) -> FakeSource:
    """A source that holds this text wherever a text can be, as if nobody had made it safe."""
    seats = {text or "nobody": text, "user": text}
    told = row(
        "k", id=text, scenario=text, seats=seats, learners=(text,), labels={"persona": text, text: text},
        speaker=text, last=text, state="ended", ending=text, success=False, returns={text: 1.0},
        parent=text, credited=text, batch=text,
    )  # fmt: skip
    kinds = ("text", "call", "result", "error", "memory", "image")
    lines = tuple(
        Line(f"{i}-1", i, text, kind, tuple(Piece(piece, text, text) for piece in kinds), audience)  # type: ignore[arg-type]
        for i, (kind, audience) in enumerate(
            (
                ("speech", None),
                ("thought", (text,)),
                ("tool_call", None),
                ("tool_result", (text,)),
                ("notice", (text,)),
            )
        )
    )
    facts = {(i, text): TurnFacts(i, text, 0.5, {text: 0.5}, -0.5, 3, 4, text) for i in range(5)}
    opened = Opened(told, lines, facts, {text: True}, {text: 1.0}, text, {text: text}, 1.0, 0, text)
    turn = WhyTurn(
        0, 1, text, 1.0, {text: 1.0}, {text: 1.0, "b": 2.0}, {text: 1.0, "b": 2.0}, 1.0, 0.5, 2, text, 0.5, 3,
        (Token(1, text, False), Token(2, text, True, -1.0, 0.5, 1.0)), (Other(0, 1.0, 0.5),), text,
    )  # fmt: skip
    sibling = Sibling("k", text, 0, text, None, 1.0, 1.0, (0.5,))
    why = Why("k", text, text, text, text, 0, 0, text, text, text, 1, (sibling,), (turn,))
    source = FakeSource([told], {"k": opened}, {"k": why}, title=text)
    source.set(detail=text, where=text)
    source.training.learners = (text,)
    source.training.take({"step": 1, "outcome/success": 0.5, f"eval/{text}": 0.5, f"ledger/filtered({text})": 1})
    source.training.alarms.append(Alarm(1, text, text))
    return source


ALONE = ("markup", "markup open", "line long", "many lines", "wide", "empty", "lone surrogate")
"""Texts that show more by themselves than among others."""
TOGETHER = " ".join(text for name, text in TEXTS.items() if name not in ALONE)


@pytest.mark.parametrize("name", [*ALONE, "all others"])
async def test_no_screen_lets_a_text_act(name: str) -> None:
    text = TEXTS.get(name, TOGETHER)
    async with shown(poisoned(text), (170, 44), query="") as pilot:
        await press(pilot, "t")
        for keys in (("1",), ("enter", "O"), ("w",), ("c",), ("2",), ("4",), ("5",)):
            await press(pilot, *keys)
            drawn = text_of(pilot)
            assert not escapes(drawn.encode("utf-8", "surrogatepass")), keys
        pilot.app.tell(text)
        await settled(pilot)
        assert not escapes(text_of(pilot).encode("utf-8", "surrogatepass"))
        assert pilot.app.is_running


async def test_prompts_palette_and_help_stand_hostile_texts() -> None:
    source = poisoned(TOGETHER + TEXTS["markup"])
    async with shown(source, (120, 40)) as pilot:
        await press(pilot, "f")
        await typed(pilot, "[/] [bold")
        await press(pilot, "enter", "slash")
        await typed(pilot, "[/]")
        await press(pilot, "enter", "ctrl+p", "escape", "question_mark", "escape", "enter", "y", "r", "r")
        assert pilot.app.is_running
        assert pilot.app.screen.NAME == "arena"


SCRIPT = """
import asyncio, sys
sys.path.insert(0, {support!r})
from test_hostile import TOGETHER, poisoned
from simarena.tui.app import WatchApp

async def main():
    source = poisoned(TOGETHER if {hostile!r} else "plain")
    app = WatchApp(source)
    async def tour(pilot):
        for key in "t 1 enter O w c 2 4 5 1".split():
            await pilot.press(key)
            await pilot.pause(0.15)
        app.exit(0)
    await app.run_async(auto_pilot=tour)

asyncio.run(main())
"""
_SEQUENCES = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[P_^X][^\x1b]*(?:\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b."
    rb"|[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]",
    re.DOTALL,
)


def terminal_bytes(hostile: bool, home: Path) -> bytes:
    """All that a real terminal is sent while somebody walks through the screens."""
    here = Path(__file__).parent
    script = SCRIPT.format(support=str(here.parents[1] / "support"), hostile=hostile)
    script = script.replace("from test_hostile", f"sys.path.insert(0, {str(here)!r})\nfrom test_hostile")
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover - the child
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "XDG_CONFIG_HOME": str(home)}
        os.environ |= {"COLUMNS": "170", "LINES": "44"}
        os.execv(sys.executable, [sys.executable, "-c", script])
    written, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            written += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, written[-2000:]
    return written


def kinds(written: bytes) -> set[bytes]:
    """Control sequences by kind: numbers left out, the rest whole, so that a title or a clipboard shows."""
    return {re.sub(rb"[0-9;:]+", b"", found) for found in _SEQUENCES.findall(written)}


@pytest.mark.slow
def test_a_real_terminal_is_sent_no_other_sequences_than_for_plain_texts(tmp_path: Path) -> None:
    plain = kinds(terminal_bytes(False, tmp_path))
    assert any(kind.endswith(b"m") for kind in plain), "colours at least must have been drawn"
    hostile = terminal_bytes(True, tmp_path)
    assert b"owned" in hostile, "the texts must have been drawn"
    assert kinds(hostile) <= plain
