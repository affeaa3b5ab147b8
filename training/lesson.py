"""A lesson: one step's conversations, from the deals to play to credited samples, and their fates.

Asks for replacement deals while groups are dropped and refill rounds are left. Every number comes from
(recipe, step), so a lesson repeated after a kill is the same lesson. Knows no arena and no model.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from simarena.arena.episodes import Episode
from simarena.arena.ledger import Fate, Ledger
from simarena.arena.seeds import rng
from simarena.training import monitors
from simarena.training.accounts import Account, accounts
from simarena.training.config import Recipe
from simarena.training.credit import Evidence, GroupCredit, TurnCredit, assign
from simarena.training.credit.statistics import CreditOptions
from simarena.training.deals import Deals
from simarena.training.filters import fates, ranked, rejection, repaired
from simarena.training.groups import Group, form
from simarena.training.privileged import hint
from simarena.training.samples import Sample, samples
from simarena.training.seating import named


class Lesson:
    """The books of one step."""

    def __init__(self, recipe: Recipe, step: int, ledger: Ledger, evidence: Evidence | None = None) -> None:
        self._recipe, self.step, self._ledger = recipe, step, ledger
        self._evidence = evidence or Evidence()
        self._deals = Deals(recipe, step)
        self._groups: list[Group] = []
        self._rejections: list[str] = []
        self.credits: list[tuple[Group, GroupCredit]] = []
        """Each group trained on and its credit, with reasons; after `samples`."""
        self.fates: dict[str, str] = {}
        """What became of each episode, as the ledger names it; after `samples`."""
        self._numbers: dict[int, int] = {}
        self._rounds = 0
        self._thinned = False
        self.episodes: list[Episode] = []
        """All conversations of the step so far."""
        self.seconds = 0.0
        """How long it took to play them."""

    def wanted(self) -> list[int]:
        """The deals to play next; none when there are enough groups or no refill round is left."""
        rollout = self._recipe.rollout
        if self._rounds > self._recipe.filters.refill:
            return []
        kept = {group.key.deal for group, why in self._judged() if not why}
        missing = rollout.deals - len(kept)
        deals = self._deals.take(missing)
        for deal in deals:
            self._numbers[deal] = len(self._numbers)
        self._rounds += 1
        for deal in deals:
            for member in range(rollout.group):
                self._ledger.dispatch(f"{self.prefix}/{deal}/{member}")
        return deals

    @property
    def prefix(self) -> str:
        """First part of the step's episode ids."""
        return f"train-{self.step}"

    def number(self, deal: int) -> int:
        """The place of a deal among those asked for in this step."""
        return self._numbers[deal]

    def take(self, episodes: Sequence[Episode]) -> None:
        """Add the conversations of the deals asked for last."""
        self.episodes += episodes
        by_deal: dict[int, list[Episode]] = defaultdict(list)
        for episode in episodes:
            by_deal[episode.deal].append(episode)
        for deal in sorted(by_deal):
            for seat, name in self._recipe.learning.items():
                if by_deal[deal][0].seats[seat].spec.policy != name:  # a member of the population sat there
                    continue
                group = form(by_deal[deal], seat, self._recipe.filters.truncated == "fail")
                self._groups.append(group)
                self._rejections.append(rejection(group, self._recipe.filters, self._credit(name).compares))

    def _credit(self, name: str) -> CreditOptions:
        return self._recipe.learner(name).credit_at(self.step)

    def drafts(self, name: str) -> list[Sample]:
        """A learner's trajectories in the groups that are kept, without credit, for its critic to read."""
        blank = TurnCredit(advantage=0.0)
        return [
            sample
            for group in self.kept(name)
            for sample in samples(group, tuple((blank,) * len(e.turns_of(group.seat)) for e in group.members))
        ]

    def hints(self, name: str) -> dict[str, str]:
        """What a privileged critic may read first, by rollout."""
        return {f"{e.id}/{group.seat}": hint(e, group.seat) for group in self.kept(name) for e in group.members}

    def samples(self, evidence: Mapping[str, Evidence] | None = None) -> dict[str, list[Sample]]:
        """Credit the groups that are kept, settle every episode's fate; what each learner learns from.

        `evidence` is all that each learner's rule may know; the lesson's own if there is nothing more.
        """
        known = evidence or {}
        learned = {name: self._credited(name, known.get(name, self._evidence)) for name in self._recipe.roster}
        self._settle()
        return learned

    def _credited(self, name: str, evidence: Evidence) -> list[Sample]:
        """What one learner learns from; groups are credited learner by learner, so no statistic mixes two."""
        kept = self.kept(name)
        chance = rng("shuffle", self._recipe.seed, self.step)
        credits = assign(kept, self._credit(name), chance, evidence)
        if self._recipe.filters.repair:
            credits = [repaired(group, credit) for group, credit in zip(kept, credits, strict=True)]
        pairs = list(zip(kept, credits, strict=True))
        self.credits += pairs
        return [sample for group, credit in pairs for sample in samples(group, credit)]

    def kept(self, name: str) -> list[Group]:
        """The groups a learner learns from, once all are played: those with a signal that hold up against the
        rest of its step."""
        if not self._thinned:
            late = {one: iter(ranked(self._promising(one), self._recipe.filters)) for one in self._recipe.roster}
            self._rejections = [why or next(late[group.key.policy]) for group, why in self._judged()]
            self._thinned = True
        return self._promising(name)

    def _promising(self, name: str) -> list[Group]:
        return [group for group, why in self._judged() if not why and group.key.policy == name]

    def accounts(self) -> list[Account]:
        """How every group was credited, learner by learner, for the run folder; after `samples`."""
        told: list[Account] = []
        for name in self._recipe.roster:
            judged = [(group, why) for group, why in self._judged() if group.key.policy == name]
            credits = [(group, credit) for group, credit in self.credits if group.key.policy == name]
            told += accounts(self.step + 1, self._credit(name), judged, credits)
        return told

    def _settle(self) -> None:
        """One fate an episode: trained if it is for any of its learning seats."""
        settled: dict[str, tuple[Fate, str]] = {}
        for group, why in self._judged():
            for episode, fate in fates(group, why).items():
                if episode not in settled or fate[0] == "trained":
                    settled[episode] = fate
        for episode in sorted(settled):
            what, reason = settled[episode]
            self._ledger.settle(episode, what, reason)
            self.fates[episode] = f"{what}({reason})" if reason else what

    def _judged(self) -> list[tuple[Group, str]]:
        return list(zip(self._groups, self._rejections, strict=True))

    @property
    def tokens(self) -> int:
        """Tokens sampled by the learners."""
        return sum(count for count, _ in self._sampled())

    def _sampled(self) -> Iterator[tuple[int, int]]:
        """(tokens, version) of each turn of the learners."""
        names = self._recipe.roster
        for episode in self.episodes:
            for turn in episode.turns:
                if turn.record is not None and turn.record.policy in names:
                    yield len(turn.record.sampled), turn.record.version

    def metrics(self) -> dict[str, float]:
        """What the step's conversations say about training; after `samples`."""
        names = self._recipe.roster
        ages = [(count, self.step - version) for count, version in self._sampled()]
        return {
            **self._reported(None),
            **(named({name: self._reported(name) for name in names}) if len(names) > 1 else {}),
            "groups/kept": float(self._rejections.count("")),
            "groups/played": float(len(self._groups)),
            "groups/ranked_out": float(sum(why in ("snr", "uncertain") for why in self._rejections)),
            "rollout/age": sum(count * age for count, age in ages) / max(1, self.tokens),
            "rollout/age_max": float(max((age for _, age in ages), default=0)),
            "rollout/turn_cap": float(self._recipe.rollout.limits_at(self.step).turns),
            "tokens/sampled": float(self.tokens),
        }

    def _reported(self, name: str | None) -> dict[str, float]:
        """Groups and credit of one learner, or of all."""
        mine = [(group, why) for group, why in self._judged() if name in (None, group.key.policy)]
        return {
            **monitors.of_groups([group for group, _ in mine], [why for _, why in mine]),
            **monitors.of_credit([credit for group, credit in self.credits if name in (None, group.key.policy)]),
        }

    def by_persona(self) -> Mapping[str, float]:
        """Success share by persona."""
        return monitors.by_label(self._groups, "persona")
