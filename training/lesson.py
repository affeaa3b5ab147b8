"""A lesson: one step's conversations, from the deals to play to credited samples, and their fates.

Asks for replacement deals while groups are dropped and refill rounds are left. Every number comes from
(recipe, step), so a lesson repeated after a kill is the same lesson. Knows no arena and no model.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from simarena.arena.episodes import Episode
from simarena.arena.ledger import Fate, Ledger
from simarena.arena.seeds import derive, rng
from simarena.training import monitors
from simarena.training.accounts import Account, accounts
from simarena.training.config import Recipe
from simarena.training.credit import Evidence, GroupCredit, TurnCredit, assign
from simarena.training.credit.statistics import CreditOptions
from simarena.training.filters import fates, ranked, rejection, repaired
from simarena.training.groups import Group, form
from simarena.training.privileged import hint
from simarena.training.samples import Sample, samples


class Lesson:
    """The books of one step."""

    def __init__(self, recipe: Recipe, step: int, ledger: Ledger, evidence: Evidence | None = None) -> None:
        self._recipe, self._step, self._ledger = recipe, step, ledger
        self._evidence = evidence or Evidence()
        self._groups: list[Group] = []
        self._rejections: list[str] = []
        self.credits: list[tuple[Group, GroupCredit]] = []
        """Each group trained on and its credit, with reasons; after `samples`."""
        self.fates: dict[str, str] = {}
        """What became of each episode, as the ledger names it; after `samples`."""
        self._dealt = self._rounds = 0
        self._thinned = False
        self.episodes: list[Episode] = []
        """All conversations of the step so far."""

    def wanted(self) -> list[int]:
        """The deals to play next; none when there are enough groups or no refill round is left."""
        rollout = self._recipe.rollout
        if self._rounds > self._recipe.filters.refill:
            return []
        kept = {group.key.deal for group, why in self._judged() if not why}
        missing = rollout.deals - len(kept)
        deals = [self._deal(self._dealt + i) for i in range(missing)]
        self._dealt += missing
        self._rounds += 1
        for deal in deals:
            for member in range(rollout.group):
                self._ledger.dispatch(f"{self.prefix}/{deal}/{member}")
        return deals

    @property
    def prefix(self) -> str:
        """First part of the step's episode ids."""
        return f"train-{self._step}"

    def _deal(self, number: int) -> int:
        return derive("deals", self._recipe.seed, self._step, number) % 2**31

    def take(self, episodes: Sequence[Episode]) -> None:
        """Add the conversations of the deals asked for last."""
        self.episodes += episodes
        by_deal: dict[int, list[Episode]] = defaultdict(list)
        for episode in episodes:
            by_deal[episode.deal].append(episode)
        for deal in sorted(by_deal):
            for seat in self._recipe.learners:
                group = form(by_deal[deal], seat, self._recipe.filters.truncated == "fail")
                self._groups.append(group)
                self._rejections.append(rejection(group, self._recipe.filters, self._credit.compares))

    @property
    def _credit(self) -> CreditOptions:
        return self._recipe.credit_at(self._step)

    def drafts(self) -> list[Sample]:
        """The trajectories of the groups that are kept, without credit, for a critic to read."""
        blank = TurnCredit(advantage=0.0)
        return [
            sample
            for group in self.kept()
            for sample in samples(group, tuple((blank,) * len(e.turns_of(group.seat)) for e in group.members))
        ]

    def hints(self) -> dict[str, str]:
        """What a privileged critic may read first, by rollout."""
        return {f"{e.id}/{group.seat}": hint(e, group.seat) for group in self.kept() for e in group.members}

    def samples(self, evidence: Evidence | None = None) -> list[Sample]:
        """Credit the groups that are kept, settle every episode's fate, and return what to learn from.

        `evidence` is all that the step's rule may know; the lesson's own if there is nothing more.
        """
        kept = self.kept()
        chance = rng("shuffle", self._recipe.seed, self._step)
        credits = assign(kept, self._credit, chance, evidence or self._evidence)
        if self._recipe.filters.repair:
            credits = [repaired(group, credit) for group, credit in zip(kept, credits, strict=True)]
        self.credits = list(zip(kept, credits, strict=True))
        self._settle()
        return [sample for group, credit in self.credits for sample in samples(group, credit)]

    def kept(self) -> list[Group]:
        """The groups to learn from, once all are played: those with a signal that hold up against the rest."""
        if not self._thinned:
            late = iter(ranked([group for group, why in self._judged() if not why], self._recipe.filters))
            self._rejections = [why or next(late) for why in self._rejections]
            self._thinned = True
        return [group for group, why in self._judged() if not why]

    def accounts(self) -> list[Account]:
        """How every group was credited, for the run folder; after `samples`."""
        return list(accounts(self._step + 1, self._credit, self._judged(), self.credits))

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
        """Tokens sampled by the learning policy."""
        seats = self._recipe.learners
        return sum(
            len(turn.record.sampled)
            for episode in self.episodes
            for turn in episode.turns
            if turn.record is not None and turn.seat in seats
        )

    def metrics(self) -> dict[str, float]:
        """What the step's conversations say about training; after `samples`."""
        return {
            **monitors.of_groups(self._groups, self._rejections),
            **monitors.of_credit([credit for _, credit in self.credits]),
            "groups/kept": float(self._rejections.count("")),
            "groups/played": float(len(self._groups)),
            "groups/ranked_out": float(sum(why in ("snr", "uncertain") for why in self._rejections)),
            "rollout/turn_cap": float(self._recipe.rollout.limits_at(self._step).turns),
            "tokens/sampled": float(self.tokens),
        }

    def by_persona(self) -> Mapping[str, float]:
        """Success share by persona."""
        return monitors.by_label(self._groups, "persona")
