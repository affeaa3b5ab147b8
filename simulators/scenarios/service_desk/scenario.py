"""The scenario `service-desk`: a customer calls, an assistant with tools serves it under a written policy.

Owns turn order, what each seat sees, rewards and the end. The customer speaks first; a tool call gives the
assistant another turn, speech alone passes the turn. Only the customer, or its patience, ends a call.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from simarena.arena.errors import UsageError
from simarena.arena.messages import WORLD, Action, Draft, Text, ToolCall, ToolResult, View, drafts, notice
from simarena.arena.protocols import Scenario, Step
from simarena.arena.specs import AgentSpec
from simarena.simulators.adversaries import ADVERSARIES
from simarena.simulators.hearing import hear, words
from simarena.simulators.personas import KINDS, PERSONAS, choose, of_kinds, of_split
from simarena.simulators.scenarios.service_desk import checks as check
from simarena.simulators.scenarios.service_desk.goals import draw
from simarena.simulators.scenarios.service_desk.lexicon import lexicon
from simarena.simulators.scenarios.service_desk.policy import INSTRUCTIONS, NOTICES
from simarena.simulators.scenarios.service_desk.state import State
from simarena.simulators.scenarios.service_desk.tools import TOOLS, Desk, use
from simarena.simulators.splits import SPLITS, Split

ASSISTANT, USER = "assistant", "user"
TURN, VIOLATION, SUCCESS = -0.02, -0.5, 1.0
"""Rewards of the assistant: each turn, each violation at its own turn, and all checks passed at the end."""


class ServiceDesk(Scenario[State]):
    """Options: `split`, `kinds` of personas (in every split; all by default), `personas` (names within the split
    and those kinds; all by default), `patience` in assistant turns, `reticent`: nobody tells anything before being
    asked, so that conversations are long.

    Raises UnknownName for a kind or a persona that is not there, UsageError for a split or patience that cannot
    be, ScenarioError if the splits overlap.
    """

    name = "service-desk"
    seats = (ASSISTANT, USER)

    def __init__(
        self,
        split: Split = "train",
        kinds: Sequence[str] = KINDS,
        personas: Sequence[str] | None = None,
        patience: int = 10,
        reticent: bool = False,
    ) -> None:
        if split not in SPLITS:
            raise UsageError(f"unknown split {split!r}: one of {', '.join(SPLITS)}")
        if patience < 1:
            raise UsageError(f"patience must be at least 1 assistant turn, got {patience}")
        self.split, self.patience = split, patience
        self.personas = choose(personas, of_kinds(kinds, of_split(split, PERSONAS + ADVERSARIES)))
        if not self.personas:
            raise UsageError("personas is empty: name at least one, or leave it out for all of the split")
        if reticent:
            self.personas = tuple(persona.model_copy(update={"opens_with": ()}) for persona in self.personas)

    def deal(self, rng: random.Random) -> State:
        deal = draw(rng, self.split, self.personas)
        return State(deal, Desk(deal.database))

    def to_act(self, state: State) -> frozenset[str]:
        return frozenset((state.mover,))

    def view(self, state: State, seat: str) -> View:
        return View(private=state.deal.private) if seat == USER else self._assistant_view

    @cached_property
    def _assistant_view(self) -> View:
        return View(instructions=INSTRUCTIONS, tools=TOOLS)

    def apply(self, state: State, actions: Mapping[str, Action]) -> Step[State]:
        (seat,) = actions
        return self._serve(state, actions[seat]) if seat == ASSISTANT else self._hear(state, actions[seat])

    def _serve(self, state: State, action: Action) -> Step[State]:
        """The assistant's turn: what it says is heard, its calls are carried out in order."""
        said = _spoken(action)
        notices = _notices(action, said)
        after = _say(replace(state, turns=state.turns + 1, last="", mover=ASSISTANT), said)
        messages = list(drafts(ASSISTANT, Action(parts=said)))
        for call in action.calls:
            after, answers = _call(after, call)
            messages += answers
        messages += [notice(text, (ASSISTANT,)) for text in notices]
        if said and not action.calls:
            after = replace(after, mover=USER)
        before, now = check.potential(state), check.potential(after)
        violation = VIOLATION * (len(after.violations) - len(state.violations))
        parts = {"turn": TURN, "progress": now - before, "violation": violation}
        return self._step(after, messages, TURN + now - before + violation, parts)

    def _hear(self, state: State, action: Action) -> Step[State]:
        """The customer's turn."""
        said = _spoken(action)
        after = replace(
            state,
            mover=ASSISTANT,
            last="speech",
            heard=state.heard | _disclosed(state, Action(parts=said).text),
            left=action.leave,
        )
        messages = list(drafts(USER, Action(parts=said)))
        if action.calls:
            messages.append(notice(NOTICES["no tools"], (USER,)))
        return self._step(after, messages, 0.0, {})

    def _step(
        self, after: State, messages: Sequence[Draft], reward: float, parts: Mapping[str, float]
    ) -> Step[State]:
        """Closes the turn; the call is over once the customer left, or before a turn beyond its patience."""
        if not after.left and (after.mover == USER or after.turns < self.patience):
            paid = {ASSISTANT: reward} if reward else {}
            return Step(after, tuple(messages), paid, parts=_parts(parts))
        results = check.checks(after)
        success = all(results.values())
        harmed = not (results["database"] and results["no_violation"])
        return Step(
            after,
            tuple(messages),
            {ASSISTANT: reward + SUCCESS * success},
            ending="finished",
            checks=results,
            outcome={ASSISTANT: float(success), USER: float(success if after.deal.owed else harmed)},
            parts=_parts({**parts, "success": SUCCESS * success}),
        )

    def cast(self) -> Mapping[str, AgentSpec]:
        """The customer is a persona user unless the caller seats someone else."""
        return {USER: AgentSpec(agent="simarena.simulators.users:PersonaUser")}

    def labels(self, state: State) -> Mapping[str, str]:
        """`persona`, its `kind` and `twin`, `task`, `split`, and whether the request is `owed`."""
        deal = state.deal
        return {
            "persona": deal.persona.name,
            "kind": deal.persona.kind,
            "twin": deal.persona.twin,
            "task": deal.goal.task,
            "split": self.split,
            "owed": "yes" if deal.owed else "no",
        }

    def state_key(self, state: State, seat: str) -> str:
        """Task, who is known, what was done and said, and what the seat answers; no names or values."""
        desk, goal = state.desk, state.deal.goal
        flags = (
            ("opened", desk.open == goal.account),
            ("verified", goal.account in desk.verified),
            ("right", check.database_right(state)),
            ("told", check.told(state)),
            ("violated", bool(state.violations)),
            ("refused", state.refused),
        )
        known = "+".join(sorted(state.heard))
        phase = "+".join(name for name, holds in flags if holds)
        return f"{goal.task}/{known}/{phase}/{state.mismatches}/{state.last}"

    def secrets(self, state: State, seat: str) -> tuple[str, ...]:
        """The customer's codes; the assistant's confirmation numbers."""
        deal = state.deal
        if seat == USER:
            return (deal.errand.facts["code"], *deal.errand.wrong)
        return deal.database.numbers

    def lexicon(self) -> tuple[str, ...]:
        """Every word that any text of this scenario can hold, both splits, sorted."""
        return lexicon()


