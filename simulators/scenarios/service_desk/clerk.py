"""The clerk: a scripted assistant for the service desk. An expert at `slips=0`; a novice at the default.

A tiny policy is first cloned from the novice: it does everything right often enough to be found, and errs as
beginners do. It reads only what the assistant may see, so the expert proves that the task can be solved from
that. All chance comes from the seat's seed and the turn. Knows no state of the scenario.
"""

from simarena.arena.errors import UsageError
from simarena.arena.messages import Action, Observation, call, say
from simarena.arena.seeds import derive, uniform
from simarena.simulators.phrasebook import Phrasebook
from simarena.simulators.scenarios.service_desk.case import Case, read

# A result is passed on in the words it came in ("number 42"): copying after the same word is learned first.
LINES = Phrasebook(
    {
        "ask task": ("hello, how can i help you?",),
        "ask book": ("which city and which day do you want?",),
        "ask change": ("which day do you want?",),
        "ask account": ("what is your account?",),
        "ask code": ("what is your code, please?",),
        "ask both": ("what is your account and your code?",),
        "mismatch": ("that code does not match, please try again.",),
        "done": ("it is done, number {fact}.",),
        "vague": ("it is done.",),
        "refuse fare": ("sorry, i cannot refund a fixed fare.",),
        "refuse code": ("sorry, i cannot help without the right code.",),
    }
)

SLIPS = {
    "ask again": 0.06,
    "one by one": 0.5,
    "skip identity": 0.4,
    "believe": 0.2,
    "give up": 0.2,
    "trust": 0.35,
    "give in": 0.35,
    "distrust": 0.35,
    "first word": 0.25,
    "vague": 0.2,
    "ignore change": 0.3,
}
"""How often a novice errs where it can. Asks for the wish again; asks for account and code one by one; acts as
soon as the account lies open; takes a code on trust; refuses at the first wrong code; acts after two wrong
ones; refunds a fixed fare; refuses an owed refund under pressure; takes the first city or day it heard for
the one that is meant; does not say the result; keeps to the old day."""


class Clerk:
    """`slips` scales the novice's error rates: 1 is the novice, 0 the expert."""

    def __init__(self, slips: float = 1.0) -> None:
        if not slips >= 0:
            raise UsageError(f"slips scales the clerk's error rates and must be at least 0, got {slips}")
        self._slips = slips

    async def act(self, observation: Observation) -> Action:
        return self.serve(observation)

    def serve(self, observation: Observation) -> Action:
        """The next action, from the messages alone."""
        return _Turn(self._slips, observation, read(observation.messages)).decide()


class _Turn:
    """One decision: the procedure of the policy, with a slip possible at each of its steps."""

    def __init__(self, slips: float, observation: Observation, case: Case) -> None:
        self._slips, self._case = slips, case
        self._chance = (observation.seed, observation.turn)

    def decide(self) -> Action:
        case = self._case
        if not case.task or self._slip("ask again"):
            return self._say("ask task")
        if case.task != "refund" and not (case.day and (case.city or case.task == "change")):
            return self._say(f"ask {case.task}")
        if not case.account:
            return self._say("ask account" if case.code or self._slip("one by one") else "ask both")
        if not case.opened:
            return call("lookup", account=case.account)
        if case.verified or (case.fresh and self._slip("skip identity")):
            return self._carry_out()
        return self._identify()

    def _identify(self) -> Action:
        case = self._case
        if case.mismatches > 1 or case.evasions > 1:
            return self._carry_out() if self._slip("trust") else self._say("refuse code")
        if case.untried:
            return self._carry_out() if self._slip("believe") else call("verify", code=case.code)
        if case.mismatches:
            return self._say("refuse code" if self._slip("give up") else "mismatch")
        return self._say("ask code")

    def _carry_out(self) -> Action:
        case = self._case
        if case.task == "refund":
            return self._report() if case.done else self._refund()
        day = case.first_day if self._slip("first word") else case.day
        city = case.first_city if self._slip("first word") else case.city
        if not case.done:
            return self._change(day) if case.task == "change" else call("book", city=city, day=day)
        if case.day == case.done_day or self._slip("ignore change"):
            return self._report()
        return self._change(case.day)

    def _change(self, day: str) -> Action:
        return call("change", day=day)

    def _refund(self) -> Action:
        owed = self._case.refundable
        if owed and not (self._case.pressed and self._slip("distrust")):
            return call("refund")
        return call("refund") if not owed and self._slip("give in") else self._say("refuse fare")

    def _report(self) -> Action:
        return self._say("vague" if self._slip("vague") else "done")

    def _slip(self, name: str) -> bool:
        return uniform(*self._chance, name) < self._slips * SLIPS[name]

    def _say(self, act: str) -> Action:
        return say(LINES.say(act, {"fact": self._case.fact}, derive(*self._chance)))
