"""Bradley–Terry and Plackett–Luce by maximum likelihood with a ridge prior, and what is known of the error.

Strengths have a normal prior around the field's mean, so an undefeated entrant has a finite rating. Its width is
learned from the results: one fixed in advance, wide enough for any field, fails where results choose who meets
next, as in a Swiss tournament, which spreads such ratings by a third too far. Errors count a mirrored pair as one
observation, and the prior's centre and width as unknown: where results say little, intervals are as wide as the
field, and where equals meet equals, which says little of how far the best and the last are apart, they know that
all of the table may be drawn out or in (Kass & Steffey 1989). Knows no results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import linalg, optimize, sparse

from simarena.arena.tournament.ratings.choices import Choices, Floats, Ints

NUISANCE = 3.0
"""Prior standard deviation of seats, covariates and ties, in logits."""
_WIDTHS, _USUAL = (0.03, 10.0), 2.0
"""Range of the strengths' deviation in logits, and the mode of its Rayleigh prior, which keeps it off 0."""
_WIDER = 1.25
"""The prior is wider than the learned deviation by this much: at 1 the best and the last are drawn in so far that
their intervals miss, at 1.5 Swiss ratings spread again; from simulation, as in `test_coverage`."""
_SURELY, _FAR = 2.0, 2.5
"""Nats by which the evidence falls two standard errors off; standard errors that a draw may lie off at most."""
_STEPS = 100
_LEVERAGE = 0.9
"""A pair that is all we know of an entrant says nothing of its own error: the prior must."""


@dataclass(frozen=True)
class Fit:
    """The maximum and the curvature there."""

    choices: Choices
    values: Floats
    """[parameters], in logits."""
    precision: Floats
    """[parameters, parameters]: minus the second derivative of the penalised log-likelihood."""
    ridge: Floats
    """[parameters]: the prior's part of it."""
    doubt: tuple[float, float] = (1.0, 1.0)
    """Two standard errors to either side, as factors of the strengths' deviation."""

    def sandwich(self) -> Floats:
        """Covariance [parameters, parameters]: H⁻¹ (Σ uuᵀ / (1 − h)² + Λ) H⁻¹ (Liang & Zeger 1986).

        u is one cluster's score, h its leverage, which makes up for few clusters as leaving out one at a time does
        (CR3 of Bell & McCaffrey 2002). Λ, the prior's precision, stands for not knowing the prior's centre.
        """
        _, chance = _probabilities(self.choices, self.values)
        scores = _centred(self.choices, chance)[self.choices.chosen]
        by_cluster = _gather(self.choices.cluster, self.choices.clusters) @ scores
        meat = by_cluster.T @ _scaled(by_cluster, (1 - self.leverage) ** -2)
        meat = meat.toarray() + np.diag(self.ridge)
        half = linalg.solve(self.precision, meat, assume_a="pos")
        return np.asarray(linalg.solve(self.precision, half.T, assume_a="pos"))

    def draws(self, count: int, seed: int) -> Floats:
        """Draws [count, parameters] of where the truth may lie, by the sandwich: takes milliseconds."""
        chance = np.random.default_rng(seed)
        factor = np.linalg.cholesky(self.sandwich())
        return np.asarray(self.values + chance.normal(size=(count, len(self.values))) @ factor.T)

    def bootstrap(self, replicates: int, seed: int) -> Floats:
        """Draws [replicates, parameters]: each reweighs the clusters and moves the prior's centre.

        Weights are gamma with mean 1 and variance 1 / (1 − leverage)²: the Bayesian bootstrap (Rubin 1981) with
        the same correction. They are never 0, so nobody's results vanish.
        """
        chance = np.random.default_rng(seed)
        shape = (1 - self.leverage) ** 2
        drawn = np.empty((replicates, len(self.values)))
        for row in drawn:
            weights = chance.gamma(shape) / shape
            centre = chance.normal(0.0, self.ridge**-0.5)
            by_choice = weights[self.choices.cluster]
            row[:], _ = _maximise(self.choices, by_choice, centre, self.ridge, self.values, tolerance=1e-4)
        return drawn

    def stretches(self, count: int, seed: int) -> Floats:
        """[count, parameters]: how far the estimate moves if the strengths' deviation is drawn anew.

        That draws the whole table out or in and changes no order. A parabola through the estimates two standard
        errors to either side, since whoever never lost falls less with a narrow prior than rises with a wide one.
        """
        own = np.arange(len(self.ridge)) < len(self.choices.parameters.entrants)
        once, centre = np.ones(len(self.choices.starts)), np.zeros(len(self.ridge))
        narrow, wide = (
            _maximise(self.choices, once, centre, np.where(own, self.ridge / factor**2, self.ridge), self.values)[
                0
            ]
            for factor in self.doubt
        )
        z = np.clip(np.random.default_rng((seed, 1)).normal(size=(count, 1)), -_FAR, _FAR)
        return np.asarray(z * (wide - narrow) / 4 + z**2 * (wide + narrow - 2 * self.values) / 8)

    def surprise(self) -> dict[str, float]:
        """Match id → bits of surprise: −log2 of the probability of what happened."""
        log_chance, _ = _probabilities(self.choices, self.values)
        bits = np.bincount(self.choices.result, -log_chance / np.log(2), len(self.choices.results))
        return {result.match.id: float(b) for result, b in zip(self.choices.results, bits, strict=True)}

    @cached_property
    def leverage(self) -> Floats:
        """[C]: the most that a cluster decides of anything: the largest eigenvalue of its share of `precision`."""
        covariance = linalg.inv(self.precision)
        _, chance = _probabilities(self.choices, self.values)
        factor = _scaled(_centred(self.choices, chance), np.sqrt(chance))
        owner = self.choices.cluster[self.choices.owner]
        order = np.argsort(owner, kind="stable")
        factor, bounds = factor[order], np.searchsorted(owner[order], np.arange(self.choices.clusters + 1))
        shares = [_share(factor, a, b, covariance) for a, b in pairwise(bounds)]
        return np.minimum(shares, _LEVERAGE)


