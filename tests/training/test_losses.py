"""Every loss against worked numbers and a plain-Python reference, value by value and gradient by gradient."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import plain_losses as plain
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_losses import Token

from simarena.arena.errors import UsageError
from simarena.training.losses import LOSSES
from simarena.training.losses.cispo import CISPOOptions, cispo
from simarena.training.losses.correction import Correction
from simarena.training.losses.dpo import DPOOptions, dpo
from simarena.training.losses.drgrpo import DrGRPOOptions, drgrpo
from simarena.training.losses.grpo import GRPOOptions, grpo
from simarena.training.losses.gspo import GSPOOptions, gspo
from simarena.training.losses.inputs import PolicyTokens, StepCounts
from simarena.training.losses.ppo import PPOOptions, ppo
from simarena.training.losses.reinforce import REINFORCEOptions
from simarena.training.losses.surrogate import Aggregation, SurrogateOptions
from simarena.training.losses.turn import TurnOptions, turn
from simarena.training.recipe_file import parse

POLICY_GRADIENT = sorted(kind for kind, (options, _) in LOSSES.items() if issubclass(options, SurrogateOptions))
AGGREGATIONS: tuple[Aggregation, ...] = (
    "token-mean",
    "seq-mean-token-mean",
    "seq-mean-token-sum",
    "seq-mean-token-sum-norm",
)
floats = st.floats(-3, 3, width=32)
below = st.floats(-3, -0.125, width=32)


def given_to_a_loss(
    tokens: Sequence[Token],
    of: Sequence[Token] = (),
    anchored: bool = True,
    pairs: Sequence[int] = (),
    whole_pairs: int = 0,
) -> PolicyTokens:
    """These tokens as a loss gets them; `of` is the whole step if they are only a part of it."""
    whole = list(of or tokens)
    sizes = {row: sum(t.row == row for t in whole) for row in {t.row for t in whole}}
    turns = {key: n for n, key in enumerate(dict.fromkeys((t.row, t.turn) for t in tokens))}
    rows = {row: n for n, row in enumerate(dict.fromkeys(t.row for t in tokens))}
    return PolicyTokens(
        step=StepCounts(len(whole), len(sizes), whole_pairs or len({p for p in pairs if p >= 0})),
        logprobs=torch.tensor([t.logprob for t in tokens], requires_grad=True),
        entropy=torch.tensor([t.entropy for t in tokens], requires_grad=True),
        old=torch.tensor([t.old for t in tokens]),
        rollout=torch.tensor([t.rollout for t in tokens]),
        advantages=torch.tensor([t.advantage for t in tokens]),
        shares=torch.tensor([1 / sizes[t.row] for t in tokens]),
        sequences=torch.tensor([rows[t.row] for t in tokens]),
        turns=torch.tensor([turns[t.row, t.turn] for t in tokens]),
        pairs=torch.tensor(pairs or [-1] * len(tokens)),
        reference=torch.tensor([t.reference for t in tokens]) if anchored else None,
    )


def gradient(loss: Any, tokens: PolicyTokens, options: Any) -> list[float]:
    value, _ = loss(tokens, options)
    value.backward()
    assert tokens.logprobs.grad is not None
    found: list[float] = tokens.logprobs.grad.tolist()
    return found


RATIOS = [1.0, 1.5, 0.5, 1.1]
TWO_BY_FOUR = [
    Token(math.log(ratio), 0.0, advantage, row=row, turn=n // 2)
    for row, advantage in enumerate((1.0, -2.0))
    for n, ratio in enumerate(RATIOS)
]
"""Two rows of four tokens in two turns, ratios 1, 1.5, 0.5 and 1.1, under advantages +1 and −2."""


class TestWorked:
    def test_grpo(self) -> None:
        tokens = given_to_a_loss(TWO_BY_FOUR, anchored=False)
        loss, metrics = grpo(tokens, GRPOOptions())
        # +1: 1, 1.28 (clipped high), 0.5, 1.1;  −2: 1, 1.5, 0.8 (clipped low), 1.1
        assert loss.item() == pytest.approx((-(1 + 1.28 + 0.5 + 1.1) + 2 * (1 + 1.5 + 0.8 + 1.1)) / 8)
        assert metrics["clip/high"].tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
        assert metrics["clip/low"].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
        assert metrics["ratio"].tolist() == pytest.approx(RATIOS * 2)
        # d/dlogp = −ρA/T where the clip is not active, 0 where it is
        expected = [-1 / 8, 0, -0.5 / 8, -1.1 / 8, 2 / 8, 3 / 8, 0, 2.2 / 8]
        assert gradient(grpo, tokens, GRPOOptions()) == pytest.approx(expected)

    def test_ppo_has_a_second_bound_for_bad_tokens(self) -> None:
        bad = [Token(math.log(r), 0.0, -1.0) for r in (1.1, 2.0, 5.0)]
        tokens = given_to_a_loss(bad, anchored=False)
        loss, metrics = ppo(tokens, PPOOptions())
        assert loss.item() == pytest.approx((1.1 + 2.0 + 3.0) / 3)
        assert metrics["clip/dual"].tolist() == [0, 0, 1]
        assert gradient(ppo, tokens, PPOOptions()) == pytest.approx([1.1 / 3, 2 / 3, 0])

    def test_drgrpo_divides_by_a_constant(self) -> None:
        """A row of one token and a row of three: each token weighs the same, 1 / (2 rows · 10)."""
        uneven = [Token(0.0, 0.0, 1.0), *[Token(0.0, 0.0, -1.0, row=1)] * 3]
        tokens = given_to_a_loss(uneven, anchored=False)
        assert gradient(drgrpo, tokens, DrGRPOOptions(horizon=10)) == pytest.approx([-0.05, 0.05, 0.05, 0.05])

    def test_gspo_and_turn_ratios_are_geometric_means(self) -> None:
        wide = {"clip_low": 0.9, "clip_high": 9.0}
        tokens = given_to_a_loss(TWO_BY_FOUR, anchored=False)
        whole = (1.0 * 1.5 * 0.5 * 1.1) ** 0.25
        _, metrics = gspo(tokens, GSPOOptions(**wide))
        assert metrics["ratio"].tolist() == pytest.approx([whole] * 8)
        assert gradient(gspo, tokens, GSPOOptions(**wide)) == pytest.approx([-whole / 8] * 4 + [2 * whole / 8] * 4)
        _, metrics = turn(given_to_a_loss(TWO_BY_FOUR, anchored=False), TurnOptions(**wide))
        halves = [math.sqrt(1.5)] * 2 + [math.sqrt(0.55)] * 2
        assert metrics["ratio"].tolist() == pytest.approx(halves * 2)

    def test_gspo_clips_whole_sequences(self) -> None:
        tokens = given_to_a_loss(TWO_BY_FOUR, anchored=False)
        # the ratio .953 is far below 1 − 3e−4: clipped for the bad row, not for the good one
        assert gradient(gspo, tokens, GSPOOptions())[4:] == [0.0] * 4

    def test_cispo_keeps_a_gradient_beyond_its_cap(self) -> None:
        tokens = given_to_a_loss([Token(math.log(r), 0.0, 1.0) for r in (1.0, 4.0)], anchored=False)
        assert gradient(cispo, tokens, CISPOOptions(cap=1.5)) == pytest.approx([-1 / 2, -1.5 / 2])

    def test_kl_and_entropy(self) -> None:
        pair = [Token(-1.0, -1.0, 0.0, 0.5, -1.0), Token(-2.0, -2.0, 0.0, 1.5, -1.0)]
        loss, metrics = grpo(given_to_a_loss(pair), GRPOOptions(kl_beta=0.1, entropy=0.01))
        assert metrics["kl/reference"].tolist() == pytest.approx([0.0, math.e - 2], abs=1e-6)
        assert loss.item() == pytest.approx((0.1 * (math.e - 2) - 0.01 * 2.0) / 2)

    @pytest.mark.parametrize(
        ("estimator", "value", "slope"), [("k1", -1.0, 1.0), ("k2", 0.5, -1.0), ("k3", math.e - 2, 1 - math.e)]
    )
    def test_kl_estimators(self, estimator: Any, value: float, slope: float) -> None:
        """log π = −2 and log π_ref = −1: k1 = −1, k2 = ½, k3 = e − 2."""
        tokens = given_to_a_loss([Token(-2.0, -2.0, 0.0, reference=-1.0)])
        options = GRPOOptions(kl_beta=1.0, kl_estimator=estimator)
        assert grpo(tokens, options)[0].item() == pytest.approx(value, abs=1e-6)
        assert gradient(grpo, tokens, options) == pytest.approx([slope], abs=1e-6)

    def test_correction_truncates_or_masks(self) -> None:
        stale = [Token(0.0, 0.0, 1.0, rollout=-math.log(w), turn=n) for n, w in enumerate((0.1, 1.0, 4.0))]
        tokens = given_to_a_loss(stale, anchored=False)

        def weights(**options: Any) -> list[float]:
            chosen = GRPOOptions(correction=Correction(**options))
            found: list[float] = grpo(tokens, chosen)[1]["correction/weight"].tolist()
            return found

        assert weights(how="truncate") == pytest.approx([0.1, 1.0, 2.0])
        assert weights(how="mask", low=0.5, high=5.0) == pytest.approx([0.0, 1.0, 4.0])
        assert weights(how="truncate", level="sequence") == pytest.approx([0.4 ** (1 / 3)] * 3)
        assert weights(how="truncate", level="turn", high=3.0) == pytest.approx([0.1, 1.0, 3.0])

    def test_dpo(self) -> None:
        """Margins 1.5 and −1 at β = 1; the chosen token's gradient is −σ(−margin) over two pairs."""
        chosen, rejected = Token(-1.0, -1.0, 1.0, reference=-2.0), Token(-2.0, -2.0, -1.0, reference=-1.5)
        worse = [Token(-3.0, -3.0, 1.0, reference=-2.0), Token(-1.0, -1.0, -1.0, reference=-1.0)]
        tokens = given_to_a_loss([chosen, rejected, *worse], pairs=[0, 0, 1, 1])
        loss, metrics = dpo(tokens, DPOOptions(beta=1.0))
        assert loss.item() == pytest.approx((math.log(1 + math.exp(-1.5)) + math.log(1 + math.e)) / 2)
        assert metrics["pairs/accuracy"].tolist() == [1, 1, 0, 0]
        first, second = 1 / (1 + math.exp(1.5)) / 2, 1 / (1 + math.exp(-1)) / 2
        assert gradient(dpo, tokens, DPOOptions(beta=1.0)) == pytest.approx([-first, first, -second, second])


