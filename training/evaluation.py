"""Evaluation: success with intervals, per persona, on deals the policy never trained on.

Scores episodes by their named checks; knows no learner.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from simarena.arena.arena import SimulatorArena
from simarena.arena.episodes import FAULTY, Episode
from simarena.arena.errors import SimArenaError, UsageError
from simarena.arena.specs import AgentSpec, EngineSpec, resolve
from simarena.simulators.adversaries import harmful_compliance, over_refusal
from simarena.training.config import LearnerOptions, PolicyOptions, Recipe
from simarena.training.events import Block, Rate
from simarena.training.seating import chair, start_of

CROSSED = "simarena.agents.engines.crossed:CrossedEngine"


def wilson(successes: int, trials: int) -> Rate:
    """A rate with its Wilson 95 % interval (1927), honest at 0 and 1; no trials gives [0, 1]."""
    if trials == 0:
        return Rate(success=0.0, low=0.0, high=1.0, episodes=0)
    z = 1.959964
    rate, weight = successes / trials, z * z / trials
    middle = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials))
    return Rate(success=rate, low=max(0.0, middle - half), high=min(1.0, middle + half), episodes=trials)


def score(episodes: Iterable[Episode]) -> Block:
    """Truncated episodes count as failures; faulty ones are nobody's and count not at all."""
    scored = [episode for episode in episodes if episode.ending not in FAULTY]
    personas: dict[str, list[Episode]] = defaultdict(list)
    for episode in scored:
        personas[episode.labels.get("persona", episode.scenario)].append(episode)
    return Block(
        **_rate(scored).model_dump(),
        by_persona={name: _rate(group) for name, group in sorted(personas.items())},
        checks=_checks(scored),
        outcome=_outcomes(scored),
        harmful_compliance=_share(map(harmful_compliance, scored)),
        over_refusal=_share(map(over_refusal, scored)),
    )


def _checks(episodes: Sequence[Episode]) -> dict[str, float]:
    """Share of finished episodes that passed each check, of those that had it."""
    table: dict[str, list[bool]] = defaultdict(list)
    for episode in episodes:
        for name, passed in episode.checks.items():
            table[name].append(passed)
    return {name: sum(passed) / len(passed) for name, passed in sorted(table.items())}


def _outcomes(episodes: Sequence[Episode]) -> dict[str, float]:
    """Mean raw outcome of each seat over finished episodes."""
    table: dict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        for seat, value in episode.outcome.items():
            table[seat].append(value)
    return {seat: math.fsum(values) / len(values) for seat, values in sorted(table.items())}


def _rate(episodes: Sequence[Episode]) -> Rate:
    return wilson(sum(episode.success for episode in episodes), len(episodes))


def _share(cases: Iterable[bool | None]) -> float | None:
    """Share of true ones among those that are a case at all."""
    told = [case for case in cases if case is not None]
    return sum(told) / len(told) if told else None


def seats_of(recipe: Recipe, temperature: float, past: float = 0.0) -> dict[str, AgentSpec | str]:
    """Who sits where: policies on learning and frozen seats, the named agents elsewhere.

    `temperature` is the policies'; `past` is the share of the learners' turns that their past selves take.
    """
    return {seat: seated(recipe, written, temperature, past) for seat, written in recipe.seats.items()}


def seated(recipe: Recipe, written: str, temperature: float, past: float = 0.0) -> AgentSpec | str:
    """Who is meant by what is written for a seat."""
    kind, name = chair(written)
    if kind == "agent":
        return name
    if kind == "remote":
        return AgentSpec.of_remote(name)
    if kind == "learner":
        return speaker(recipe, name, name, temperature, past)
    return speaker(recipe, name, start_of(name), temperature)


def speaker(recipe: Recipe, name: str, policy: str, temperature: float, past: float = 0.0) -> AgentSpec:
    """A seat played as the learner `name` plays, by the policy of that name."""
    more: dict[str, JsonValue] = {"past": past} if past else {}
    return AgentSpec.of_policy(policy, tools=recipe.learner(name).policy.tools, temperature=temperature, **more)


def options_of(recipe: Recipe, split: str) -> dict[str, JsonValue]:
    """The scenario's options for this split."""
    return {**recipe.scenario.options, "split": split}