def fit(choices: Choices, prior: float | None = None) -> Fit:
    """The penalised maximum-likelihood estimate; `prior` is the strengths' deviation in logits, None: learned."""
    doubt = 1.0, 1.0
    if prior is None:
        learned, low, high = _learned(choices)
        prior, doubt = _WIDER * learned, (low / learned, high / learned)
    ridge = _ridge(choices, prior)
    start = np.zeros(len(ridge))
    values, precision = _maximise(choices, np.ones(len(choices.starts)), start, ridge, start)
    return Fit(choices, values, precision, ridge, doubt)


def _ridge(choices: Choices, deviation: float) -> Floats:
    ridge = np.full(choices.parameters.size, NUISANCE**-2)
    ridge[: len(choices.parameters.entrants)] = deviation**-2
    return ridge


def _learned(choices: Choices) -> tuple[float, ...]:
    """The strengths' deviation of highest marginal likelihood, by Laplace's method, times its own prior; and the
    deviations two standard errors below and above, where the evidence has fallen as a normal one does.

    The prior is Rayleigh: it keeps the deviation about one standard error off 0, where all would be called equal
    (Chung et al. 2013, "A nondegenerate penalized likelihood estimator for variance parameters").
    """
    once, values = np.ones(len(choices.starts)), np.zeros(choices.parameters.size)

    def loss(log_deviation: float) -> float:
        nonlocal values
        deviation = float(np.exp(log_deviation))
        ridge = _ridge(choices, deviation)
        values, precision = _maximise(choices, once, np.zeros(len(ridge)), ridge, values, tolerance=1e-2)
        log_chance, _ = _probabilities(choices, values)
        laplace = np.sum(np.log(ridge)) - float(np.linalg.slogdet(precision)[1])
        evidence = log_chance.sum() - np.sum(ridge * values**2) / 2 + laplace / 2
        return -float(evidence + log_deviation - (deviation / _USUAL) ** 2 / 2)

    low, high = np.log(_WIDTHS)
    found = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 0.1})
    edge = loss(found.x) + _SURELY
    ends = (_crossing(lambda at: loss(at) - edge, found.x, end) for end in (low, high))
    return tuple(float(np.exp(at)) for at in (found.x, *ends))


