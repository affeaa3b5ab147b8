"""Recipes: everything one training run is, as data. Class defaults are the vetted settings of design §10.

Knows no file (`recipe_file.py` reads them) and loads no torch. Every key is used by something; a key that
belongs to a credit rule or loss that was not chosen is an error.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union

from pydantic import BaseModel, Discriminator, Field, JsonValue, Tag, field_validator, model_validator

from simarena.arena.bus.redaction import redact
from simarena.arena.errors import UnknownName
from simarena.arena.messages import Frozen
from simarena.arena.specs import table
from simarena.simulators.splits import Split
from simarena.training.alarms import ALARMS, Action
from simarena.training.credit import RULES
from simarena.training.credit.evidence import CriticOptions
from simarena.training.credit.returns import ReturnsOptions
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.turnppo import CriticCreditOptions
from simarena.training.filters import FilterOptions
from simarena.training.losses import LOSSES
from simarena.training.losses.grpo import GRPOOptions
from simarena.training.losses.inputs import LossOptions
from simarena.training.losses.surrogate import SurrogateOptions
from simarena.training.rollout import RolloutOptions
from simarena.training.seating import LEARNER, START, chair
from simarena.training.trackers import TRACKERS


def _choice(key: str, default: str, table: dict[str, tuple[Any, Any]]) -> Any:
    """A union of the options classes of a table, told apart by `key`."""

    def chosen(value: Any) -> Any:
        return value.get(key, default) if isinstance(value, dict) else getattr(value, key)

    members = tuple(Annotated[options, Tag(name)] for name, (options, _) in table.items())
    return Annotated[Union[members], Discriminator(chosen)]  # noqa: UP007 - built at run time


if TYPE_CHECKING:
    CreditChoice = CreditOptions
    LossChoice = LossOptions
else:
    CreditChoice = _choice("rule", "returns", RULES)
    LossChoice = _choice("kind", "grpo", LOSSES)


class ScenarioChoice(Frozen):
    """Which rules are played."""

    name: str
    """A registered scenario, or `package.module:Factory`."""
    options: dict[str, JsonValue] = Field(default_factory=dict)


class Lora(Frozen):
    """Low-rank adapters (LoRA, arXiv 2106.09685)."""

    rank: int = Field(default=16, gt=0)
    alpha: float = Field(default=32.0, gt=0)
    """Adapters are scaled by alpha / rank."""
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    """Names of the linear layers that get adapters."""


class Cloning(Frozen):
    """Behaviour cloning before the first step, from a scripted agent."""

    steps: int = Field(default=0, ge=0)
    """Optimiser steps; 0 starts from the model as it is."""
    episodes: int = Field(default=512, gt=0)
    """Conversations of the scripted agent to learn from."""
    batch: int = Field(default=4, gt=0)
    """Conversations per optimiser step; large ones clone weakly in the same time."""
    context: float = Field(default=0.2, ge=0)
    """Weight of the tokens that others said, against 1 for the teacher's: predicting them as well makes a small
    net learn to copy names and numbers in half the time."""
    lr: float = Field(default=2e-3, gt=0)
    teacher: str = ""
    """The scripted agent, by name or `package.module:Factory`."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The teacher's options."""

    @model_validator(mode="after")
    def _agree(self) -> "Cloning":
        if self.steps and not self.teacher:
            raise ValueError("policy.cloning.steps needs policy.cloning.teacher: the agent to clone")
        return self


class Shape(Frozen):
    """Size of the built-in `tiny` net; the default suits conversations, a game of a few words needs far less."""

    hidden: int = Field(default=128, gt=0)
    layers: int = Field(default=4, gt=0)
    heads: int = Field(default=4, gt=0)
    intermediate: int = Field(default=320, gt=0)
    spread: float = Field(default=0.08, gt=0)
    """Standard deviation of the initial weights. It suits the default width; a narrower net sees what it reads
    better with 0.9 / √hidden."""

    @model_validator(mode="after")
    def _agree(self) -> "Shape":
        if self.hidden % (2 * self.heads):
            raise ValueError(
                f"policy.shape.hidden = {self.hidden} must be a multiple of twice heads = {self.heads}"
            )
        return self


