"""Transcripts: readable, complete, and safe whatever the texts hold."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from simarena.arena.episodes import Episode, Reward, Seat, Turn
from simarena.arena.messages import Message, Part, Text, ToolCall, ToolResult, View
from simarena.arena.specs import AgentSpec
from simarena.tui.briefing import briefing
from simarena.tui.transcript import summary, transcript

HOSTILE = [
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[H",
    "\x9b31mred",
    "\x1b]52;c;cGF5\x1b\\",
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "abc\u202edef\u2066x\u2069",
    "\u2028split\u2029",
    "zero\u200bwidth\ufeff",
    "back\x08\x08\x08space\rreturn\x0b\x0c\x7f",
    "[bold red]markup[/] [/] [@click=app.quit]x[/] [link=http://evil]y",
    "\U000e0041tag",
    ":smile: **bold** `code`",
]
_SGR = re.compile(r"\x1b\[[0-9;]*m")
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def render(thing: object, width: int = 80) -> str:
    """What a colour terminal would receive."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system="256", markup=False, emoji=False)
    console.print(thing)
    return stream.getvalue()


def plain(thing: object, width: int = 80) -> str:
    return _SGR.sub("", render(thing, width))


def message(id: str, seat: str, kind: str, *parts: Part, audience: tuple[str, ...] | None = None) -> Message:
    return Message(episode="play/3/0", id=id, seat=seat, kind=kind, parts=parts, audience=audience)  # type: ignore[arg-type]


def episode(text: str = "i need a refund") -> Episode:
    """A short conversation with every kind of message; `text` sits wherever an agent has a say."""
    return Episode(
        id="play/3/0",
        scenario="service-desk",
        deal=3,
        seats={
            "assistant": Seat(spec=AgentSpec.of_policy("desk"), version=7),
            "user": Seat(spec=AgentSpec(agent="person", options={"note": text})),
        },
        labels={"persona": "terse", "said": text},
        messages=(
            message("0-1", "world", "notice", Text(text=text)),
            message("1-1", "user", "thought", Text(text=text), audience=("user",)),
            message(
                "1-2", "user", "thought", ToolResult(name="memory", content={"mood": text}), audience=("user",)
            ),
            message("1-3", "user", "speech", Text(text=text)),
            message("2-1", "assistant", "tool_call", ToolCall(name="find", arguments={"who": text, "day": 3})),
            message("2-2", "world", "tool_result", ToolResult(name="find", content={"id": 7, "note": [text]})),
            message("3-1", "assistant", "tool_call", ToolCall(name=text[:20] or "x", arguments={})),
            message("3-2", "world", "tool_result", ToolResult(name="x", content=text, error=True)),
            message("4-1", "assistant", "speech", Text(text="done"), audience=("assistant", "user")),
        ),
        turns=tuple(Turn(index=i, seat="user" if i == 1 else "assistant") for i in range(1, 5)),
        rewards=(Reward(index=2, seat="assistant", value=0.25), Reward(index=4, seat="assistant", value=-1.0)),
        checks={"database": True, text[:30] or "x": False},
        outcome={"assistant": 0.0},
        ending="finished",
    )


def test_a_transcript_says_who_to_whom_what_it_earned_and_how_it_ended() -> None:
    shown = plain(transcript(episode()))
    assert "assistant: policy on policy.desk, version 7" in shown
    assert re.search(r"1 user +\(thinks\) i need a refund", shown)
    assert "(remembers) mood=i need a refund" in shown
    assert "@find who=i need a refund day=3" in shown
    assert "→ id=7 note=i need a refund" in shown
    assert "✗ i need a refund" in shown
    assert "(to user only) done" in shown
    assert re.search(r"@find .* \+0\.25$", shown, re.MULTILINE)
    assert re.search(r"\(to user only\) done +-1\.00$", shown, re.MULTILINE)
    assert "ended: finished, failure" in shown
    assert "✓ database" in shown
    assert "return: assistant -0.75" in shown


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_reaches_no_terminal(text: str) -> None:
    shown = render(transcript(episode(text)))
    assert not _UNSAFE.search(_SGR.sub("", shown))
    assert not _UNSAFE.search(
        _SGR.sub("", render(briefing(View(instructions=text, private={text: [text, {"a": text}]}))))
    )
    assert not _UNSAFE.search("".join(summary(episode(text))))


@given(st.text(max_size=200))
def test_no_text_at_all_breaks_out(text: str) -> None:
    assert not _UNSAFE.search(plain(transcript(episode(text))))


def test_markup_is_shown_and_not_obeyed() -> None:
    shown = plain(transcript(episode("[bold]x[/] [/] [link=http://a]y")), width=200)
    assert "[bold]x[/] [/] [link=http://a]y" in shown
    assert "http://a\x1b" not in shown


def test_a_message_cannot_pose_as_another_speaker() -> None:
    shown = plain(transcript(episode("hi\n  2 assistant   refund approved")))
    forged = [line for line in shown.splitlines() if "refund approved" in line and "assistant   refund" in line]
    assert forged
    assert all(not line.lstrip().startswith("2 assistant") or line.startswith(" " * 8) for line in forged)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_line_fits(width: int) -> None:
    shown = plain(transcript(episode("supercalifragilistic" * 9)), width)
    assert max(map(len, shown.splitlines())) <= width


def test_a_faulty_ending_says_why_and_scores_nothing() -> None:
    broken = episode().model_copy(
        update={"ending": "agent_fault", "checks": {}, "outcome": {}, "fault": "no\x1b answer"}
    )
    shown = plain(transcript(broken))
    assert "agent_fault, not scored" in shown
    assert "no␛ answer" in shown


def test_private_data_read_as_an_outline() -> None:
    view = View(instructions="serve", private={"goal": {"city": "rome", "last_days": ["mon", "tue"]}, "n": 3})
    assert briefing(view).plain.splitlines() == ["serve", "goal:", "  city: rome", "  last days: mon, tue", "n: 3"]
