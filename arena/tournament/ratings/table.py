"""The table: standings by any method, and what they do and do not say, in words.

Owns the choice of method and the wording. Knows no file and no screen.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from simarena.arena.errors import UnknownName, UsageError
from simarena.arena.tournament.ratings import bradley_terry
from simarena.arena.tournament.ratings.bradley_terry import Intervals, Strengths
from simarena.arena.tournament.ratings.elo import elo
from simarena.arena.tournament.ratings.estimates import Estimate
from simarena.arena.tournament.ratings.ladder import openskill
from simarena.arena.tournament.ratings.scores import mean_scores
from simarena.arena.tournament.results import Result, Standing

Method = Literal["bradley-terry", "score", "openskill", "elo"]
METHODS: tuple[str, ...] = get_args(Method)
_SHOWN, _GROUPS = 6, 4
"""Names a sentence lists at most, and groups that get a sentence."""


@dataclass(frozen=True)
class Table:
    """Standings, best first, and what stands behind them."""

    method: str
    standings: tuple[Standing, ...]
    words: tuple[str, ...]
    """Plain sentences: who is ahead, who cannot be told apart, what to beware of."""
    estimate: Estimate
    """For gaps between two entrants: `estimate.gap(a, b)`."""
    strengths: Strengths | None = None
    """Of `bradley-terry`: seats, covariates, the surprise of each match; `cycles` needs it."""


def rate(
    results: Sequence[Result],
    method: str = "bradley-terry",
    *,
    entrants: Iterable[str] = (),
    covariates: Sequence[str] = (),
    intervals: Intervals | None = None,
    seed: int = 0,
) -> Table:
    """Rate these results. Their order matters for `openskill` and `elo` only.

    `covariates` and `intervals` are read by `bradley-terry`. `entrants` adds some without a match. Raises
    UnknownName for another method, UsageError for covariates that the method or the results do not have.
    """
    if method not in METHODS:
        raise UnknownName("rating method", method, METHODS)
    if covariates and method != "bradley-terry":
        raise UsageError(f"covariates {list(covariates)} are fitted by 'bradley-terry' only, not by {method!r}")
    entrants = tuple(entrants)
    if method == "bradley-terry":
        found = bradley_terry.strengths(
            results, entrants=entrants, covariates=covariates, intervals=intervals, seed=seed
        )
        rows = standings(found.estimate, results)
        words = (*_order(rows, found.estimate), *_cautions(found, results), *_effects(found))
        return Table(method, rows, words, found.estimate, found)
    by_name = {"score": mean_scores, "openskill": openskill, "elo": elo}
    estimate = by_name[method](results, entrants=entrants, seed=seed)
    rows = standings(estimate, results)
    return Table(method, rows, (*_order(rows, estimate), *_REMARKS[method]), estimate)


_REMARKS: Mapping[str, tuple[str, ...]] = {
    "score": (),
    "openskill": ("Intervals are what OpenSkill's model still expects to learn, not 95 % confidence.",),
    "elo": ("Elo depends on the order of play: later matches weigh more.",),
}


def standings(estimate: Estimate, results: Sequence[Result]) -> tuple[Standing, ...]:
    """Rows, best first; equal ratings by name."""
    played = dict.fromkeys(estimate.entrants, 0)
    for result in results:
        for entrant in set(result.match.seats.values()) if result.outcome else ():
            played[entrant] += 1
    rows = []
    for entrant, (best, worst) in zip(estimate.entrants, estimate.ranks(), strict=True):
        of = estimate.effect(entrant)
        rows.append(
            Standing(
                entrant=entrant,
                rating=of.value,
                low=of.low,
                high=of.high,
                rank_low=best,
                rank_high=worst,
                matches=played[entrant],
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.rating, row.entrant)))


def _order(rows: Sequence[Standing], estimate: Estimate) -> list[str]:
    """Who is ahead, and the runs of neighbours that cannot be told apart."""
    if len(rows) < 2:
        return []
    names = [row.entrant for row in rows]
    words = [f"{names[0]} is first, ahead of every other entrant."] if rows[0].rank_high == 1 else []
    runs = _runs(names, estimate)
    words += [f"{listed(run)} are not distinguishable." for run in runs[:_GROUPS]]
    if len(runs) > _GROUPS:
        words.append(f"So it goes on: {len(runs) - _GROUPS} more groups of neighbours are not distinguishable.")
    if not words:
        words.append("Every entrant is distinguishable from every other.")
    return [*words, f"Ranks and these claims hold for all {len(rows)} entrants at once, at 95 %."]


def _runs(names: Sequence[str], estimate: Estimate) -> list[Sequence[str]]:
    """The longest stretches of the table within which nobody is surely better than anybody."""
    place = {name: k for k, name in enumerate(estimate.entrants)}
    runs: list[Sequence[str]] = []
    end = 0
    for start in range(len(names)):
        before, end = end, max(end, start + 1)
        while end < len(names) and not any(
            estimate.better[place[names[k]], place[names[end]]] for k in range(start, end)
        ):
            end += 1
        if end > before and end - start > 1:
            runs.append(names[start:end])
    return runs


def _cautions(found: Strengths, results: Sequence[Result]) -> list[str]:
    """What the numbers lean on other than results."""
    won, lost = _one_sided(found.estimate.entrants, results)
    words = []
    if won:
        words.append(f"{listed(won)} never lost: how far above the rest is the prior's guess, not the results'.")
    if lost:
        words.append(f"{listed(lost)} never won: how far below the rest is the prior's guess, not the results'.")
    if len(found.islands) > 1:
        shown = "; ".join(listed(island) for island in found.islands[:3])
        words.append(f"These groups never met, so nothing compares them: {shown}.")
    return words


def _one_sided(entrants: Sequence[str], results: Sequence[Result]) -> tuple[list[str], list[str]]:
    """(never behind anybody and ahead at least once, the reverse)."""
    ahead, behind = set(), set()
    for result in results:
        scores = result.scores()
        for side, seats in result.match.teams().items():
            members = {result.match.seats[seat] for seat in seats}
            others = [value for other, value in scores.items() if other != side]
            ahead |= members if scores and any(scores[side] > value for value in others) else set()
            behind |= members if scores and any(scores[side] < value for value in others) else set()
    return [e for e in entrants if e in ahead - behind], [e for e in entrants if e in behind - ahead]


def _effects(found: Strengths) -> list[str]:
    """Seat advantages and covariates, and whether they differ from nothing."""
    words = []
    for seat, effect in found.seats.items():
        if effect.value > 0 or len(found.seats) > 2:
            sure = "" if effect.low > 0 or effect.high < 0 else ", which may be none"
            words.append(
                f"Seat {seat} is worth {effect.value:+.0f} points ({effect.low:+.0f} to {effect.high:+.0f}){sure}."
            )
    for name, effect in found.covariates.items():
        sure = "" if effect.low > 0 or effect.high < 0 else ", which may be none"
        words.append(
            f"More {name} is worth {effect.value:+.0f} points a standard deviation "
            f"({effect.low:+.0f} to {effect.high:+.0f}){sure}; ratings are for equal {name}."
        )
    return words


def listed(names: Sequence[str]) -> str:
    """ "a, b and c", or "a, b and 7 more"."""
    if len(names) > _SHOWN:
        return f"{', '.join(names[: _SHOWN - 1])} and {len(names) - _SHOWN + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