def bound(kind: str, options: Any) -> float:
    return float(getattr(options, {"ppo": "dual_clip", "cispo": "cap"}.get(kind, "clip_high"), 0.0))


def expected(kind: str, tokens: list[Token], options: Any) -> float:
    """The reference's loss of the whole step."""
    fix = options.correction
    low, high = getattr(options, "clip_low", 0.0), getattr(options, "clip_high", 0.0)
    values = [
        plain.policy_loss(kind, tokens, one, low, high, bound(kind, options))
        * plain.weight(tokens, one, fix.how, fix.level, fix.low, fix.high)
        + options.kl_beta * plain.kl(options.kl_estimator, one)
        - options.entropy * one.entropy
        for one in tokens
    ]
    return plain.aggregated(values, tokens, options.aggregation, options.horizon)


@st.composite
def steps(draw: st.DrawFn) -> list[Token]:
    """A step's tokens, rows in order; log-probs near enough that no clamp for overflow is reached."""
    rows = draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=4))
    places = [(row, turn) for row, turns in enumerate(rows) for turn, n in enumerate(turns) for _ in range(n)]
    return [
        Token(draw(below), draw(below), draw(floats), draw(floats), draw(below), draw(below), row, turn)
        for row, turn in places
    ]


CORRECTIONS = [
    Correction(),
    Correction(how="truncate"),
    Correction(how="mask", level="turn", low=0.5, high=5.0),
    Correction(how="truncate", level="sequence", high=3.0),
]


