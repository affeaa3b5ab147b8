"""An explanation of credit as a person reads it: the group, then every turn with its sum, and one turn's tokens.

Takes a `Why`, whose texts are safe to show. Knows no file and no rule.
"""

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simarena.arena.text import one_line
from simarena.tui.feed.why import Token, Why, WhyTurn


def explanation(why: Why, turn: int | None = None) -> Iterator[RenderableType]:
    """What to print, in order; with `turn`, that turn alone and its tokens."""
    yield _heading(why)
    if why.siblings:
        yield _group(why)
    for one in why.turns:
        if turn in (None, one.turn):
            yield ""
            yield _turn(one)
            if turn is not None and one.tokens:
                yield _tokens(one)


def _heading(why: Why) -> Text:
    player = f"policy {why.policy}" if why.policy else "no policy"
    step = "" if why.step is None else f" · step {why.step}"
    text = Text(f"{why.id} · {why.seat} ({player}){step} · {why.fate}", "bold")
    if why.rule:
        text.append(f"\ncredit {why.rule}: {why.settings}", "dim")
    return text


def _group(why: Why) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "member", "return", "outcome", "ending", "advantages by turn"):
        table.add_column(name, justify="right" if name in ("member", "return", "outcome") else "left")
    for one in why.siblings:
        mine = one.key == why.key
        table.add_row(
            "▸" if mine else "",
            str(one.member),
            f"{one.reward:+.2f}",
            "" if one.outcome is None else f"{one.outcome:g}",
            Text(one.ending),
            " ".join(f"{value:+.2f}" for value in one.advantages) or "–",
            style="bold" if mine else "",
        )
    return table


def _turn(one: WhyTurn) -> Text:
    text = Text(f"turn {one.turn} ", "bold").append(f"{one_line(one.said, 100) or '(nothing said)'}", "cyan")
    text.append(f"\n  paid {one.reward:+.2f}{_named(one.parts)}")
    if one.sources and dict(one.sources) != {"own": one.reward}:
        text.append(f"\n  credited as {_named(one.sources).removeprefix(' = ')}")
    if one.sum:
        text.append(f"\n  {one.sum}")
    sampled = sum(token.sampled for token in one.tokens)
    if one.version is not None:
        text.append(f"\n  {sampled} tokens by version {one.version}", "dim")
    return text


def _named(parts: Mapping[str, float]) -> str:
    """` = a +0.05 b -0.02`; empty if nothing is named."""
    return "".join([" = ", ", ".join(f"{name} {value:+.2f}" for name, value in parts.items())]) if parts else ""


def _tokens(one: WhyTurn) -> Table:
    """Every token since the turn before: what was read, dim, and what was sampled."""
    table = Table(box=None, pad_edge=False)
    for name in ("token", "mask", "log-prob", "ratio", "advantage"):
        table.add_column(name, justify="left" if name == "token" else "right")
    for token in one.tokens:
        table.add_row(
            Text(_shown(token)),
            "1" if token.sampled else "0",
            _number(token.logprob, ".3f"),
            _number(token.ratio, ".3f"),
            _number(token.advantage, "+.3f"),
            style="" if token.sampled else "dim",
        )
    return table


def _shown(token: Token) -> str:
    return one_line(token.text, 40) or f"id {token.id}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
