"""The query language of the displays: which conversations to show. A query is a value, callable on a row.

    persona:forger reward>0.5            both must hold
    ending:turn_cap OR NOT success:yes   OR binds less than a space; NOT, - and ! turn around
    (version>=10 seat.user:human) /re/   brackets; a regular expression on the newest line

A bare word is looked for in id, labels, agents and the newest line. `field:value` is equality without regard
to case, with * and ? as wildcards; `field~regex` searches, and raises TooSlow on a text that takes too long;
`< <= > >= = !=` compare numbers. Texts with spaces go in double quotes. Fields are in `FIELDS`; `label.NAME`,
`seat.NAME` and `returns.SEAT` name one of many.
"""

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.text import one_line
from simarena.tui.feed.expression import search
from simarena.tui.feed.rows import Row

TEXTS: Mapping[str, Callable[[Row], Iterable[str]]] = {
    "agent": lambda row: row.seats.values(),
    "batch": lambda row: [row.batch],
    "credited": lambda row: [row.credited],
    "ending": lambda row: [row.ending],
    "id": lambda row: [row.id],
    "kind": lambda row: [row.labels.get("kind", row.kind)],
    "label": lambda row: row.labels.values(),
    "parent": lambda row: [row.parent],
    "persona": lambda row: [row.persona],
    "result": lambda row: [row.result],
    "scenario": lambda row: [row.scenario],
    "seat": lambda row: row.seats,
    "speaker": lambda row: [row.speaker],
    "state": lambda row: [row.state],
    "success": lambda row: [{True: "yes", False: "no", None: "none"}[row.success]],
    "text": lambda row: [row.last],
}
NUMBERS: Mapping[str, Callable[[Row], float | None]] = {
    "deal": lambda row: row.deal,
    "member": lambda row: row.member,
    "reward": lambda row: row.reward,
    "turn": lambda row: row.turn,
    "version": lambda row: row.version,
}
FIELDS = (*sorted({*TEXTS, *NUMBERS}), "label.NAME", "seat.NAME", "returns.SEAT")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    ":": operator.eq,
    "!=": operator.ne,
}
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<bracket>[()])
  | (?P<turn>-(?=[^\s\d])|!(?!=))
  | (?P<regex>/(?:[^/\\]|\\.)*/)
  | (?P<field>[A-Za-z][\w.-]*)(?P<op><=|>=|!=|[:=<>~])(?P<value>"(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/|[^\s()"]+)
  | (?P<word>"(?:[^"\\]|\\.)*"|[^\s()"/][^\s()"]*)
)""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[^\s()\"/:=<>~!-][^\s()\":=<>~]*")
"""A word that may stand without quotes."""
DEEPEST = 50
"""Brackets and negations within each other at most: nobody reads more, and Python's stack is finite."""


class Query:
    """Holds, or does not hold, for a row. `str` of it is the query again."""

    def __call__(self, row: Row) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class Everything(Query):
    """The empty query."""

    def __call__(self, row: Row) -> bool:
        return True

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True)
class Word(Query):
    """A bare word."""

    text: str

    def __call__(self, row: Row) -> bool:
        wanted = self.text.casefold()
        places = (row.id, row.scenario, row.last, *row.labels.values(), *row.seats.values())
        return any(wanted in place.casefold() for place in places)

    def __str__(self) -> str:
        reserved = self.text in ("OR", "NOT", "AND")
        return self.text if _PLAIN.fullmatch(self.text) and not reserved else _quoted(self.text)


@dataclass(frozen=True)
class Term(Query):
    """A field against a value."""

    field: str
    op: str
    value: str

    def __call__(self, row: Row) -> bool:
        return self._holds(row)

    @cached_property
    def _holds(self) -> Callable[[Row], bool]:
        number, texts = _number_of(self.field), _texts_of(self.field)
        if number is not None:
            compare, wanted = _COMPARE[self.op], float(self.value)
            return lambda row: (got := number(row)) is not None and compare(got, wanted)
        assert texts is not None
        if self.op == "~":
            found = search(self.value)
            return lambda row: any(map(found, texts(row)))
        match = re.compile(fnmatch.translate(self.value.casefold())).match
        if self.op == "!=":
            return lambda row: not any(match(text.casefold()) for text in texts(row))
        return lambda row: any(match(text.casefold()) for text in texts(row))

    def __str__(self) -> str:
        if self.field == "text" and self.op == "~" and _slashed(self.value):
            return f"/{self.value}/"
        return f"{self.field}{self.op}{self.value if _bare(self.value) else _quoted(self.value)}"


@dataclass(frozen=True)
class Not(Query):
    inner: Query

    def __call__(self, row: Row) -> bool:
        return not self.inner(row)

    def __str__(self) -> str:
        return f"NOT {_wrapped(self.inner, And | Or)}"


@dataclass(frozen=True)
class And(Query):
    parts: tuple[Query, ...]

    def __call__(self, row: Row) -> bool:
        return all(part(row) for part in self.parts)

    def __str__(self) -> str:
        return " ".join(_wrapped(part, And | Or) for part in self.parts)


