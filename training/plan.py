"""The plan of a run in plain words, for `--dry-run` and the head of every run. Pure text from a recipe."""

from collections.abc import Iterator

from pydantic import BaseModel

from simarena.training.config import Recipe


def plan(recipe: Recipe) -> str:
    """Who learns, from which groups, with which credit and loss, and what a step costs; aligned lines."""
    rows = [
        ("recipe", f"{recipe.name}, seed {recipe.seed}, {recipe.backend} backend, bus {recipe.bus or 'default'}"),
        ("scenario", " ".join([recipe.scenario.name, *(f"{k}={v}" for k, v in recipe.scenario.options.items())])),
        ("learns", f"{', '.join(recipe.learners)}: {_policy(recipe)}"),
        ("others", ", ".join(_others(recipe)) or "cast by the scenario"),
        ("group", f"deal × seat, {recipe.rollout.group} episodes each"),
        ("credit", _settings(recipe.credit)),
        ("loss", _settings(recipe.loss)),
        *_phases(recipe),
        ("filters", " ".join(f"{name}={value}" for name, value in _flat(recipe.filters))),
        ("optimiser", " ".join(["AdamW", *(f"{name}={value}" for name, value in _flat(recipe.optimiser))])),
        ("cost/step", _cost(recipe)),
        ("steps", f"{recipe.steps}, {_evaluations(recipe)}, a checkpoint every {recipe.checkpoint_every}"),
        ("trackers", ", ".join(("jsonl", *recipe.trackers))),
    ]
    return "\n".join(f"{name:<10} {text}" for name, text in rows)


def _phases(recipe: Recipe) -> list[tuple[str, str]]:
    told = [f"{phase.steps} steps of {phase.credit.rule} with {phase.loss.kind}" for phase in recipe.phases]
    return [("before", ", ".join(told))] if told else []


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


def _policy(recipe: Recipe) -> str:
    policy = recipe.policy
    weights = f"LoRA rank {policy.lora.rank}" if policy.train == "lora" else "all weights"
    start = f"cloned for {policy.cloning.steps} steps first" if policy.cloning.steps else "not cloned"
    return f"{policy.model} on {policy.engine} × {policy.replicas}, {weights}, {start}"


def _others(recipe: Recipe) -> list[str]:
    return [f"{seat} = {agent}" for seat, agent in sorted(recipe.seats.items()) if seat not in recipe.learners]


def _cost(recipe: Recipe) -> str:
    rollout = recipe.rollout
    episodes = rollout.deals * rollout.group
    most = episodes * rollout.limits.turns * rollout.limits.turn_tokens
    dealt = f"{episodes} episodes ({rollout.deals} deals × {rollout.group})"
    refill = f", up to {recipe.filters.refill} × that again for dropped groups" if recipe.filters.refill else ""
    return f"{dealt}, at most {most:,} sampled tokens{refill}"


def _evaluations(recipe: Recipe) -> str:
    every = recipe.evaluation.every
    when = f"every {every} steps, before and after" if every else "before and after"
    return f"evaluated on {recipe.evaluation.deals} held-out deals {when}"
