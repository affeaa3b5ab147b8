"""The turn under the cursor: who, at which version, what it earned and why it ended. For wide screens."""

from rich.text import Text

from simarena.tui.feed.opened import Opened, TurnFacts
from simarena.tui.widgets.blocks import Block, number
from simarena.tui.widgets.panel import Panel, facts


class TurnPanel(Panel):
    """Everything known of one turn beside its words, and of the conversation it is part of."""

    def show_turn(self, opened: Opened | None, block: Block | None) -> None:
        texts = [Text(" Turn", "strong")]
        if opened is not None and block is not None:
            texts += _turn(opened, block)
        if opened is not None:
            texts += [Text(), Text(" Conversation", "strong"), *_conversation(opened)]
        self.show(texts)


def _turn(opened: Opened, block: Block) -> list[Text]:
    line = block.head
    known = opened.turns.get((line.turn, line.seat))
    hearers = "everyone" if line.audience is None else ", ".join(line.audience)
    texts = facts(
        [
            ("number", str(line.turn)),
            ("seat", line.seat),
            ("kind", line.kind.replace("_", " ")),
            ("heard by", hearers),
        ]
    )
    return texts + (_earned(known) if known is not None else [])


def _earned(known: TurnFacts) -> list[Text]:
    texts = facts([("reward", number(known.reward, 0))])
    texts += [
        Text.assemble((f"   {name} ".ljust(20), "muted"), number(value)) for name, value in known.parts.items()
    ]
    advantage = number(known.advantage, 0) if known.advantage is not None else ""
    return texts + facts(
        [
            ("advantage", advantage),
            ("version", "" if known.version is None else str(known.version)),
            ("tokens", "" if known.tokens is None else str(known.tokens)),
            ("finish", known.finish),
        ]
    )


def _conversation(opened: Opened) -> list[Text]:
    row = opened.row
    seconds = "" if opened.seconds is None else f"{opened.seconds:.1f}"
    pairs: list[tuple[str, Text | str]] = [
        ("scenario", row.scenario),
        ("deal", str(row.deal)),
        ("member", str(row.member)),
        *((name, value) for name, value in row.labels.items()),
        ("seconds", seconds),
        ("batch", row.batch),
        ("fate", row.credited),
    ]
    texts = facts(pairs)
    for seat, agent in (opened.agents or row.seats).items():
        texts.append(Text.assemble((f" {seat}", "muted")))
        texts.append(Text(f"   {agent}"))
    return texts
