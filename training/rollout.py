"""Rollout options: the conversations of one step, how many, how long, and by whom.

Part of a recipe; `config.py` puts it together.
"""

from pydantic import Field, model_validator

from simarena.arena.messages import Frozen, Limits


class TurnCaps(Frozen):
    """A staircase of turn limits: short conversations first (ScalingInter-RL of AgentGym-RL, arXiv 2509.08755)."""

    caps: tuple[int, ...] = ()
    """Limits on the turns of all seats together, rising; the last holds to the end. Empty: `limits.turns`."""
    every: int = Field(default=0, ge=0)
    """Steps on each stair."""

    @model_validator(mode="after")
    def _agree(self) -> "TurnCaps":
        if bool(self.caps) != bool(self.every):
            raise ValueError("rollout.turn_caps needs both `caps` and `every`, or neither")
        if any(cap < 1 for cap in self.caps) or list(self.caps) != sorted(self.caps):
            raise ValueError(f"rollout.turn_caps.caps = {list(self.caps)}: must rise from at least 1")
        return self


class CrossPolicy(Frozen):
    """Cross-policy sampling (AgentRL, arXiv 2510.04206): a past self takes some turns of a conversation, so that
    the policy meets states it would no longer lead to."""

    share: float = Field(default=0.0, ge=0, lt=1)
    """Of the learners' turns in training, each by a draw of its own."""
    every: int = Field(default=0, ge=0)
    """Steps after which the past self becomes the present one."""

    @model_validator(mode="after")
    def _agree(self) -> "CrossPolicy":
        if bool(self.share) != bool(self.every):
            raise ValueError("rollout.cross_policy needs both `share` and `every`, or neither")
        return self

    def past_of(self, version: int) -> int:
        """The version that takes the turns of the past."""
        return version - version % self.every


class RolloutOptions(Frozen):
    """The conversations of one step: `deals` × `group` episodes."""

    deals: int = Field(default=16, gt=0)
    group: int = Field(default=8, gt=0)
    """G: episodes of one deal, whose returns are compared."""
    balance: tuple[str, ...] = ()
    """Labels of the scenario, such as `persona`: each step plays all of their values equally often, as far as its
    deals go, also where chance would not (as with pairs of cards in Leduc). Empty: deals are drawn at random."""
    concurrency: int = Field(default=128, gt=0)
    """Conversations in flight."""
    people: int = Field(default=1, gt=0)
    """Hosts of simulated people."""
    limits: Limits = Limits()
    turn_caps: TurnCaps = TurnCaps()
    cross_policy: CrossPolicy = CrossPolicy()
    temperature: float = Field(default=1.0, gt=0)
    """At which policies sample in training; their log-probabilities are taken at it too."""

    def limits_at(self, step: int) -> Limits:
        """The limits of this step's training conversations."""
        stairs = self.turn_caps
        if not stairs.caps:
            return self.limits
        cap = stairs.caps[min(step // stairs.every, len(stairs.caps) - 1)]
        return self.limits.model_copy(update={"turns": min(cap, self.limits.turns)})
