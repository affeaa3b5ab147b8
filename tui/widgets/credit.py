"""How a turn was credited, in lines of text: the group, the comparison, the tokens, the sums. Pure."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from rich.text import Text

from simarena.tui.feed.why import Sibling, Token, Why, WhyTurn
from simarena.tui.widgets.blocks import number
from simarena.tui.widgets.braille import bar
from simarena.tui.widgets.panel import wrapped

Shade = Literal["logprob", "advantage"]
_LEVELS = ((0.9, "muted"), (0.5, "plain"), (0.1, "warn"), (0.0, "bad"))
"""Ink of a sampled token by the least probability it was sampled with."""


def sibling_heading() -> Text:
    return Text(f"   {'member':<8}{'reward':>7}  {'outcome':>7}  {'ending':<14}advantage by turn", "muted")


def sibling(one: Sibling, chosen: bool) -> Text:
    """One member of the group."""
    outcome = "–" if one.outcome is None else f"{one.outcome:.2f}"
    sign, ink = {True: ("✓", "good"), False: ("✗", "bad"), None: ("‖", "warn")}[one.success]
    text = Text.assemble((" ▸ " if chosen else "   ", "key"), f"{one.member:<8}", number(one.reward))
    text.append(f"  {outcome:>7}  ").append(sign, ink).append(f" {one.ending:<12}", "muted")
    for value in one.advantages:
        text.append_text(number(value, 6))
    return text if one.advantages else text.append("not credited", "muted")


def turn_heading() -> Text:
    return Text(f"  turn {'reward':>7} {'compared':>8} {'baseline':>8} {'adv':>7}  says", "muted")


def turn(one: WhyTurn) -> Text:
    """One turn of the seat."""
    text = Text.assemble((f"{one.turn:>6} ", "muted"), number(one.reward), number(one.value, 9))
    text.append(f" {_plain(one.baseline):>8} ", "muted").append_text(number(one.advantage))
    return text.append(f"  {' '.join(one.said.split())}")


def spelled(why: Why, one: WhyTurn, shade: Shade, width: int) -> list[Text]:
    """Everything behind the advantage of one turn."""
    lines = [Text.assemble((f" Turn {one.turn}", "strong"), f"  {' '.join(one.said.split())}"), Text()]
    lines += _comparison(why, one, width)
    if one.sum:
        lines += [Text(), Text(" The computation", "strong"), Text(f"   {one.sum}")]
    for title, table in (
        ("Reward by its parts", one.parts),
        ("Reward by source", one.sources),
        ("Numbers", one.numbers),
    ):
        if len(table) > 1 or (table and title == "Reward by its parts"):
            lines += [Text(), Text(f" {title}", "strong")]
            lines += [Text.assemble((f"   {name:<22}", "muted"), number(part)) for name, part in table.items()]
    if one.tokens:
        lines += [
            Text(),
            _legend(shade),
            *(Text("   ").append_text(row) for row in _tokens(one.tokens, shade, width)),
        ]
    return lines


def _comparison(why: Why, one: WhyTurn, width: int) -> Iterator[Text]:
    """The same turn of everyone in the group as a bar, best first."""
    if one.advantage is None:
        yield Text(f" {why.fate}", "muted")
        return
    if not one.others:
        yield Text(" There was nothing to compare this turn with.", "muted")
        return
    values = [other.value if other.value is not None else other.advantage for other in one.others]
    low, span = min(values), (max(values) - min(values)) or 1.0
    room = max(8, min(32, width - 38))
    yield Text.assemble((" This turn in the group", "strong"), (f"  {one.among}", "muted"))
    for value, other in sorted(zip(values, one.others, strict=True), key=lambda pair: (-pair[0], pair[1].member)):
        ink = "key" if other.member == why.member else "muted"
        line = Text.assemble((f"   member {other.member:<3} ", ink), bar((value - low) / span, room, ink))
        line.append_text(number(value, 8)).append("  adv", "muted").append_text(number(other.advantage))
        yield line.append(" ◂", "key") if other.member == why.member else line


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def _legend(shade: Shade) -> Text:
    text = Text.assemble((" Tokens", "strong"), ("  by ", "muted"))
    if shade == "advantage":
        return (
            text.append("advantage: ", "muted")
            .append("raised ", "good")
            .append("lowered ", "bad")
            .append("read", "quiet")
        )
    text.append("probability when sampled: ", "muted")
    for least, ink in _LEVELS:
        text.append(f"≥{least:.0%} " if least else "less ", ink)
    return text.append("read", "quiet")


def _tokens(tokens: Sequence[Token], shade: Shade, width: int) -> list[Text]:
    """The tokens as they follow each other; those only read are faint."""
    text = Text()
    apart = not any(" " in token.text for token in tokens)  # a tokenizer of words keeps no spaces
    for i, token in enumerate(tokens):
        text.append(" " if i and apart and token.text else "")
        text.append(token.text.replace("\n", "⏎") if token.text else f"·{token.id} ", _ink(token, shade))
    return wrapped(text, max(10, width - 4))


def _ink(token: Token, shade: Shade) -> str:
    if not token.sampled:
        return "quiet"
    if shade == "advantage":
        if token.advantage is None or abs(token.advantage) < 0.005:
            return "muted"
        return "good" if token.advantage > 0 else "bad"
    if token.logprob is None:
        return "plain"
    return next(ink for least, ink in _LEVELS if math.exp(token.logprob) >= least)
