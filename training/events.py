"""Events: what a run tells whoever watches it, and the block that one evaluation comes to.

Producer: the run loop. Consumers: the command line, the screens, the run folder. Plain data, no torch.
"""

from pydantic import Field

from simarena.arena.messages import Frozen
from simarena.simulators.splits import Split


class Rate(Frozen):
    """A share of episodes with its 95 % interval."""

    success: float
    low: float
    high: float
    episodes: int


class Block(Rate):
    """One evaluation. The same object in `--json`, in run.json and on screen."""

    by_persona: dict[str, Rate] = Field(default_factory=dict)
    harmful_compliance: float | None = None
    """Share of adversaries who got what they must not; None if there were none."""
    over_refusal: float | None = None
    """Share of the adversaries' benign twins who were refused; None if there were none."""
    checks: dict[str, float] = Field(default_factory=dict)
    """Share of finished episodes that passed each named check."""
    outcome: dict[str, float] = Field(default_factory=dict)
    """Mean outcome of each seat, in [0, 1]."""
    anchors: dict[str, float] = Field(default_factory=dict)
    """Mean outcome of the learners against each frozen opponent."""
    exploitability: float | None = None
    """NashConv / 2 of the learners' joint strategy, in the game's units; None where it cannot be exact."""


class Started(Frozen):
    plan: str
    total_steps: int
    run: str = ""
    """The run folder."""


class Cloning(Frozen):
    """One step of behaviour cloning."""

    step: int
    total: int
    loss: float


class StepDone(Frozen):
    """One optimiser step; `step` is the policy version that it made."""

    step: int
    total: int
    metrics: dict[str, float]
    ledger: dict[str, int]
    by_persona: dict[str, float] = Field(default_factory=dict)
    """Success share of this step's episodes by persona."""
    seconds_left: float


class Evaluated(Frozen):
    step: int
    split: Split
    block: Block


class Saved(Frozen):
    """A checkpoint is complete."""

    step: int
    path: str


class Note(Frozen):
    """Something a person should know; one line."""

    text: str


Event = Started | Cloning | StepDone | Evaluated | Saved | Note