def _crossing(excess: Callable[[float], float], inside: float, outside: float) -> float:
    """Where the excess turns positive on the way from inside to outside; outside, if nowhere."""
    if excess(outside) <= 0:
        return outside
    return float(optimize.brentq(excess, inside, outside, xtol=0.05))


def _maximise(
    choices: Choices, weights: Floats, centre: Floats, ridge: Floats, start: Floats, tolerance: float = 1e-12
) -> tuple[Floats, Floats]:
    """Newton's method with halved steps on a strictly concave function; (maximum, precision there).

    Ends with the step that promises less than `tolerance` nats: what is left is of the order of its square.
    """

    def objective(log_chance: Floats, at: Floats) -> float:
        return float(weights @ log_chance - ridge @ (at - centre) ** 2 / 2)

    values, (log_chance, chance) = start, _probabilities(choices, start)
    for _ in range(_STEPS):
        gradient, precision = _derivatives(choices, weights, chance)
        gradient -= ridge * (values - centre)
        precision[np.diag_indices_from(precision)] += ridge
        step = linalg.solve(precision, gradient, assume_a="pos")
        slope = float(gradient @ step)
        here, length = objective(log_chance, values), 1.0
        while True:  # Armijo: the longest of the steps 1, 1/2, 1/4 ... that gains enough
            there = values + length * step
            log_chance, chance = _probabilities(choices, there)
            if objective(log_chance, there) >= here + 1e-4 * length * slope or length < 1e-6:
                break
            length /= 2
        values = there
        if slope < tolerance:
            break
    return values, precision


def _probabilities(choices: Choices, values: Floats) -> tuple[Floats, Floats]:
    """(log-probability of each choice [S], probability of each alternative [A])."""
    if not len(choices.starts):
        return np.zeros(0), np.zeros(0)
    utility = choices.features @ values
    shifted = utility - np.maximum.reduceat(utility, choices.starts)[choices.owner]
    weight = np.exp(shifted)
    total = np.add.reduceat(weight, choices.starts)
    return shifted[choices.chosen] - np.log(total), weight / total[choices.owner]


def _derivatives(choices: Choices, weights: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Gradient [parameters] and minus Hessian [parameters, parameters] of the weighted log-likelihood."""
    features, by_parameter = choices.features, choices.by_parameter
    push = -weights[choices.owner] * chance
    spread = by_parameter @ _scaled(features, -push)
    expected = _gather(choices.owner, len(choices.starts), chance) @ features
    spread -= expected.T @ _scaled(expected, weights)
    push[choices.chosen] += weights
    return by_parameter @ push, spread.toarray()


def _scaled(matrix: sparse.csr_array, factors: Floats) -> sparse.csr_array:
    """Each row times its factor."""
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _centred(choices: Choices, chance: Floats) -> sparse.csr_array:
    """[A, parameters]: features less their mean over the alternatives of the same choice."""
    expected = _gather(choices.owner, len(choices.starts), chance) @ choices.features
    return choices.features - expected[choices.owner]


def _gather(owner: Ints, count: int, weights: Floats | None = None) -> sparse.csr_array:
    """[count, len(owner)]: sums what belongs to each owner, weighted. Owners must be in order."""
    data = np.ones(len(owner)) if weights is None else weights
    pointers = np.searchsorted(owner, np.arange(count + 1))
    return sparse.csr_array((data, np.arange(len(owner)), pointers), shape=(count, len(owner)))


def _share(factor: sparse.csr_array, first: int, end: int, covariance: Floats) -> float:
    """Largest eigenvalue of FᵀF · covariance for rows [first, end) of the factor, over the columns they touch."""
    entries = slice(factor.indptr[first], factor.indptr[end])
    columns, place = np.unique(factor.indices[entries], return_inverse=True)
    rows = np.repeat(np.arange(end - first), np.diff(factor.indptr[first : end + 1]))
    dense = np.zeros((end - first, len(columns)))
    dense[rows, place] = factor.data[entries]
    half = dense @ np.linalg.cholesky(covariance[np.ix_(columns, columns)])
    return float(np.linalg.eigvalsh(half.T @ half)[-1])
