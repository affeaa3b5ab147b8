"""Conformance: whether a scenario keeps its contract. For scenario authors; call it from a test.

Plays deals with seeded random actions, well-formed and not, and holds every answer against the rules of
`protocols.Scenario` and `topology`. Knows no concrete scenario and no agent.
"""

import copy
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from simarena.arena.errors import ScenarioError
from simarena.arena.messages import WORLD, Action, Draft, Message, Observation, Text, ToolCall, ToolResult, View
from simarena.arena.protocols import Scenario, Step
from simarena.arena.seeds import cards, derive

Player = Callable[[Observation], Action]
"""Plays one seat in the check, where random actions would not get far."""


def check_scenario(
    scenario: Scenario[Any],
    *,
    deals: Iterable[int] = range(20),
    players: Mapping[str, Player] | None = None,
    turns: int = 60,
) -> None:
    """Raise ScenarioError naming the first broken rule, the deal and the turn.

    Each deal is played twice by random actions and, if `players` are given, once by them (seats they leave
    out play at random). Rules: `seats`, `deal` (equal seeds, equal states), `to_act`, `view`, `labels`,
    `apply` (deterministic; answers invalid actions), `mutation`, `fork`, `speaker`, `audience`, `reward`,
    `ending`, `secrets`. An episode need not end within `turns`, but at least one must.
    """
    _check_seats(scenario)
    ended = 0
    for deal in deals:
        for run in range(3 if players else 2):
            cast = dict(players or {}) if run == 2 else {}
            ended += _Rehearsal(scenario, deal, run, cast).play(turns)
    if not ended:
        _broken(scenario, "ending", f"no episode of {list(deals)} ended within {turns} turns")