@dataclass(frozen=True)
class Or(Query):
    parts: tuple[Query, ...]

    def __call__(self, row: Row) -> bool:
        return any(part(row) for part in self.parts)

    def __str__(self) -> str:
        return " OR ".join(_wrapped(part, Or) for part in self.parts)


def compile_query(text: str) -> Query:
    """The query written in this text. Raises UsageError, one line that says what is wrong and where."""
    parser = _Parser(text)
    query = parser.either() if parser.left else Everything()
    if parser.left:
        raise parser.wrong("an opening bracket is missing before this one")
    return query


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._next = 0
        self._depth = 0

    def _split(self) -> Iterable[re.Match[str]]:
        place, end = 0, len(self._text.rstrip())
        while place < end:
            token = _TOKEN.match(self._text, place)
            if token is None:
                raise self._wrong_at(place, "a quote, a slash or a value is missing")
            yield token
            place = token.end()

    @property
    def left(self) -> bool:
        return self._next < len(self._tokens)

    def _peek(self, group: str, *texts: str) -> bool:
        return self.left and self._tokens[self._next][group] in texts

    def either(self) -> Query:
        parts = [self._all()]
        while self._peek("word", "OR"):
            self._next += 1
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self) -> Query:
        parts = [self._one()]
        while self.left and not self._peek("word", "OR") and not self._peek("bracket", ")"):
            if self._peek("word", "AND"):
                self._next += 1
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self) -> Query:
        if not self.left:
            raise self._wrong_at(len(self._text), "something is missing at the end")
        token = self._tokens[self._next]
        if token["bracket"] == ")" or token["word"] in ("OR", "AND"):
            raise self.wrong("something is missing before it")
        turned = bool(token["turn"] or token["word"] == "NOT")
        if turned or token["bracket"]:
            if self._depth == DEEPEST:
                raise self.wrong(f"more than {DEEPEST} brackets and negations within each other")
            self._next += 1
            self._depth += 1
            inner = Not(self._one()) if turned else self._bracketed(token)
            self._depth -= 1
            return inner
        self._next += 1
        if token["regex"]:
            return _checked(Term("text", "~", token["regex"][1:-1].replace("\\/", "/")))
        if token["word"] is not None:
            if re.fullmatch(r"[A-Za-z][\w.-]*(<=|>=|!=|[:=<>~])", token["word"]):
                raise self._wrong_at(token.start("word"), "a value is missing")
            return Word(_unquoted(token["word"]))
        return _checked(Term(token["field"], token["op"], _unquoted(token["value"])))

    def _bracketed(self, opening: re.Match[str]) -> Query:
        inner = self.either()
        if not self._peek("bracket", ")"):
            raise self._wrong_at(opening.start("bracket"), "this bracket is never closed")
        self._next += 1
        return inner

    def wrong(self, why: str) -> UsageError:
        return self._wrong_at(self._tokens[self._next].start(), why)

    def _wrong_at(self, place: int, why: str) -> UsageError:
        rest = one_line(self._text[place:], 24)
        return UsageError(f"query {one_line(self._text, 60)!r}: at {rest!r}: {why}")


def _checked(term: Term) -> Term:
    """The term, if its field exists and its value suits it."""
    number = _number_of(term.field)
    if number is None and _texts_of(term.field) is None:
        raise UnknownName("query field", term.field, FIELDS)
    if number is not None:
        try:
            float(term.value)
        except ValueError:
            raise UsageError(f"query field {term.field!r} is a number, got {one_line(term.value, 40)!r}") from None
        if term.op == "~":
            raise UsageError(f"query field {term.field!r} is a number: compare it with < <= > >= = or !=")
    elif term.op == "~":
        search(term.value)
    elif term.op in ("<", "<=", ">", ">="):
        raise UsageError(f"query field {term.field!r} is a text: use {term.field}:VALUE or {term.field}~REGEX")
    return term


def _number_of(field: str) -> Callable[[Row], float | None] | None:
    if field.startswith("returns."):
        seat = field.removeprefix("returns.")
        return lambda row: row.returns.get(seat)
    return NUMBERS.get(field)


def _texts_of(field: str) -> Callable[[Row], Iterable[str]] | None:
    group, _, name = field.partition(".")
    if name and group == "label":
        return lambda row: [row.labels.get(name, "")]
    if name and group == "seat":
        return lambda row: [row.seats.get(name, "")]
    return TEXTS.get(field)


def _unquoted(text: str) -> str:
    if text.startswith("/") and text.endswith("/") and len(text) > 1:
        return text[1:-1].replace("\\/", "/")
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL) if text.startswith('"') else text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bare(value: str) -> bool:
    return bool(re.fullmatch(r"[^\s()\"/][^\s()\"]*", value))


def _slashed(pattern: str) -> bool:
    """Whether a pattern may stand between slashes as it is."""
    return bool(re.fullmatch(r"(?:[^/\\]|\\[^/])*", pattern))


def _wrapped(query: Query, kinds: object) -> str:
    return f"({query})" if isinstance(query, kinds) else str(query)  # type: ignore[arg-type]
