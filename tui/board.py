"""The board: what a run has told so far, as the lines a person follows it by.

A pure fold of events; draws nothing itself. `progress.py` puts it on a terminal or writes it line by line.
"""

from dataclasses import dataclass, field

from simarena.arena.text import one_line
from simarena.training.events import Block, Cloning, Evaluated, Event, Note, Saved, Started, StepDone

TOKENS = "time/tokens_per_second"
"""The step metric that holds sampled tokens per second."""

AGE = "rollout/age"
"""The one that holds by how many versions its tokens are older than the policy that learned from them."""


@dataclass(slots=True)
class Board:
    """The newest of everything."""

    run: str = ""
    total: int = 0
    cloning: Cloning | None = None
    step: StepDone | None = None
    shares: dict[str, float] = field(default_factory=dict)
    """Success by persona in the newest step that had it."""

    def take(self, event: Event) -> None:
        match event:
            case Started():
                self.run, self.total = event.run, event.total_steps
            case Cloning():
                self.cloning = event
            case StepDone():
                self.step = event
                self.shares.update(event.by_persona)

    def figures(self) -> list[str]:
        """The newest step in short: success, reward, speed, time left."""
        if self.step is None:
            return []
        metrics = self.step.metrics
        shown = [f"success {metrics['outcome/success']:.2f}", f"reward {metrics['reward/mean']:+.2f}"]
        if TOKENS in metrics:
            shown.append(f"{metrics[TOKENS]:,.0f} tokens/s")
        if metrics.get(AGE):
            shown.append(f"age {metrics[AGE]:.1f}")
        return [*shown, f"{clock(self.step.seconds_left)} left"]

    def personas(self) -> list[str]:
        """Success by persona, in one short text each."""
        return [f"{one_line(name, 14)} {share:.2f}" for name, share in sorted(self.shares.items())]


def line(event: Event) -> str:
    """One event as one line of plain text; empty for those that are not worth a line."""
    match event:
        case Started():
            return f"run {event.run}: {event.total_steps} steps"
        case Cloning() if event.step % max(1, event.total // 10) == 0 or event.step == event.total:
            return f"cloning {event.step}/{event.total}: loss {event.loss:.3f}"
        case StepDone():
            board = Board(step=event, shares=event.by_persona)
            return f"step {event.step}/{event.total}: {', '.join(board.figures())} | {', '.join(board.personas())}"
        case Evaluated():
            return f"evaluated at step {event.step} on {event.split} deals: {_score(event.block)}"
        case Saved():
            return f"saved {event.path}"
        case Note():
            return event.text
    return ""


def _score(score: Block) -> str:
    return f"success {score.success:.2f} ({score.low:.2f}–{score.high:.2f}), {score.episodes} episodes"


def clock(seconds: float) -> str:
    """A duration as 5s, 1m05s or 2h03m."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