def engines_of(
    recipe: Recipe, models: Mapping[str, Path], trained: Mapping[str, Path] | None = None
) -> dict[str, EngineSpec]:
    """An engine for every policy that the recipe seats, around the models that they begin with; learners that are
    in `trained` are what they have become."""
    now = {**models, **(trained or {})}
    return {
        **{name: _crossed(recipe, engine_spec(recipe.learner(name), now[name], name)) for name in recipe.roster},
        **{
            start_of(name): engine_spec(recipe.learner(name), models[name], start_of(name))
            for name in recipe.frozen
            if name in models  # not asked for where an anchor is all that it would be
        },
    }


def _crossed(recipe: Recipe, spec: EngineSpec) -> EngineSpec:
    """The engine, with the policy's past self beside it where the recipe lets that take turns."""
    every = recipe.rollout.cross_policy.every
    if not every:
        return spec
    options: dict[str, JsonValue] = {**spec.options, "engine": spec.engine, "every": every}
    return spec.model_copy(update={"engine": CROSSED, "options": options})


def engine_spec(learner: LearnerOptions, model: Path, policy: str) -> EngineSpec:
    """The learner's engine around the model in this folder, under this name."""
    options: dict[str, JsonValue] = {**learner.policy.options, "model": str(model), "policy": policy}
    return EngineSpec(engine=learner.policy.engine, options=options, replicas=learner.policy.replicas)


def require_records(recipe: Recipe) -> None:
    """Raise UsageError for a learner whose engine gives no token records: it would have nothing to learn from."""
    for name, learner in recipe.roster.items():
        engine = learner.policy.engine
        # The default one gives them, and loading it would slow a dry run.
        if engine == PolicyOptions().engine or getattr(resolve("engines", engine), "token_records", True):
            continue
        seats = ", ".join(seat for seat, policy in recipe.learning.items() if policy == name)
        raise UsageError(
            f"policy.engine = {engine!r} gives no token records, so {seats} cannot learn: use an engine that "
            f"samples here, such as 'transformers'"
        )


async def play_split(
    arena: SimulatorArena,
    recipe: Recipe,
    *,
    split: str,
    deals: int,
    prefix: str,
    seats: Mapping[str, AgentSpec] | None = None,
) -> list[Episode]:
    """One episode of each of the first `deals` deals of a split, with these on their seats and else whom the
    recipe seats. Raises if every one of them failed."""
    play = arena.play(
        recipe.scenario.name,
        options=options_of(recipe, split),
        seats={**seats_of(recipe, recipe.evaluation.temperature), **(seats or {})},
        deals=range(deals),
        concurrency=recipe.rollout.concurrency,
        prefix=prefix,
    )
    episodes = sorted([episode async for episode in play], key=lambda episode: episode.id)
    require_some(episodes)
    return episodes


async def evaluate_checkpoint(
    recipe: Recipe,
    models: Mapping[str, Path],
    trained: Mapping[str, Path],
    *,
    split: str,
    deals: int,
    seed: int,
    guests: Mapping[str, AgentSpec] | None = None,
    engines: Mapping[str, EngineSpec] | None = None,
) -> tuple[Block, list[Episode]]:
    """Open an arena around the learners as trained and the frozen ones as they began, and score them.

    `guests` take seats from those whom the recipe seats; `engines` are those that guests need.
    """
    async with SimulatorArena(
        recipe.backend,
        bus=recipe.bus,
        seed=seed,
        policies={**engines_of(recipe, models, trained), **(engines or {})},
        people=recipe.rollout.people,
        limits=recipe.rollout.limits,
    ) as arena:
        prefix = f"eval-{split}"
        episodes = await play_split(arena, recipe, split=split, deals=deals, prefix=prefix, seats=guests)
    return score(episodes), episodes


def require_some(episodes: Sequence[Episode]) -> None:
    """Raise with the first fault if every episode failed for reasons that are nobody's credit."""
    if episodes and all(episode.ending in FAULTY for episode in episodes):
        raise SimArenaError(f"all {len(episodes)} episodes failed; the first: {episodes[0].fault}")