@dataclass
class _Rehearsal:
    """One deal being played and checked."""

    scenario: Scenario[Any]
    number: int
    run: int
    players: Mapping[str, Player]
    turn: int = 0
    messages: list[Message] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    """All text each seat has put out."""

    def play(self, turns: int) -> bool:
        """Play to the end or the cap; whether it ended."""
        state = self._deal()
        self._hear(self._call("opening", lambda: self.scenario.opening(state)), frozenset())
        kept: list[tuple[Any, dict[str, Action], Step[Any]]] = []
        while self.turn < turns:
            self.turn += 1
            movers = self._movers(state)
            views = {seat: self._view(state, seat) for seat in self.scenario.seats}
            self._check_names(state)
            self._check_secrets(state, views)
            self._provoke(state, movers)
            actions = {seat: self._choose(seat, views[seat]) for seat in movers}
            step = self._apply(state, actions)
            kept.append((state, actions, step))
            self._note(actions)
            self._hear(step.messages, frozenset(actions))
            state = step.state
            if step.ending is not None:
                break
        self._check_secrets(state, {})
        self._check_forks(kept)
        return bool(kept) and kept[-1][2].ending is not None

    def _deal(self) -> Any:
        first = self._call("deal", lambda: self.scenario.deal(self._rng()))
        random.seed(derive("conformance", self.number))  # a deal that draws from the global generator shows
        second = self._call("deal", lambda: self.scenario.deal(self._rng()))
        if first != second:
            self._fail("deal", "two deals from equal generators differ; draw all chance from the argument")
        return first

    def _rng(self) -> random.Random:
        return cards(self.scenario.name, self.number)

    def _movers(self, state: Any) -> tuple[str, ...]:
        seats = self._call("to_act", lambda: self.scenario.to_act(state))
        if not isinstance(seats, frozenset) or not seats or not seats <= set(self.scenario.seats):
            self._fail("to_act", f"returned {seats!r}; expected a frozenset of some of {self.scenario.seats}")
        return tuple(sorted(seats))

    def _view(self, state: Any, seat: str) -> View:
        view = self._unmoved("view", state, lambda: self.scenario.view(state, seat))
        if not isinstance(view, View):
            self._fail("view", f"returned {type(view).__name__} for seat {seat!r}, expected View")
        if view != self.scenario.view(state, seat):
            self._fail("view", f"seat {seat!r} sees two different views of one state")
        return view

    def _check_names(self, state: Any) -> None:
        labels = self._unmoved("labels", state, lambda: self.scenario.labels(state))
        if not all(isinstance(text, str) for pair in labels.items() for text in pair):
            self._fail("labels", f"must map text to text, got {dict(labels)!r}")
        for seat in self.scenario.seats:
            key = self._unmoved("state_key", state, partial(self.scenario.state_key, state, seat))
            if not isinstance(key, str):
                self._fail("state_key", f"must be text for seat {seat!r}, got {key!r}")

    def _check_secrets(self, state: Any, views: Mapping[str, View]) -> None:
        """No other seat may see or hear a secret that its owner has not put out itself."""
        for owner in self.scenario.seats:
            told = self.said.get(owner, "")
            hidden = [secret for secret in self.scenario.secrets(state, owner) if not _holds(told, secret)]
            for seat in self.scenario.seats:
                if seat != owner and hidden:
                    self._check_leak(owner, seat, hidden, views.get(seat))

    def _check_leak(self, owner: str, seat: str, hidden: Sequence[str], view: View | None) -> None:
        places = [("view", view.model_dump_json())] if view else []
        places += [(f"message {m.id}", _text(m.parts)) for m in self.messages if m.audible(seat)]
        own = self.said.get(seat, "")
        for place, text in places:
            for secret in hidden:
                if _holds(text, secret) and not _holds(own, secret):
                    self._fail("secrets", f"seat {seat!r} can read {secret!r} of seat {owner!r} in its {place}")

    def _provoke(self, state: Any, movers: tuple[str, ...]) -> None:
        """Every kind of invalid action, from each mover, must be answered with a step."""
        for seat in movers:
            for name, action in _INVALID.items():
                actions = {other: Action() for other in movers} | {seat: action}
                self._apply(state, actions, f"{name} from seat {seat!r}")

    def _choose(self, seat: str, view: View) -> Action:
        seed = derive("conformance", self.number, self.run, self.turn, seat)
        heard = tuple(message for message in self.messages if message.audible(seat))
        if seat not in self.players:
            return _random_action(random.Random(seed), view, heard)
        return self.players[seat](
            Observation(
                episode=f"check/{self.number}",
                scenario=self.scenario.name,
                seat=seat,
                turn=self.turn,
                seed=seed,
                view=view,
                messages=heard,
            )
        )

    def _apply(self, state: Any, actions: dict[str, Action], what: str = "an action") -> Step[Any]:
        step = self._unmoved("apply", state, lambda: self.scenario.apply(state, actions), what)
        if not isinstance(step, Step):
            self._fail("apply", f"returned {type(step).__name__} for {what}, expected Step")
        if step != self.scenario.apply(state, actions):
            self._fail("apply", f"{what} applied twice to one state gives two different steps")
        self._check_rewards(step)
        self._check_ending(step)
        for draft in step.messages:
            self._check_draft(draft, frozenset(actions))
        return step

    def _check_rewards(self, step: Step[Any]) -> None:
        for seat, reward in step.rewards.items():
            if seat not in self.scenario.seats:
                self._fail("reward", f"for unknown seat {seat!r}; seats: {self.scenario.seats}")
            if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
                self._fail("reward", f"of seat {seat!r} must be a finite number, got {reward!r}")

    def _check_ending(self, step: Step[Any]) -> None:
        if step.ending is None:
            return
        if step.ending != "finished":
            self._fail("ending", f"a scenario ends with 'finished', got {step.ending!r}")
        if not step.checks or not all(type(passed) is bool for passed in step.checks.values()):
            self._fail("ending", f"needs named checks that are true or false, got {dict(step.checks)!r}")
        if not step.outcome or not set(step.outcome) <= set(self.scenario.seats):
            self._fail("ending", f"needs an outcome for some of {self.scenario.seats}, got {dict(step.outcome)!r}")
        for seat, value in step.outcome.items():
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                self._fail("ending", f"outcome of seat {seat!r} must be in [0, 1], got {value!r}")

    def _check_draft(self, draft: Draft, movers: frozenset[str]) -> None:
        if draft.seat != WORLD and draft.seat not in movers:
            self._fail("speaker", f"a message of seat {draft.seat!r} in a turn of {sorted(movers)}")
        if draft.seat == WORLD and draft.kind not in ("tool_result", "notice"):
            self._fail("speaker", f"the world gives tool results and notices, got {draft.kind!r}")
        try:
            self.scenario.topology().audience(draft.seat, draft.audience)
        except ScenarioError as error:
            self._fail("audience", str(error))

    def _hear(self, drafts: Sequence[Draft], movers: frozenset[str]) -> None:
        topology = self.scenario.topology()
        for number, draft in enumerate(drafts, 1):
            self._check_draft(draft, movers)
            audience = topology.audience(draft.seat, draft.audience)
            self.messages.append(
                Message(
                    episode=f"check/{self.number}",
                    id=f"{self.turn}-{number}",
                    seat=draft.seat,
                    kind=draft.kind,
                    parts=draft.parts,
                    audience=audience,
                )
            )

    def _note(self, actions: Mapping[str, Action]) -> None:
        for seat, action in actions.items():
            self.said[seat] = f"{self.said.get(seat, '')} {_text(action.parts)}"

    def _check_forks(self, kept: Sequence[tuple[Any, dict[str, Action], Step[Any]]]) -> None:
        """Going on from a kept state later must give what it gave at first."""
        for turn, (state, actions, step) in enumerate(kept, 1):
            self.turn = turn
            if self._call("fork", partial(self.scenario.apply, state, actions)) != step:
                self._fail("fork", "a state kept from earlier goes on differently after the episode went on")

    def _unmoved(self, rule: str, state: Any, work: Callable[[], Any], what: str = "") -> Any:
        """The result of work that must leave the state as it was."""
        before = copy.deepcopy(state)
        result = self._call(rule, work, what)
        if state != before:
            self._fail("mutation", f"{rule} changed the state it was given{f' by {what}' if what else ''}")
        return result

    def _call(self, rule: str, work: Callable[[], Any], what: str = "") -> Any:
        try:
            return work()
        except Exception as error:
            on = f" on {what}" if what else ""
            self._fail(rule, f"raised {type(error).__name__}: {error}{on}", error)

    def _fail(self, rule: str, what: str, cause: Exception | None = None) -> NoReturn:
        _broken(self.scenario, rule, f"deal {self.number}, turn {self.turn}: {what}", cause)