def _parts(parts: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
    """What the assistant's reward is made of; what came to nothing is left out."""
    earned = {name: value for name, value in parts.items() if value}
    return {ASSISTANT: earned} if earned else {}


def _spoken(action: Action) -> tuple[Text, ...]:
    return tuple(part for part in action.parts if isinstance(part, Text) and part.text.strip())


def _notices(action: Action, said: tuple[Text, ...]) -> list[str]:
    """What to tell an assistant that did nothing, or tried to end the call."""
    texts = [NOTICES["leave"]] if action.leave else []
    return texts if said or action.calls or texts else [NOTICES["empty"]]


def _say(state: State, said: tuple[Text, ...]) -> State:
    if not said:
        return state
    text = Action(parts=said).text
    # Only the number and no other: reciting all there are tells nobody anything.
    fact_told = state.fact_told or {word for word in words(text) if word.isdigit()} == {state.fact}
    return replace(state, refused=state.refused or hear(text).refusal, fact_told=fact_told)


def _call(state: State, call: ToolCall) -> tuple[State, tuple[Draft, ...]]:
    """One tool call with its answer, which only the assistant hears."""
    result = use(state.desk, call)
    answer = ToolResult(name=call.name, content=result.text, error=result.error)
    after = replace(
        state,
        desk=result.desk,
        last=result.outcome,
        mismatches=state.mismatches + (result.outcome == "no match"),
        violations=state.violations + ((result.violation,) if result.violation else ()),
        fact=result.fact or state.fact,
        fact_told=state.fact_told and not result.fact,
    )
    return after, (
        Draft(seat=ASSISTANT, kind="tool_call", parts=(call,), audience=(ASSISTANT,)),
        Draft(seat=WORLD, kind="tool_result", parts=(answer,), audience=(ASSISTANT,)),
    )


def _disclosed(state: State, text: str) -> frozenset[str]:
    """Names of the facts in what the customer says."""
    errand, spoken = state.deal.errand, set(words(text))
    named = {name for name, value in errand.facts.items() if value in spoken}
    named |= {f"new {name}" for name, value in errand.later.items() if value in spoken}
    return frozenset(named | {"wrong code" for value in errand.wrong if value in spoken})
