"""The seams: Scenario, Agent, Engine and Judge. Everything else in the arena is written against these.

Knows no concrete scenario, agent or engine.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from simarena.arena.episodes import Ending, Episode
from simarena.arena.messages import Action, Draft, Image, Observation, Tool, ToolCall, View
from simarena.arena.specs import AgentSpec
from simarena.arena.tokens import Trail, TurnRecord
from simarena.arena.topology import Topology

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """What applying actions did. A field left out means: nothing of that kind happened."""

    state: S
    messages: tuple[Draft, ...] = ()
    rewards: Mapping[str, float] = field(default_factory=dict)
    """By seat; any seat may earn at any turn."""
    ending: Ending | None = None
    """`finished` when the scenario is over; `checks` and `outcome` are read only then."""
    checks: Mapping[str, bool] = field(default_factory=dict)
    outcome: Mapping[str, float] = field(default_factory=dict)
    """Raw result per seat in [0, 1]."""
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What rewards are made of, seat → name → value, for whoever wants to know why; they sum to the reward."""


class Scenario(Protocol[S]):
    """Pure rules. Subclass it; all methods below `apply` have defaults. The arena referees.

    A state is a value: `apply` returns a new one and leaves the old untouched, so keeping an old state
    forks the world. All chance is drawn in `deal`; a scenario is a function of (options, deal, actions).
    """

    name: str
    seats: tuple[str, ...]

    def deal(self, rng: random.Random) -> S:
        """All chance of one episode, drawn at once."""
        ...

    def to_act(self, state: S) -> frozenset[str]:
        """The seats whose turn it is: one, or several at once."""
        ...

    def view(self, state: S, seat: str) -> View:
        """What this seat may see beside the messages it has heard."""
        ...

    def apply(self, state: S, actions: Mapping[str, Action]) -> Step[S]:
        """Carry out the actions of exactly the seats in `to_act`. Invalid actions are answered, not raised."""
        ...

    def cast(self) -> Mapping[str, AgentSpec]:
        """Who sits where when the caller does not say; seats left out must be given."""
        return {}

    def opening(self, state: S) -> tuple[Draft, ...]:
        """Messages before the first turn, such as a notice of who is on the line."""
        return ()

    def labels(self, state: S) -> Mapping[str, str]:
        """Names for reports, such as the persona; never shown to a seat."""
        return {}

    def state_key(self, state: S, seat: str) -> str:
        """An abstraction of the state, equal where turns of this seat may be compared (GiGPO)."""
        return ""

    def secrets(self, state: S, seat: str) -> tuple[str, ...]:
        """Texts only this seat may see until it says them; `check_scenario` looks for leaks."""
        return ()

    def lexicon(self) -> tuple[str, ...]:
        """Every word its texts can hold, for a policy with a word-level vocabulary; empty if unknown."""
        return ()

    def topology(self) -> Topology:
        """Who hears whom; everyone hears everyone by default."""
        return Topology.everyone(self.seats)


@runtime_checkable
class Agent(Protocol):
    """Who acts. A pure function of its spec and the observation: it keeps nothing between turns."""

    async def act(self, observation: Observation) -> Action: ...


Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn as a chat template sees it. Content is data: it is never parsed for control tokens."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    """Tool calls of an assistant turn."""
    name: str = ""
    """The tool's name, for a tool turn."""
    images: tuple[Image, ...] = ()
    """Pictures shown with it, before its text."""


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One conversation waiting for its next assistant turn. Producer: agents. Consumer: engines."""

    key: str
    """Names the conversation and seat, so an engine may keep a cache for it; never changes the result."""
    chat: tuple[ChatTurn, ...]
    seed: int
    """The only chance used: equal requests give equal completions, whatever else is in the batch."""
    tools: tuple[Tool, ...] = ()
    trail: Trail | None = None
    """Ids this conversation already holds; the prompt extends them or is counted as a prefix break."""
    max_tokens: int = 64
    temperature: float = 1.0
    """0 is greedy."""
    past: bool = False
    """Sample from an earlier version, of an engine that keeps one; others answer as they are."""
    adapter: str = ""
    """Folder of a LoRA adapter to speak through, in peft's format; an engine that has none refuses."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled turn."""

    text: str
    """What was said, without thought, tool calls or control tokens."""
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""
    record: TurnRecord | None = None
    """None from engines that give no token ids; such a seat cannot learn."""


@runtime_checkable
class Engine(Protocol):
    """What generates. Owns one policy's weights at one version.

    Contract, held by one conformance suite over all engines: a completion depends only on the request and
    the version (not on batch mates, order or caches), its log-probs are those of the distribution it was
    sampled from, and after `update_weights` returns every new token comes from the new version.

    A factory with `token_records = False` says that its completions never have a record: no seat of it can learn,
    and training refuses it before anything is played.
    """

    policy: str

    @property
    def version(self) -> int: ...

    async def generate(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        """One completion per request, in order. Serves all of them as one batch."""
        ...

    async def update_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """Replace the weights: name → array, as in the model's state dict. Drops caches of other versions."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's opinion of one episode."""

    scores: Mapping[str, float]
    """By criterion, in [0, 1]."""
    reason: str = ""


@runtime_checkable
class Judge(Protocol):
    """Who scores an episode where no rule decides."""

    async def judge(self, episode: Episode) -> Verdict: ...