def built(kind: str, aggregation: Aggregation, **more: Any) -> Any:
    if kind != "drgrpo":
        more["aggregation"] = aggregation
        more["horizon"] = 7 if aggregation == "seq-mean-token-sum-norm" else 0
    return LOSSES[kind][0](kind=kind, entropy=0.05, **more)


@pytest.mark.parametrize("kind", POLICY_GRADIENT)
@settings(max_examples=40, deadline=None)
@given(
    tokens=steps(),
    aggregation=st.sampled_from(AGGREGATIONS),
    kl=st.sampled_from([(0.0, "k3"), (0.2, "k1"), (0.2, "k2"), (0.2, "k3")]),
    correction=st.sampled_from(CORRECTIONS),
    cut=st.integers(0, 4),
)
def test_equals_the_reference_in_any_micro_batches(
    kind: str,
    tokens: list[Token],
    aggregation: Aggregation,
    kl: tuple[float, str],
    correction: Correction,
    cut: int,
) -> None:
    options = built(kind, aggregation, kl_beta=kl[0], kl_estimator=kl[1], correction=correction)
    parts = [[t for t in tokens if t.row < cut], [t for t in tokens if t.row >= cut]]
    given_parts = [given_to_a_loss(part, of=tokens, anchored=kl[0] > 0) for part in parts if part]
    whole = given_to_a_loss(tokens, anchored=kl[0] > 0)
    loss = LOSSES[kind][1]
    assert sum(loss(part, options)[0].item() for part in given_parts) == pytest.approx(
        expected(kind, tokens, options), rel=1e-3, abs=1e-4
    )
    in_parts = [slope for part in given_parts for slope in gradient(loss, part, options)]
    assert in_parts == pytest.approx(gradient(loss, whole, options), rel=1e-4, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(tokens=steps(), cut=st.integers(0, 3))
def test_dpo_equals_the_reference_in_any_micro_batches(tokens: list[Token], cut: int) -> None:
    """Rows 0 and 1, and 2 and 3, are pairs where both are there; the first is chosen."""
    rows = {t.row for t in tokens}
    paired = [t for t in tokens if {t.row, t.row ^ 1} <= rows]
    if not paired:
        return
    signed = [replace(t, advantage=1.0 if t.row % 2 == 0 else -1.0) for t in paired]
    pairs = [[[t for t in signed if t.row == 2 * p + side] for side in (0, 1)] for p in range(len(rows) // 2)]
    options = DPOOptions(beta=0.3)
    parts = [
        part
        for part in ([t for t in signed if t.row // 2 < cut], [t for t in signed if t.row // 2 >= cut])
        if part
    ]
    loss = sum(
        dpo(given_to_a_loss(part, of=signed, pairs=[t.row // 2 for t in part], whole_pairs=len(pairs)), options)[
            0
        ].item()
        for part in parts
    )
    assert loss == pytest.approx(plain.dpo([(c, r) for c, r in pairs], 0.3), rel=1e-4)


@pytest.mark.parametrize("kind", POLICY_GRADIENT)
@settings(max_examples=20, deadline=None)
@given(tokens=steps(), aggregation=st.sampled_from(AGGREGATIONS))
def test_the_first_step_of_every_loss_is_reinforce(
    kind: str, tokens: list[Token], aggregation: Aggregation
) -> None:
    """On fresh tokens old = rollout = current, and all ratios are 1: −A s / D at every token.

    GSPO and turn ratios share a segment's gradient out evenly, which is the same only if its advantages are.
    """
    fresh = [replace(t, old=t.logprob, rollout=t.logprob, advantage=float(t.row - 1)) for t in tokens]
    options = built(kind, aggregation)
    rows = [t.row for t in fresh]
    scale = {
        "token-mean": [1 / len(rows)] * len(rows),
        "seq-mean-token-mean": [1 / (len(set(rows)) * rows.count(row)) for row in rows],
        "seq-mean-token-sum": [1 / len(set(rows))] * len(rows),
        "seq-mean-token-sum-norm": [1 / (len(set(rows)) * max(1, options.horizon))] * len(rows),
    }[options.aggregation]
    reinforce = [-t.advantage * s for t, s in zip(fresh, scale, strict=True)]
    mine = gradient(LOSSES[kind][1], given_to_a_loss(fresh, anchored=False), options)
    assert mine == pytest.approx(reinforce, rel=1e-5, abs=1e-7)


def test_on_policy_gradient_is_reinforce_bit_for_bit() -> None:
    fresh = [Token(lp, lp, a) for lp, a in zip([-0.5, -1.5, -3.0], [1.0, -2.0, 0.5], strict=True)]
    plain_reinforce = torch.tensor([t.logprob for t in fresh], requires_grad=True)
    (-(plain_reinforce * torch.tensor([t.advantage for t in fresh])).sum() / 3).backward()
    for loss, options in ((grpo, GRPOOptions()), LOSSES["reinforce"][::-1]):
        chosen = options if isinstance(options, GRPOOptions) else REINFORCEOptions()
        assert gradient(loss, given_to_a_loss(fresh, anchored=False), chosen) == plain_reinforce.grad.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", sorted(LOSSES))
def test_metrics_carry_no_gradient_and_hold_a_ratio(kind: str) -> None:
    options, loss = LOSSES[kind]
    more = {} if kind == "dpo" else {"kl_beta": 1.0}
    _, metrics = loss(given_to_a_loss(TWO_BY_FOUR, pairs=[0] * 8), options(kind=kind, **more))
    assert "ratio" in metrics
    assert not any(value.requires_grad for value in metrics.values())
    assert all(value.shape == (8,) for value in metrics.values())


def test_every_entry_of_the_table_has_its_own_kind() -> None:
    for kind, (options, _) in LOSSES.items():
        assert options.model_fields["kind"].default == kind


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ({"correction": {"high": 3.0}}, "set how to"),
        ({"correction": {"how": "truncate", "low": 0.5}}, "used by how = "),
        ({"correction": {"how": "mask", "low": 3.0}}, "must be below"),
        ({"aggregation": "seq-mean-token-sum-norm"}, "loss.horizon is needed"),
        ({"horizon": 3}, "loss.horizon is needed"),
        ({"kl_estimator": "k1"}, "not used when loss.kl_beta is 0"),
        ({"kind": "ppo", "cap": 3.0}, "'loss.cap' is not used by loss.kind 'ppo', only by cispo"),
        ({"kind": "dpo", "kl_beta": 3.0}, "'loss.kl_beta' is not used by loss.kind 'dpo'"),
        ({"correction": {"howw": "mask"}}, "did you mean 'loss.correction.how'"),
    ],
)
def test_keys_that_would_do_nothing_are_refused(loss: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse({"name": "a", "scenario": {"name": "b"}, "loss": loss})
    assert message in str(caught.value)