class PolicyOptions(Frozen):
    """The policy that learns and the engine that speaks for it."""

    model: str = "tiny"
    """`tiny`, `smollm2`, or a folder or hub name of a causal language model."""
    shape: Shape = Shape()
    """Of `tiny`."""
    engine: str = "transformers"
    """A registered engine, or `package.module:Factory`."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The engine's own options, such as `device` or `max_batch`."""
    tools: Literal["none", "lines"] = "none"
    """How the prompt lists the tools: not at all (a cloned policy knows them), or one signature line each."""
    replicas: int = Field(default=1, ge=1)
    """Engine hosts; each holds the whole model."""
    train: Literal["full", "lora"] = "full"
    lora: Lora = Lora()
    reference_every: int = Field(default=0, ge=0)
    """Steps after which the policy becomes the reference of its own KL term (R-NaD, arXiv 2206.15378): in
    self-play it then moves towards an equilibrium instead of around it. 0: the starting point stays it."""
    cloning: Cloning = Cloning()

    @field_validator("engine")
    @classmethod
    def _known(cls, engine: str) -> str:
        if ":" not in engine and engine not in table("engines"):
            raise ValueError(str(UnknownName("engine", engine, table("engines"))))
        return engine

    @model_validator(mode="after")
    def _agree(self) -> "PolicyOptions":
        if self.model != "tiny" and self.shape != Shape():
            raise ValueError(f"policy.shape is used by policy.model 'tiny' only, not by {self.model!r}")
        if self.train == "lora" and self.reference_every:
            raise ValueError(
                "policy.reference_every needs policy.train = 'full': the reference of adapters is their base"
            )
        if self.train == "full" and self.lora != Lora():
            raise ValueError("policy.lora is not used when policy.train is 'full': set policy.train = \"lora\"")
        return self


class AsynchronousOptions(Frozen):
    """Conversations that go on while the trainer learns."""

    max_age: int = Field(default=0, ge=0)
    """Versions by which the policy may be ahead of what sampled a token, when the token is trained on. It is held
    when a step's conversations begin, so time in the queue counts. 0: synchronous."""


class OptimiserOptions(Frozen):
    """AdamW (arXiv 1711.05101) and how the step is cut up."""

    lr: float = Field(default=3e-4, gt=0)
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = Field(default=0.0, ge=0)
    grad_clip: float = Field(default=1.0, gt=0)
    """Largest L2 norm of the gradient."""
    warmup: int = Field(default=0, ge=0)
    """Steps over which lr rises linearly."""
    decay: int = Field(default=0, ge=0)
    """Step at which lr, falling linearly from the first, would reach 0; it stays at 5 % of lr. 0: no decay."""
    epochs: int = Field(default=1, gt=0)
    """Passes over a step's conversations, each one AdamW step; from the second on the ratio is not 1."""
    micro_tokens: int = Field(default=4096, gt=0)
    """Tokens of one micro-batch, padding among them; bounds memory, changes no gradient."""


class MonitorOptions(Frozen):
    """What is measured on the way beside what a step costs anyway."""

    mutual_every: int = Field(default=0, ge=0)
    """Steps between measurements of the information between input and reply; 0: never."""
    mutual_samples: int = Field(default=16, gt=1)
    """N conversations of a measurement; it costs N² forward passes."""


Rule = Literal["latest", "uniform", "prioritised", "uncertain", "exploiter"]


