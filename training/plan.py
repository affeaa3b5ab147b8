"""The plan of a run in plain words, for `--dry-run` and the head of every run. Pure text from a recipe."""

from collections.abc import Iterator

from pydantic import BaseModel

from simarena.training.config import LearnerOptions, PolicyOptions, Recipe


def plan(recipe: Recipe) -> str:
    """Who learns, from which groups, with which credit and loss, and what a step costs; aligned lines."""
    rows = [
        ("recipe", f"{recipe.name}, seed {recipe.seed}, {recipe.backend} backend, bus {recipe.bus or 'default'}"),
        ("scenario", " ".join([recipe.scenario.name, *(f"{k}={v}" for k, v in recipe.scenario.options.items())])),
        *_learners(recipe),
        ("others", ", ".join(_others(recipe)) or "cast by the scenario"),
        *_opponents(recipe),
        ("group", f"deal × seat, {recipe.rollout.group} episodes each{_balance(recipe)}"),
        ("filters", " ".join(f"{name}={value}" for name, value in _flat(recipe.filters))),
        ("cost/step", _cost(recipe)),
        *_ahead(recipe),
        ("steps", f"{recipe.steps}, {_evaluations(recipe)}, {_checkpoints(recipe)}"),
        ("trackers", ", ".join(("jsonl", *recipe.trackers))),
    ]
    return "\n".join(f"{name:<10} {text}" for name, text in rows)


def _balance(recipe: Recipe) -> str:
    labels = " × ".join(recipe.rollout.balance)
    return f"; every {labels} equally often" if labels else ""


def _learners(recipe: Recipe) -> list[tuple[str, str]]:
    """What learns and how: once for one learner, else under each one's name."""
    rows = []
    for name, learner in recipe.roster.items():
        seats = [seat for seat, one in recipe.learning.items() if one == name]
        who = f"{name} as " if len(recipe.roster) > 1 else ""
        rows += [
            ("learns", f"{who}{', '.join(seats)}: {_policy(learner.policy)}"),
            ("credit", _settings(learner.credit)),
            ("loss", _settings(learner.loss)),
            *_phases(learner),
            ("optimiser", " ".join(["AdamW", *(f"{name}={value}" for name, value in _flat(learner.optimiser))])),
        ]
    return rows


def _phases(learner: LearnerOptions) -> list[tuple[str, str]]:
    told = [f"{phase.steps} steps of {phase.credit.rule} with {phase.loss.kind}" for phase in learner.phases]
    return [("before", ", ".join(told))] if told else []


def _opponents(recipe: Recipe) -> list[tuple[str, str]]:
    settings = " ".join(f"{name}={value}" for name, value in _flat(recipe.population))
    rows = [("population", settings)] if recipe.population.used else []
    anchors = recipe.evaluation.anchors
    return [*rows, ("anchors", ", ".join(anchors))] if anchors else rows


def _settings(options: BaseModel) -> str:
    """The name of what was chosen and its settings; tables within are told where they are not the default."""
    (_, head), *rest = _flat(options)
    return " ".join([head, *(f"{name}={value}" for name, value in rest)])


def _flat(options: BaseModel, prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if not isinstance(value, BaseModel):
            yield f"{prefix}{name}", str(value)
        elif value != field.default:
            yield from _flat(value, f"{prefix}{name}.")


def _policy(policy: PolicyOptions) -> str:
    weights = f"LoRA rank {policy.lora.rank}" if policy.train == "lora" else "all weights"
    start = f"cloned for {policy.cloning.steps} steps first" if policy.cloning.steps else "not cloned"
    return f"{policy.model} on {policy.engine} × {policy.replicas}, {weights}, {start}"


def _others(recipe: Recipe) -> list[str]:
    return [f"{seat} = {agent}" for seat, agent in sorted(recipe.seats.items()) if seat not in recipe.learning]


def _cost(recipe: Recipe) -> str:
    rollout = recipe.rollout
    episodes = rollout.deals * rollout.group
    most = episodes * rollout.limits.turns * rollout.limits.turn_tokens
    dealt = f"{episodes} episodes ({rollout.deals} deals × {rollout.group})"
    refill = f", up to {recipe.filters.refill} × that again for dropped groups" if recipe.filters.refill else ""
    return f"{dealt}, at most {most:,} sampled tokens{refill}"


def _ahead(recipe: Recipe) -> list[tuple[str, str]]:
    age = recipe.asynchronous.max_age
    return [("ahead", f"asynchronous: tokens up to {age} versions old when trained on")] if age else []


def _checkpoints(recipe: Recipe) -> str:
    stays = f", those of every {recipe.keep_every} stay" if recipe.keep_every else ""
    return f"a checkpoint every {recipe.checkpoint_every}{stays}"


def _evaluations(recipe: Recipe) -> str:
    every = recipe.evaluation.every
    when = f"every {every} steps, before and after" if every else "before and after"
    return f"evaluated on {recipe.evaluation.deals} held-out deals {when}"
