"""Messages, views, seeds, topology, sanitiser, ledger: the small values everything else is made of."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simarena.arena.errors import ScenarioError, UnknownName, UsageError
from simarena.arena.ledger import Ledger
from simarena.arena.messages import Action, Message, Observation, Text, ToolCall, ToolResult, View, drafts, say
from simarena.arena.seeds import derive, rng, uniform
from simarena.arena.specs import AgentSpec, build_agent
from simarena.arena.text import one_line, visible
from simarena.arena.topology import Topology


def message(seat: str, audience: tuple[str, ...] | None = None, **more: object) -> Message:
    fields = {"kind": "speech", "parts": (Text(text="hi"),), **more}
    return Message(episode="e", id="1-1", seat=seat, audience=audience, **fields)  # type: ignore[arg-type]


def test_only_the_audience_and_the_speaker_hear() -> None:
    whisper = message("ann", audience=("ann", "bob"))
    assert [whisper.audible(seat) for seat in ("ann", "bob", "cyd")] == [True, True, False]
    assert message("ann").audible("cyd")


def test_memory_is_the_last_thing_an_agent_remembered() -> None:
    def remembers(seat: str, value: int) -> Message:
        note = ToolResult(name="memory", content={"mood": value})
        return message(seat, (seat,), kind="thought", parts=(note,))

    seen = Observation(
        episode="e",
        scenario="s",
        seat="ann",
        turn=3,
        seed=1,
        view=View(),
        messages=(remembers("ann", 1), remembers("ann", 2), remembers("bob", 3)),
    )
    assert seen.memory() == {"mood": 2}


def test_an_action_becomes_one_speech_then_its_calls() -> None:
    action = Action(parts=(ToolCall(name="look"), Text(text="one"), Text(text="moment")))
    assert [(d.kind, len(d.parts)) for d in drafts("ann", action)] == [("speech", 2), ("tool_call", 1)]
    assert drafts("ann", Action()) == ()


def test_values_cannot_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        say("hi").leave = True  # type: ignore[misc]


def test_seeds_are_the_same_in_every_process() -> None:
    code = "from simarena.arena.seeds import derive; print(derive('run', 7, 'deal', 12))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == derive("run", 7, "deal", 12)


@given(st.lists(st.one_of(st.text(), st.integers()), min_size=1), st.lists(st.one_of(st.text(), st.integers())))
def test_different_paths_give_different_seeds(a: list[str | int], b: list[str | int]) -> None:
    if a != b and "\x1f" not in "".join(map(str, a + b)):
        assert derive(*a) != derive(*b)
    assert 0 <= derive(*a) < 2**63
    assert 0.0 <= uniform(*a) < 1.0


def test_the_global_generator_is_left_alone() -> None:
    random.seed(1)
    before = random.getstate()
    rng("x").random()
    assert random.getstate() == before


def test_topology_decides_audiences() -> None:
    line = Topology(["a", "b", "c"], [("a", "b"), ("b", "c"), ("b", "a")])
    assert line.audience("b", None) is None
    assert line.audience("a", None) == ("a", "b")
    assert line.audience("a", ("b",)) == ("a", "b")
    assert line.audience("world", ("c",)) == ("c",)
    with pytest.raises(ScenarioError, match=r"\['c'\], who cannot hear"):
        line.audience("a", ("c",))
    with pytest.raises(ScenarioError, match="unknown seats"):
        Topology(["a"], [("a", "z")])


HOSTILE = "\x1b]0;title\x07 \x9b2J \u202eevil\u2066 zero\u200bwidth \x00 \ufeff \u2028 \U000e0041 \x7f"


def test_nothing_that_moves_a_terminal_survives() -> None:
    shown = visible(HOSTILE)
    assert all(ch in "\t\n" or ch.isprintable() for ch in shown)
    assert "\u241b]0;title\u2407" in shown
    assert "<U+202E>evil" in shown


@given(st.text())
def test_the_sanitiser_is_idempotent_and_keeps_plain_text(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert "\x1b" not in visible(text)
    plain = "".join(ch for ch in text if ch.isascii() and ch.isprintable())
    assert visible(plain) == plain


def test_one_line_is_cut_with_an_ellipsis() -> None:
    assert one_line("a\nb   c") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


def test_the_ledger_adds_up() -> None:
    ledger = Ledger()
    for name in "abcd":
        ledger.dispatch(name)
    ledger.settle("a", "trained")
    ledger.settle("b", "filtered", "zero_variance")
    ledger.settle("c", "discarded", "simulator_fault")
    counts = ledger.counts()
    assert counts["dispatched"] == 4
    assert counts["open"] == 1
    assert counts["filtered(zero_variance)"] == 1
    with pytest.raises(AssertionError, match="not open"):
        ledger.settle("a", "trained")
    ledger.settle("d", "stale")
    assert Ledger.load(ledger.dump()).counts() == ledger.counts()


def test_an_unknown_name_suggests_the_nearest() -> None:
    assert "did you mean 'service-desk'?" in str(UnknownName("scenario", "service-dsk", ["service-desk", "deal"]))
    assert "known: a, b" in str(UnknownName("persona", "zzzzz", ["b", "a"]))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.such:Thing", "no module 'no'"),
        ("toys:Nobody", "module 'toys' has no 'Nobody'"),
        (":Thing", "unknown agent ':Thing'"),
        ("toys:", "unknown agent 'toys:'"),
    ],
)
def test_a_spec_that_leads_nowhere_is_named(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        build_agent(AgentSpec(agent=name))