class PopulationOptions(Frozen):
    """Whom the learners meet beside one another: snapshots of their past selves, and scripted agents."""

    every: int = Field(default=0, ge=0)
    """Steps between snapshots, the first before training; 0: none are taken."""
    size: int = Field(default=8, gt=0)
    """Snapshots of each learner that are kept; the oldest goes first. Each has an engine of its own."""
    bots: tuple[str, ...] = ()
    """Scripted agents that are members too, or `frozen:NAME`; each must be able to play every seat that learns, or
    where only one does, all others of `seats`."""
    share: float = Field(default=0.5, ge=0, le=1)
    """Share of deals in which one seat learns and members play the others; the seats take turns."""
    rule: Rule = "prioritised"
    """Whom to meet: the `latest`, everyone in a `uniform` way, `prioritised` by whom it loses to, the `uncertain`,
    or the one that does best against it, as an `exploiter` would be met."""
    gate: float = Field(default=0, ge=0, lt=1)
    """Rate at which a learner must be expected to beat its newest snapshot, by the ratings, for another to be
    taken; 0: one is taken every time."""
    matches: int = Field(default=32, ge=0)
    """Games between a new snapshot and each other member, from each pair of seats, for the pay-off matrix."""

    @property
    def used(self) -> bool:
        return self != PopulationOptions()

    @model_validator(mode="after")
    def _needed(self) -> "PopulationOptions":
        fields = PopulationOptions.model_fields
        idle = [key for key in ("size", "gate", "matches") if getattr(self, key) != fields[key].default]
        if idle and not self.every:
            raise ValueError(f"population.{idle[0]} is not used without snapshots: set population.every")
        return self


class EvaluationOptions(Frozen):
    """How the policy is measured: before, after, and on the way, on deals it never trains on."""

    split: Split = "heldout"
    """`validation` while settings are being chosen; `heldout` for the figures one reports."""
    every: int = Field(default=20, ge=0)
    """Steps between evaluations; 0 evaluates before and after only."""
    deals: int = Field(default=256, gt=0)
    """Conversations of one evaluation, one per deal."""
    temperature: float = Field(default=1.0, ge=0)
    """At which policies sample when they are measured, before and after alike; 0 is greedy."""
    anchors: tuple[str, ...] = ()
    """Frozen opponents: `start` (what a learner began with) or scripted agents, each met from every learning seat.
    What learners win among themselves says little; this does not move with them."""


class Phase(Frozen):
    """Steps with a credit rule and a loss of their own, such as preferences or imitation before rewards."""

    steps: int = Field(gt=0)
    credit: CreditChoice = ReturnsOptions()
    loss: LossChoice = GRPOOptions()

    @model_validator(mode="after")
    def _agree(self) -> "Phase":
        return _fitting(self)


Learns = TypeVar("Learns", bound=BaseModel)


def _fitting(one: Learns) -> Learns:
    """Refuse a credit rule and a loss that do not go together."""
    credit, loss = one.credit, one.loss  # type: ignore[attr-defined]
    if credit.paired != loss.paired:
        what = "gives pairs, which loss.kind" if credit.paired else "gives no pairs, which loss.kind"
        need = "does not compare" if credit.paired else "needs"
        fix = 'set loss.kind = "dpo"' if credit.paired else 'set credit.rule = "pairs"'
        raise ValueError(f"credit.rule {credit.rule!r} {what} {loss.kind!r} {need}: {fix}")
    return one


class LearnerOptions(Frozen):
    """How one policy learns."""

    policy: PolicyOptions = PolicyOptions()
    credit: CreditChoice = ReturnsOptions()
    loss: LossChoice = GRPOOptions()
    optimiser: OptimiserOptions = OptimiserOptions()
    phases: tuple[Phase, ...] = ()
    """What the learner begins with, one after the other; afterwards `credit` and `loss` hold."""

    def phase_at(self, step: int) -> Phase | None:
        """The phase of this step; None after the last."""
        for phase in self.phases:
            if step < phase.steps:
                return phase
            step -= phase.steps
        return None

    def credit_at(self, step: int) -> CreditOptions:
        """How this step is credited."""
        phase = self.phase_at(step)
        return phase.credit if phase else self.credit

    def loss_at(self, step: int) -> LossOptions:
        """The loss of this step."""
        phase = self.phase_at(step)
        return phase.loss if phase else self.loss

    @property
    def _rules(self) -> list[CreditOptions]:
        return [self.credit, *(phase.credit for phase in self.phases)]

    @property
    def critic(self) -> CriticOptions | None:
        """The critic's settings, if some credit rule of the learner has one."""
        found = [rule.critic for rule in self._rules if isinstance(rule, CriticCreditOptions)]
        return found[0] if found else None

    @model_validator(mode="after")
    def _referred(self) -> "LearnerOptions":
        if self.policy.reference_every and not getattr(self.loss, "kl_beta", 0):
            raise ValueError("policy.reference_every is not used without a KL term: set loss.kl_beta")
        return _fitting(self)


