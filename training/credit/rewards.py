"""Reward weights: what a seat's turns are taken to have earned, from what the scenario paid and the outcome.

Filters never see this: they look at the raw outcome. Knows no credit rule.
"""

from collections.abc import Mapping

from pydantic import Field, model_validator

from simarena.arena.episodes import Episode, Reward
from simarena.arena.messages import Frozen


class Overlong(Frozen):
    """Soft punishment of long turns (DAPO, arXiv 2503.14476, eq. 13), per turn instead of per response."""

    factor: float = Field(default=0.0, ge=0)
    """Reward taken from a turn of `limit` tokens; 0: no punishment."""
    limit: int = Field(default=0, ge=0)
    """Sampled tokens at which the punishment is full."""
    buffer: int = Field(default=1, gt=0)
    """Tokens below `limit` over which it grows from 0."""

    @model_validator(mode="after")
    def _agree(self) -> "Overlong":
        if (self.factor > 0) != (self.limit > 0):
            raise ValueError("credit.rewards.overlong needs both `factor` and `limit`, or neither")
        return self

    def taken(self, tokens: int) -> float:
        """The (negative) reward of a turn of this many sampled tokens."""
        over = (tokens - (self.limit - self.buffer)) / self.buffer
        return -self.factor * min(1.0, max(0.0, over)) if self.factor else 0.0


class RewardWeights(Frozen):
    """What a turn's reward is made of."""

    own: float = 1.0
    """Weight of what the scenario paid this seat."""
    team: float = 0.0
    """Weight of what it paid all seats together, this one among them."""
    outcome: float = 0.0
    """Weight of the seat's raw outcome, paid at its last turn; with `own = 0` the reward is sparse."""
    overlong: Overlong = Overlong()


def parts(episode: Episode, seat: str, weights: RewardWeights) -> dict[str, tuple[Reward, ...]]:
    """The seat's weighted rewards by source; sources of weight 0 are left out."""
    found: dict[str, tuple[Reward, ...]] = {}
    if weights.own:
        found["own"] = _weighted([r for r in episode.rewards if r.seat == seat], seat, weights.own)
    if weights.team:
        found["team"] = _weighted(episode.rewards, seat, weights.team)
    turns = episode.turns_of(seat)
    if weights.outcome and turns:
        last = Reward(index=turns[-1].index, seat=seat, value=weights.outcome * episode.outcome[seat])
        found["outcome"] = (last,)
    if weights.overlong.factor:
        lengths = [(turn.index, len(turn.record.sampled) if turn.record else 0) for turn in turns]
        found["overlong"] = tuple(
            Reward(index=index, seat=seat, value=weights.overlong.taken(length)) for index, length in lengths
        )
    return found


def weighted(episode: Episode, seat: str, weights: RewardWeights) -> Episode:
    """The episode as if the seat had been paid its weighted rewards."""
    if weights == RewardWeights():
        return episode
    others = tuple(reward for reward in episode.rewards if reward.seat != seat)
    mine = (reward for source in parts(episode, seat, weights).values() for reward in source)
    return episode.model_copy(update={"rewards": (*others, *mine)})


def by_turn(episode: Episode, seat: str, weights: RewardWeights) -> tuple[Mapping[str, float], ...]:
    """Each turn's weighted reward by source, zeros left out."""
    sources = {
        name: episode.model_copy(update={"rewards": rewards}).turn_rewards(seat)
        for name, rewards in parts(episode, seat, weights).items()
    }
    turns = range(len(episode.turns_of(seat)))
    return tuple({name: earned[t] for name, earned in sources.items() if earned[t]} for t in turns)


def _weighted(rewards: "tuple[Reward, ...] | list[Reward]", seat: str, weight: float) -> tuple[Reward, ...]:
    return tuple(Reward(index=r.index, seat=seat, value=weight * r.value) for r in rewards)
