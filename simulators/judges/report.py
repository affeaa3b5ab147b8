"""How far judges can be trusted: agreement, order bias, length bias, own family. Loads numpy.

Everything is read from ballots, and every share has an interval that counts a contest once. Knows no juror.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simarena.arena.tournament.ratings.estimates import Effect, effect
from simarena.arena.tournament.ratings.scores import share
from simarena.simulators.judges.panel import ABSTAINED, TIE, Ballot

_REPLICATES = 1000


@dataclass(frozen=True)
class JudgeReport:
    """What one should know before believing verdicts."""

    contests: int
    agreement: Effect | None
    """Krippendorff's alpha, nominal: 1 is full agreement, 0 is chance; None for a single juror."""
    flipped: Effect
    """Share of readable ballots whose two readings contradict each other."""
    first_named: Effect
    """Share of answers for one side that went to the first-named; 0.5 is no order bias."""
    longer: Effect
    """Share of decided ballots won by who said more; 0.5 is no length bias, or both have equal merit."""
    abstained: Effect
    own_family: tuple[str, ...]
    """Jurors that judged a contestant of their own family."""

    @property
    def words(self) -> tuple[str, ...]:
        """Plain sentences, warnings first."""
        lines = [f"Warning: {juror} judges contestants of its own family." for juror in self.own_family]
        if self.agreement is not None:
            lines.append(f"Agreement of jurors (Krippendorff's alpha): {_shown(self.agreement, '{:.2f}')}.")
        lines.append(
            f"Order: {_shown(self.flipped)} of ballots flip when names are swapped (they count as ties); "
            f"the first-named gets {_shown(self.first_named)} of answers{_bias(self.first_named)}."
        )
        lines.append(f"Length: who says more wins {_shown(self.longer)} of decided ballots{_bias(self.longer)}.")
        if self.abstained.value:
            lines.append(f"{_shown(self.abstained)} of ballots could not be read.")
        return tuple(lines)


def report(ballots: Sequence[Ballot]) -> JudgeReport:
    """The report on these ballots; with none, every share is anywhere in [0, 1]."""

    def shares(value: Callable[[Ballot], Sequence[bool]]) -> Effect:
        contests: dict[str, list[float]] = {}
        for ballot in ballots:
            contests.setdefault(ballot.episode, []).extend(map(float, value(ballot)))
        return share([values for values in contests.values() if values])

    return JudgeReport(
        contests=len({ballot.episode for ballot in ballots}),
        agreement=alpha(ballots) if len({ballot.juror for ballot in ballots}) > 1 else None,
        flipped=shares(_flipped),
        first_named=shares(lambda ballot: [a == "first" for a in ballot.answers if a in ("first", "second")]),
        longer=shares(_longer_won),
        abstained=shares(lambda ballot: [ballot.finding == ABSTAINED]),
        own_family=tuple(sorted({ballot.juror for ballot in ballots if ballot.family})),
    )


def alpha(ballots: Sequence[Ballot]) -> Effect:
    """Krippendorff's alpha of the findings; who abstained is missing. Interval by contests."""
    units: dict[str, list[str]] = {}
    for ballot in ballots:
        if ballot.finding != ABSTAINED:
            kind = TIE if ballot.finding == TIE else str(ballot.seats.index(ballot.finding))
            units.setdefault(ballot.episode, []).append(kind)
    return krippendorff(list(units.values()))


def krippendorff(units: Sequence[Sequence[str]], seed: int = 0) -> Effect:
    """Nominal alpha (Krippendorff 2011) of units, each the values its raters gave; 1 − observed / expected.

    The interval is a Bayesian bootstrap over units. Without two different values there is nothing to agree on:
    alpha is then 0 by convention.
    """
    paired = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in paired for value in unit})
    if len(values) < 2:
        return Effect(0.0, 0.0, 0.0)
    counts = np.array([[unit.count(value) for value in values] for unit in paired], dtype=np.float64)
    pairs = counts[:, :, None] * counts[:, None, :] - np.einsum("uv,vw->uvw", counts, np.eye(len(values)))
    coincidences = pairs / (counts.sum(axis=1) - 1)[:, None, None]
    weights = np.random.default_rng(seed).exponential(size=(_REPLICATES, len(paired)))
    weights /= weights.mean(axis=1, keepdims=True)
    drawn = _alpha(np.einsum("bu,uvw->bvw", weights, coincidences))
    return effect(float(_alpha(coincidences.sum(axis=0)[None])[0]), drawn)


def _alpha(coincidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """[B] alphas from coincidence matrices [B, values, values]."""
    margins = coincidences.sum(axis=2)
    total = margins.sum(axis=1)
    observed = (total - np.trace(coincidences, axis1=1, axis2=2)) / total
    expected = (total**2 - np.square(margins).sum(axis=1)) / (total * (total - 1))
    return np.asarray(1 - observed / np.maximum(expected, 1e-300))


def _flipped(ballot: Ballot) -> list[bool]:
    """Contradiction: both answers name a side, and not the same one."""
    if ballot.finding == ABSTAINED:
        return []
    return [ballot.answers[0] == ballot.answers[1] != "tie"]


def _longer_won(ballot: Ballot) -> list[bool]:
    if ballot.finding not in ballot.seats or ballot.lengths[0] == ballot.lengths[1]:
        return []
    winner = ballot.seats.index(ballot.finding)
    return [ballot.lengths[winner] > ballot.lengths[1 - winner]]


def _shown(effect: Effect, form: str = "{:.0%}") -> str:
    return f"{form.format(effect.value)} ({form.format(effect.low)} to {form.format(effect.high)})"


def _bias(effect: Effect) -> str:
    return "" if effect.low <= 0.5 <= effect.high else ", a bias"
