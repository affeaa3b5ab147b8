"""Scenes: sources in memory with something to look at, shared by the tests of screens and their pictures."""

import math

from feeds import FakeSource, row

from simarena.tui.feed.opened import Line, Opened, Piece, TurnFacts
from simarena.tui.feed.why import Other, Sibling, Token, Why, WhyTurn


def desk() -> FakeSource:
    """Three conversations: one runs, one succeeded, one was cut off at its cap."""
    source = FakeSource()
    source.say("train-1/0/0", "user", "please refund my trip", version=4)
    source.say("train-1/0/0", "assistant", "what is your code?", reward=-0.02, version=4)
    source.say("train-1/0/1", "user", "cancel everything now")
    source.say("train-1/0/1", "assistant", "it is done, number 74.", reward=1.0)
    source.end("train-1/0/1", database=True, told=True)
    source.say("train-1/0/2", "user", "never mind")
    source.end("train-1/0/2", success=None, ending="turn_cap")
    return source


def tooled() -> FakeSource:
    """One recorded conversation with a thought, a tool call and its result, and words for one seat only."""
    told = row("train-1/0/0", turn=3, state="ended", ending="finished", success=True, returns={"assistant": 1.2})
    result = "trip to tokyo\nfare: flexible\nseat: 14C"
    opened = Opened(
        told,
        (
            Line("1-1", 1, "user", "speech", (Piece("text", "it is cedar."),)),
            Line("2-1", 2, "assistant", "thought", (Piece("text", "look it up first"),), ("assistant",)),
            Line("2-2", 2, "assistant", "tool_call", (Piece("call", "@lookup account=cedar", "lookup"),)),
            Line("2-3", 2, "world", "tool_result", (Piece("result", result, "lookup"),), ("assistant",)),
            Line("3-1", 3, "assistant", "speech", (Piece("text", "psst"),), ("assistant",)),
        ),
        {
            (1, "user"): TurnFacts(1, "user"),
            (2, "assistant"): TurnFacts(
                2, "assistant", 0.2, {"step": -0.02, "account": 0.22}, 0.31, 7, 12, "stop"
            ),
            (3, "assistant"): TurnFacts(3, "assistant", 1.0, {}, -0.5, 7, 3, "stop"),
        },
        {"database": True, "told": False},
        {"assistant": 1.0},
        agents={"assistant": "simarena.agents.policy:PolicyAgent on policy.learner, version 7"},
        seconds=1.5,
    )
    source = FakeSource([told], {"train-1/0/0": opened})
    source.live = False
    source.set(connection="recorded")
    return source


def trained() -> FakeSource:
    source = FakeSource()
    source.training.total_steps = 3
    for step in range(1, 4):
        source.training.take(
            {
                "step": step,
                "outcome/success": 0.25 * step,
                "reward/mean": -0.5 + 0.5 * step,
                "reward/group_std": 0.5,
                "loss/entropy": 0.3 / step,
                "kl/old": 0.0,
                "train/grad_norm": 0.1 * step,
                "time/rollout": 2.0,
                "time/score": 0.2,
                "time/update": 1.0,
                "time/publish": 0.01,
                "ledger/dispatched": 128 * step,
                "ledger/open": 0,
                "ledger/trained": 112 * step,
                "ledger/filtered": 16 * step,
                "ledger/filtered(zero_variance)": 16 * step,
            }
        )
    source.training.take({"step": 0, "eval/success": 0.25, "eval/forger": 0.5, "eval/muddled": 0.25})
    source.training.take({"step": 3, "eval/success": 0.75, "eval/forger": 1.0, "eval/muddled": 0.5})
    return source


def explained() -> FakeSource:
    tokens = (
        Token(1, "hello", False),
        Token(2, " it", True, math.log(0.95), 0.5, 1.0),
        Token(3, " is", True, math.log(0.05), -0.5, 1.0),
    )
    siblings = (
        Sibling("a/1", "a/1", 1, "finished", True, 1.3, 1.0, (0.4, 0.6)),
        Sibling("a/0", "a/0", 0, "finished", False, 0.1, 0.0, (-0.4, -0.6)),
        Sibling("a/2", "a/2", 2, "turn_cap", None, 0.0, None),
    )

    def why(member: int) -> Why:
        sign = 1 if member else -1
        turns = tuple(
            WhyTurn(
                position=i,
                turn=2 * i + 2,
                said=f"words {i} of member {member}",
                reward=0.1,
                parts={"step": -0.02, "account": 0.12},
                numbers={"return": 1.0, "to_go": 0.5},
                value=0.7 + 0.6 * sign,
                baseline=0.7,
                compared=2,
                among="deal 7 × assistant",
                advantage=sign * (0.4 + 0.2 * i),
                version=3,
                tokens=tokens,
                others=(Other(0, 0.1, -0.4), Other(1, 1.3, 0.4)),
                sum="1.3000 − baseline 0.7000 = advantage +0.6000",
            )
            for i in range(2)
        )
        return Why(
            f"a/{member}", f"a/{member}", "assistant", "learner", "service-desk", 7, member,
            "returns", "normalise=centre", "trained", 4, siblings, turns,
        )  # fmt: skip

    rows = [row(f"a/{member}", state="ended", ending="finished", success=bool(member)) for member in range(2)]
    return FakeSource(rows, whys={"a/0": why(0), "a/1": why(1)})
