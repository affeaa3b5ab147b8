"""The losses again, written token by token from the papers, in plain Python: nothing shared with training/."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """One sampled token; `row` names its rollout, `turn` its turn within the row."""

    logprob: float
    old: float
    advantage: float
    entropy: float = 0.0
    reference: float = 0.0
    rollout: float = 0.0
    row: int = 0
    turn: int = 0


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def gap(tokens: list[Token], one: Token, level: str, high: str = "logprob", low: str = "old") -> float:
    """The log ratio at a token: its own, or the mean over its turn or row."""
    same = {
        "token": [one],
        "turn": [t for t in tokens if (t.row, t.turn) == (one.row, one.turn)],
        "sequence": [t for t in tokens if t.row == one.row],
    }[level]
    return mean([getattr(t, high) - getattr(t, low) for t in same])


def clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def policy_loss(kind: str, tokens: list[Token], one: Token, low: float, high: float, bound: float) -> float:
    """ℓ of one token. `bound` is the dual clip of ppo and the cap of cispo."""
    level = {"gspo": "sequence", "turn": "turn"}.get(kind, "token")
    ratio, a = math.exp(gap(tokens, one, level)), one.advantage
    if kind == "reinforce":
        return -a * one.logprob
    if kind == "cispo":
        return -min(ratio, bound) * a * one.logprob
    loss = max(-ratio * a, -clip(ratio, 1 - low, 1 + high) * a)
    return min(loss, -bound * a) if kind == "ppo" and a < 0 else loss


def kl(estimator: str, one: Token) -> float:
    k1 = one.logprob - one.reference
    return {"k1": k1, "k2": k1**2 / 2, "k3": math.exp(-k1) + k1 - 1}[estimator]


def weight(tokens: list[Token], one: Token, how: str, level: str, low: float, high: float) -> float:
    w = math.exp(gap(tokens, one, level, "old", "rollout"))
    if how == "none":
        return 1.0
    return min(w, high) if how == "truncate" else w if low <= w <= high else 0.0


def aggregated(values: list[float], tokens: list[Token], how: str, horizon: int) -> float:
    rows = sorted({t.row for t in tokens})
    by_row = [[v for v, t in zip(values, tokens, strict=True) if t.row == row] for row in rows]
    return {
        "token-mean": lambda: mean(values),
        "seq-mean-token-mean": lambda: mean([mean(row) for row in by_row]),
        "seq-mean-token-sum": lambda: mean([sum(row) for row in by_row]),
        "seq-mean-token-sum-norm": lambda: sum(values) / (len(rows) * horizon),
    }[how]()


def dpo(pairs: list[tuple[list[Token], list[Token]]], beta: float) -> float:
    def gain(tokens: list[Token]) -> float:
        return sum(t.logprob - t.reference for t in tokens)

    return mean([math.log(1 + math.exp(-beta * (gain(chosen) - gain(rejected)))) for chosen, rejected in pairs])


def value_loss(value: float, old: float, target: float, clip_range: float) -> float:
    near = old + clip(value - old, -clip_range, clip_range)
    return max((value - target) ** 2, (near - target) ** 2) / 2