class Recipe(LearnerOptions):
    """One training run. Its own `policy`, `credit`, `loss` and `optimiser` are those of every learner, but for
    what `learners.NAME` says otherwise."""

    name: str
    seed: int = 0
    backend: Literal["inproc", "ray"] = "ray"
    bus: str | None = None
    """`memory://`, `auto`, or a Redis URL without a password; left out: what suits the backend."""
    threads: int = Field(default=1, gt=0)
    """Torch threads of the trainer, engines have one; two on two busy cores are slower than one."""
    ranks: int = Field(default=1, gt=0)
    """Processes of the trainer: the weights, the optimiser and a step's samples are spread over them (FSDP2)."""
    steps: int = Field(default=100, gt=0)
    """Optimiser steps."""
    scenario: ScenarioChoice
    seats: dict[str, str] = Field(default_factory=lambda: {"assistant": LEARNER})
    """Seat → who plays it, as `seating.py` reads it; seats left out are cast by the scenario."""
    learners: dict[str, LearnerOptions] = Field(default_factory=dict)
    """What is special about a learner of this name; read in as all that holds for it."""
    rollout: RolloutOptions = RolloutOptions()
    asynchronous: AsynchronousOptions = AsynchronousOptions()
    filters: FilterOptions = FilterOptions()
    population: PopulationOptions = PopulationOptions()
    evaluation: EvaluationOptions = EvaluationOptions()
    monitors: MonitorOptions = MonitorOptions()
    alarms: dict[str, Action] = Field(default_factory=dict)
    """What an alarm does: `off`, `warn`, `stop` or `rollback`; `warn` for those left out."""
    checkpoint_every: int = Field(default=20, gt=0)
    """Steps between checkpoints; the last step always has one."""
    keep_every: int = Field(default=0, ge=0)
    """Steps between checkpoints that stay, so that `simarena tournament RUN` can rate them; 0: only the first and
    the newest do."""
    trackers: tuple[str, ...] = ()
    """Beside metrics.jsonl, which is always written: `tensorboard`, `wandb`."""

    @field_validator("trackers")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in TRACKERS:
                raise UnknownName("tracker", name, TRACKERS)
        return names

    @field_validator("alarms")
    @classmethod
    def _alarms(cls, actions: dict[str, Action]) -> dict[str, Action]:
        for name in actions:
            if name not in ALARMS:
                raise UnknownName("alarm", name, ALARMS)
        return actions

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, data: Any) -> Any:
        """Fill each learner's tables up with the recipe's own."""
        named = data.get("learners") if isinstance(data, dict) else None
        if not isinstance(named, dict):
            return data
        shared = {key: data[key] for key in LearnerOptions.model_fields if key in data}
        filled = {name: _over(shared, own) if isinstance(own, dict) else own for name, own in named.items()}
        return {**data, "learners": filled}

    @property
    def learning(self) -> dict[str, str]:
        """The seats that learn, each with the name of its learner."""
        chairs = {seat: chair(written) for seat, written in sorted(self.seats.items())}
        return {seat: one.name for seat, one in chairs.items() if one.kind == "learner"}

    @property
    def roster(self) -> dict[str, LearnerOptions]:
        """Every policy that learns, by name."""
        return {name: self.learner(name) for name in sorted(set(self.learning.values()))}

    @property
    def frozen(self) -> tuple[str, ...]:
        """The learners whose starting point is played: on a seat, or as an anchor."""
        chairs = map(chair, self.seats.values())
        members = map(chair, self.population.bots)
        seated = {one.name for one in (*chairs, *members) if one.kind == "frozen"}
        return tuple(sorted(seated.union(self.roster if START in self.evaluation.anchors else ())))

    def learner(self, name: str) -> LearnerOptions:
        """What holds for the learner of this name."""
        shared = {key: getattr(self, key) for key in LearnerOptions.model_fields}
        return self.learners.get(name) or LearnerOptions.model_construct(**shared)

    def alone(self, name: str) -> "Recipe":
        """The recipe as if this learner were the only one: its seats, the others cast by the scenario."""
        own = {key: getattr(self.learner(name), key) for key in LearnerOptions.model_fields}
        chairs = {seat: chair(written) for seat, written in self.seats.items()}
        seats = {
            seat: LEARNER for seat, one in chairs.items() if one.kind in ("learner", "frozen") and one.name == name
        }
        return self.model_copy(update={**own, "learners": {}, "seats": seats})

    @model_validator(mode="after")
    def _agree(self) -> "Recipe":
        for learner in (self, *self.learners.values()):
            if len({rule.critic for rule in learner._rules if isinstance(rule, CriticCreditOptions)}) > 1:
                raise ValueError("phases and credit ask for critics with other settings: a run has one critic")
            if (total := sum(phase.steps for phase in learner.phases)) > self.steps:
                raise ValueError(f"phases take {total} steps, but steps is {self.steps}")
        self._require_correction()
        if self.keep_every % self.checkpoint_every:
            raise ValueError(
                f"keep_every = {self.keep_every} is no multiple of checkpoint_every = {self.checkpoint_every}: "
                "it says which of those checkpoints stay"
            )
        if "template" in self.alarms and not self.monitors.mutual_every:
            raise ValueError("alarms.template is not used without measurements: set monitors.mutual_every")
        if self.bus and redact(self.bus) != self.bus:
            raise ValueError(
                "bus holds a password, which run.json would keep: "
                "set SIMARENA_REDIS_URL to that URL and bus to 'auto'"
            )
        if not self.learning:
            raise ValueError(f'seats: nobody learns: write <seat> = "{LEARNER}" for one of them')
        if idle := sorted(set(self.learners) - {*self.learning.values(), *self.frozen}):
            raise ValueError(
                f'learners.{idle[0]} plays no seat: write <seat> = "{LEARNER}:{idle[0]}", or remove it'
            )
        if self.evaluation.anchors and len(self.learning) < 2:
            raise ValueError("evaluation.anchors needs a second seat that learns, for anchors to play")
        if self.population.used and len(self.learning) < 2 and (self.population.every or len(self.seats) < 2):
            raise ValueError(
                "population needs a second seat that learns, for snapshots to play, or only bots and another seat "
                "in seats, which they play then"
            )
        if self.population.used and not (self.population.every or self.population.bots):
            raise ValueError("population has no members: set population.every or population.bots")
        rules = [rule for one in self.roster.values() for rule in one._rules]
        unused = not any(rule.compares for rule in rules)
        if unused and self.filters.zero_variance != FilterOptions().zero_variance:
            raise ValueError(
                f"filters.zero_variance is not used by credit.rule {self.credit.rule!r}, which compares nobody "
                "within a group: remove it"
            )
        return self

    def _require_correction(self) -> None:
        """Refuse what goes wrong when conversations are older than the policy."""
        crossed = self.rollout.cross_policy.share
        if not (self.asynchronous.max_age or crossed):
            return
        key = "rollout.cross_policy" if crossed else "asynchronous.max_age"
        if self.population.every and self.asynchronous.max_age:
            raise ValueError(
                "population.every may replace a snapshot in the middle of its conversations when they go on "
                "beside training: leave out asynchronous.max_age"
            )
        for learner in self.roster.values():
            for loss in (learner.loss, *(phase.loss for phase in learner.phases)):
                if isinstance(loss, SurrogateOptions) and not loss.corrected:
                    raise ValueError(
                        f"{key} trains on tokens of older policies, which need a correction: set "
                        'loss.correction.how to "truncate" or "mask"'
                    )


def _over(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """`own` on top of `shared`, table by table; a table that chooses another rule or kind stands alone."""
    merged = {**shared, **own}
    for key in shared.keys() & own.keys():
        below, above = shared[key], own[key]
        if isinstance(below, dict) and isinstance(above, dict) and not _another(below, above):
            merged[key] = _over(below, above)
    return merged


def _another(below: dict[str, Any], above: dict[str, Any]) -> bool:
    defaults = {"rule": ReturnsOptions().rule, "kind": GRPOOptions().kind}
    return any(tag in above and above[tag] != below.get(tag, default) for tag, default in defaults.items())