def _broken(scenario: Scenario[Any], rule: str, what: str, cause: Exception | None = None) -> NoReturn:
    raise ScenarioError(f"scenario {scenario.name!r} breaks rule {rule!r}: {what}") from cause


def _check_seats(scenario: Scenario[Any]) -> None:
    seats = scenario.seats
    if not isinstance(seats, tuple) or not seats or len(set(seats)) != len(seats) or WORLD in seats:
        _broken(scenario, "seats", f"must be a tuple of distinct names, none of them {WORLD!r}; got {seats!r}")
    if set(scenario.topology().graph) != set(seats):
        _broken(scenario, "seats", f"topology has {sorted(scenario.topology().graph)}, seats are {sorted(seats)}")


_INVALID: dict[str, Action] = {
    "an empty action": Action(),
    "blank speech": Action(parts=(Text(text="  "),)),
    "a call of an unknown tool": Action(parts=(ToolCall(name="no-such-tool", arguments={"x": 1}),)),
    "leaving": Action(leave=True),
    "odd text": Action(parts=(Text(text="\x00\u202e{city} %s {0} </s> @refund"),)),
}


def _random_action(chance: random.Random, view: View, heard: Sequence[Message]) -> Action:
    """Says words it has heard, calls its tools with right and wrong arguments, sometimes leaves."""
    words = [word for message in heard for word in _text(message.parts).split()] or ["hello"]
    if view.tools and chance.random() < 0.6:
        tool = chance.choice(view.tools)
        arguments = {name: _argument(chance, words) for name in tool.parameters}
        if arguments and chance.random() < 0.2:
            arguments.pop(chance.choice(list(arguments)))
        return Action(parts=(ToolCall(name=tool.name, arguments=arguments),))
    spoken = " ".join(chance.choices(words, k=chance.randint(1, 8)))
    return Action(parts=(Text(text=spoken),), leave=chance.random() < 0.15)


def _argument(chance: random.Random, words: Sequence[str]) -> Any:
    odd: tuple[Any, ...] = (None, 7, -1.5, True, "", [], {"a": [1]})
    return chance.choice(odd) if chance.random() < 0.2 else chance.choice(words).strip(".,?!")


def _holds(text: str, secret: str) -> bool:
    """Whether the secret stands in the text as words of its own."""
    return re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text) is not None


def _text(parts: Iterable[Text | ToolCall | ToolResult | Any]) -> str:
    """Everything in these parts that can be read."""
    return " ".join(part.text if isinstance(part, Text) else part.model_dump_json() for part in parts)
