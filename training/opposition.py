"""The opposition: brings the population to the table, and measures the learners against it and against anchors.

Each snapshot has an engine of its own and a file in the run folder; which deals are played against whom follows
from (seed, step, number of the deal). Knows no credit and no loss.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import Episode
from simarena.arena.seeds import rng
from simarena.arena.specs import AgentSpec, EngineSpec
from simarena.training.config import Recipe
from simarena.training.evaluation import engine_spec, options_of, seated, seats_of, speaker
from simarena.training.learners import Learners
from simarena.training.population import Member, Population
from simarena.training.seating import START, start_of

Company = dict[str, AgentSpec | str]
"""Seat → who plays it."""


def engines(recipe: Recipe, models: Mapping[str, Path]) -> dict[str, EngineSpec]:
    """An engine for each snapshot that the population may hold."""
    size = recipe.population.size if recipe.population.every else 0
    return {
        _slot(name, number): engine_spec(recipe.learner(name), models[name], _slot(name, number))
        for name in recipe.roster
        for number in range(size)
    }


class Opposition:
    """The population of one run in an open arena."""

    def __init__(self, recipe: Recipe, arena: SimulatorArena, learners: Learners, home: Path) -> None:
        """`home` is the folder for snapshots, made when there is one."""
        self._recipe, self._arena, self._learners, self._home = recipe, arena, learners, home
        self._heat = recipe.rollout.temperature
        bots = recipe.population.bots
        self.book = Population(
            members=tuple(
                Member(name=agent, learner=name, agent=agent) for name in recipe.roster for agent in bots
            )
        )
        self.score: float | None = None
        """Mean outcome of the learners against members in the newest step that had such games."""

    def company(self, step: int, number: int) -> Company:
        """Who plays the deal of this number: whom the recipe seats, or one learner against members."""
        seats = seats_of(self._recipe, self._heat, self._recipe.rollout.cross_policy.share)
        options = self._recipe.population
        chance = rng("population", self._recipe.seed, step, number)
        if not self.book.members or chance.random() >= options.share:
            return seats
        learning = self._recipe.learning
        at_home = sorted(learning)[(step + number) % len(learning)]
        for seat, name in self._contested(at_home).items():
            if self.book.of(name):
                seats[seat] = self._spec(self.book.choose(name, options.rule, chance))
        return seats

    def _contested(self, at_home: str) -> dict[str, str]:
        """The seats that members take while this one learns, with whose members: the other learners', or where
        it is the only one those of everybody else whom the recipe seats."""
        learning = self._recipe.learning
        others = learning if len(learning) > 1 else dict.fromkeys(self._recipe.seats, learning[at_home])
        return {seat: name for seat, name in others.items() if seat != at_home}

    def learn_from(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Enter a step's games against members into the book; metrics of them."""
        members = [(self._spec(member), member.name) for member in self.book.members]
        outcomes = []
        for episode in sorted(episodes, key=lambda one: one.id):
            seated = [one.spec for one in episode.seats.values()]
            met = [name for spec, name in members if spec in seated]
            ours = self._own(episode)
            own = [episode.outcome[seat] for seat in ours if seat in episode.outcome]
            if met and own:
                outcomes.append(math.fsum(own) / len(own))
                present = [str(episode.seats[seat].spec.policy) for seat in ours]
                rest = [value for seat, value in episode.outcome.items() if seat not in ours]
                theirs = math.fsum(rest) / len(rest) if rest else 1 - outcomes[-1]
                for member in met:
                    self.book = self.book.met(member, present, outcomes[-1], theirs)
        self.score = math.fsum(outcomes) / len(outcomes) if outcomes else self.score
        known = {} if self.score is None else {"population/score": self.score}
        return {"population/members": float(len(self.book.members)), **known} if self.book.members else {}

    async def grow(self, step: int) -> dict[str, float]:
        """Take a snapshot of every learner that is ready to join, play it against the others, and say what the
        pay-offs and the ratings look like."""
        for name in self._recipe.roster:
            if not self.book.ready(name, self._recipe.population.gate):
                continue
            member = Member(name=f"{name}@{step}", learner=name, step=step)
            await self._learners.snapshot(name, self._file(member))
            self.book = self.book.joined(member, self._recipe.population.size)
            member = self.book.of(name)[-1]
            await self._revive(member)
            for other in self.book.members:
                await self._pay(member, other)
        share, _ = self.book.cycles()
        rated = {name: self.book.ratings[name][0] for name in self._recipe.roster if name in self.book.ratings}
        return {
            "population/members": float(len(self.book.members)),
            "population/cyclic": share,
            **{f"population/rating/{name}": mu for name, mu in rated.items()},
        }

    async def restore(self, book: Any) -> None:
        """Go on with this book: every snapshot in it speaks again."""
        self.book = Population.model_validate(book)
        for member in self.book.members:
            await self._revive(member)

    def prune(self) -> None:
        """Delete the files of snapshots that are no longer members."""
        kept = {self._file(member) for member in self.book.members}
        for path in self._home.glob("*.safetensors"):
            if path not in kept:
                path.unlink()

    async def against_anchors(self, step: int) -> dict[str, float]:
        """Anchor → mean outcome of the learners against it, each of them on its seat in turn."""
        evaluation = self._recipe.evaluation
        scores = {}
        for anchor in evaluation.anchors:
            outcomes: list[float] = []
            for seat in self._recipe.learning:
                seats = seats_of(self._recipe, evaluation.temperature)
                for other, name in self._recipe.learning.items():
                    if other != seat and anchor == START:
                        seats[other] = speaker(self._recipe, name, start_of(name), evaluation.temperature)
                    elif other != seat:
                        seats[other] = anchor
                outcomes += await self._play(seats, evaluation.deals, f"anchor-{step}-{anchor}-{seat}", seat)
            scores[anchor] = math.fsum(outcomes) / len(outcomes) if outcomes else 0.0
        return scores

    async def _pay(self, member: Member, other: Member) -> None:
        """Games between two members on every pair of seats that they can take."""
        learning = self._recipe.learning
        pairs = [(a, b) for a in learning for b in learning if a != b and other != member]
        for mine, theirs in pairs:
            if learning[mine] != member.learner or learning[theirs] != other.learner:
                continue
            seats = seats_of(self._recipe, self._heat) | {mine: self._spec(member), theirs: self._spec(other)}
            prefix = f"payoff-{member.name}-{other.name}-{mine}"
            episodes = await self._episodes(seats, self._recipe.population.matches, prefix)
            games = [
                (one.outcome[mine], one.outcome[theirs]) for one in episodes if {mine, theirs} <= set(one.outcome)
            ]
            self.book = self.book.paid(member.name, other.name, games)

    async def _play(self, seats: Company, deals: int, prefix: str, seat: str) -> list[float]:
        return [one.outcome[seat] for one in await self._episodes(seats, deals, prefix) if seat in one.outcome]

    async def _episodes(self, seats: Company, deals: int, prefix: str) -> list[Episode]:
        play = self._arena.play(
            self._recipe.scenario.name,
            options=options_of(self._recipe, self._recipe.evaluation.split),
            seats=seats,
            deals=range(deals),
            concurrency=self._recipe.rollout.concurrency,
            prefix=prefix,
        )
        return sorted([episode async for episode in play], key=lambda one: one.id)

    async def _revive(self, member: Member) -> None:
        if not member.agent:
            weights = await self._learners.revived(member.learner, self._file(member))
            await self._arena.publish(self._slot_of(member), member.step, weights)

    def _own(self, episode: Episode) -> list[str]:
        """The seats of an episode that a present learner played."""
        return [seat for seat, one in episode.seats.items() if one.spec.policy in self._recipe.roster]

    def _spec(self, member: Member) -> AgentSpec:
        if member.agent:
            found = seated(self._recipe, member.agent, self._heat)
            return AgentSpec(agent=found) if isinstance(found, str) else found
        return speaker(self._recipe, member.learner, self._slot_of(member), self._heat)

    def _slot_of(self, member: Member) -> str:
        """Newer snapshots take the slots of those that left, so that versions in a slot only rise."""
        return _slot(member.learner, member.slot)

    def _file(self, member: Member) -> Path:
        return self._home / f"{member.name}.safetensors"


def _slot(name: str, number: int) -> str:
    return f"{name}.past-{number}"
