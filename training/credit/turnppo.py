"""Turn-level advantage from a critic: what came of a turn against what was to be expected before it.

δ_t = r_t + γ V_{t+1} − V_t and A_t = δ_t + γ λ A_{t+1}, with V = 0 after the last turn (GAE, arXiv 1506.02438,
over turns: turn-PPO, arXiv 2512.17008; Agent-R1, arXiv 2511.14460). V_t is read where the policy is about to
speak, so turns, not tokens, are the steps, and a long turn counts once. `critic.privileged` lets the critic read
what the other seats keep to themselves, which the policy may not (as in SWEET-RL, arXiv 2503.15478).
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from simarena.training.credit.evidence import CriticOptions, Evidence
from simarena.training.credit.statistics import CreditOptions
from simarena.training.credit.turns import GroupCredit, TurnCredit
from simarena.training.groups import Group


class CriticCreditOptions(CreditOptions):
    """Settings of the rules that have a critic."""

    compares: ClassVar[bool] = False
    critic: CriticOptions = CriticOptions()


class TurnPPOOptions(CriticCreditOptions):
    rule: Literal["turnppo"] = "turnppo"
    gamma: float = Field(default=0.99, ge=0, le=1)
    """Discount per turn of the learning seat."""
    trace: float = Field(default=0.9, ge=0, le=1)
    """λ: 1 trusts returns, 0 the critic."""


def turnppo(group: Group, options: TurnPPOOptions, evidence: Evidence) -> GroupCredit:
    """The GAE of each turn, from a critic of turns."""
    credits = []
    for episode in group.members:
        values = [turn[0] for turn in evidence.values[episode.id, group.seat]]
        gains = gae(episode.turn_rewards(group.seat), values, options.gamma, options.trace)
        key = f"{group.key.text} × critic"
        credits.append(
            tuple(
                TurnCredit(
                    advantage=gain, baseline=value, key=key, parts={"value": value}, targets=(gain + value,)
                )
                for gain, value in zip(gains, values, strict=True)
            )
        )
    return tuple(credits)


def gae(rewards: Sequence[float], values: Sequence[float], gamma: float, trace: float) -> list[float]:
    """A_t = δ_t + γ λ A_{t+1}, shape [n], [n] → [n]; the value after the last step is 0."""
    gains: list[float] = []
    later, after = 0.0, 0.0
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        later = reward + gamma * after - value + gamma * trace * later
        after = value
        gains.append(later)
    return gains[::-1]
