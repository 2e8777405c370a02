"""Population uniqueness: how many people are unique in a population, estimated from a sample.

F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical
data sets", BMC Medical Informatics and Decision Making 12:66, 2012, compares the three models and
gives the rule that chooses between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray

Model: TypeAlias = Literal["pitman", "zayatz", "snb"]

# Up to this sampling fraction the published rule takes Pitman's model.
SMALL = Fraction(1, 10)
_STEPS = 200  # of halving: more than the digits of a float
_LATTICE = 24  # places at which an equation is looked at for changes of sign

ASSUMED: dict[Model, str] = {
    "pitman": "class sizes follow the sampling formula of Ewens and Pitman, with the two "
    "parameters that are likeliest for this sample",
    "zayatz": "class sizes are as frequent in the population as in the sample",
    "snb": "the size of a class, less one, is negative binomial, and Shlosser's formula gives "
    "the number of classes",
}


@dataclass(frozen=True)
class UniquesEstimate(Plain):
    """One model's estimate about a population; never a verdict."""

    _json_fields = "* assumption"

    model: Model  # "pitman", "zayatz" or "snb"
    # the number of people who are unique in the population; None if the model has no answer
    uniques: float | None
    share: float | None  # `uniques` as a share of the population
    # the expected number of people in the table who are unique in the population
    in_table: float | None
    parameters: Mapping[str, float] = field(default_factory=dict)  # the fitted parameters
    reason: str | None = None  # why there is no answer

    @property
    def assumption(self) -> str:
        """The model's assumption, beside that the table is a simple random sample."""
        return ASSUMED[self.model]


@dataclass(frozen=True)
class Histogram:
    """How many classes of a sample have which size, and the sampling fraction.

    >>> Histogram.of(np.array([1, 1, 1, 2, 5]), Fraction(1, 10)).population
    100
    """

    sizes: IntArray  # distinct, ascending
    classes: IntArray  # of each size
    fraction: Fraction

    @classmethod
    def of(cls, people: IntArray, fraction: Fraction) -> Histogram:
        """Count the classes of each size."""
        sizes, classes = np.unique(people, return_counts=True)
        return cls(sizes, classes.astype(np.int64), fraction)

    @property
    def people(self) -> int:
        """People of the sample."""
        return int(self.sizes @ self.classes)

    @property
    def n_classes(self) -> int:
        """Classes of the sample."""
        return int(self.classes.sum())

    @property
    def population(self) -> int:
        """People of the population, to the next whole number."""
        return max(round(self.people / self.fraction), self.people)

    def of_size(self, size: int) -> int:
        """Classes of a size."""
        return int(self.classes[self.sizes == size].sum())


def estimates(sample: Histogram) -> tuple[UniquesEstimate, ...]:
    """Pitman's, Zayatz' and the negative binomial estimate.

    Examples
    --------
    >>> sample = Histogram.of(np.repeat([1, 2, 3, 10], [60, 25, 10, 6]), Fraction(1, 5))
    >>> [(each.model, round(each.uniques)) for each in estimates(sample)]
    [('pitman', 115), ('zayatz', 141), ('snb', 79)]
    """
    return tuple(_estimate(model, sample) for model in _MODELS)


def chosen(candidates: tuple[UniquesEstimate, ...], fraction: Fraction) -> UniquesEstimate | None:
    """The estimate that the published rule takes; None if no model has an answer.

    For small samples Pitman's, else the lower of Zayatz' and the negative binomial one; Zayatz'
    also where the wanted model has no answer.
    """
    by_model = {estimate.model: estimate for estimate in candidates}
    zayatz, preferred = by_model["zayatz"], by_model["pitman" if fraction <= SMALL else "snb"]
    if preferred.uniques is None or zayatz.uniques is None:
        return None if zayatz.uniques is None else zayatz
    if preferred.model == "snb" and zayatz.uniques < preferred.uniques:
        return zayatz
    return preferred


class _NoAnswer(Exception):
    """A model does not fit the sample; the message is said to the user."""


def _estimate(model: Model, sample: Histogram) -> UniquesEstimate:
    """The estimate of one model; if the model does not fit the sample, the reason."""
    try:
        if not sample.of_size(1):
            raise _NoAnswer("nobody in the table is unique")
        uniques, parameters = _MODELS[model](sample)
        if not math.isfinite(uniques) or not 0 <= uniques <= sample.population * (1 + 1e-9):
            raise _NoAnswer("it gives more uniques than people, outside of its domain")
    except _NoAnswer as reason:
        return UniquesEstimate(model, None, None, None, {}, str(reason))
    # Rounding may lead a little above everybody; and no more people can be unique in the population
    # and in the table than are unique in the table.
    uniques = min(uniques, float(sample.population))
    expected = min(uniques * float(sample.fraction), float(sample.of_size(1)))
    return UniquesEstimate(model, uniques, uniques / sample.population, expected, parameters)


# ---- Zayatz ----------------------------------------------------------------------------------


def _zayatz(sample: Histogram) -> tuple[float, dict[str, float]]:
    """Zayatz' estimate of how many people are unique in the population, and its parameter.

    By Bayes' rule: the chance that a class of one person in the sample is one in the population, if
    class sizes are as frequent in the population as in the sample. The parameter is this chance.
    """
    n_people, population = sample.people, sample.population
    chances = _drawn_once(sample.sizes, n_people, population)
    total = float(sample.classes @ chances)
    n_uniques = sample.of_size(1)
    chance = n_uniques * float(chances[0]) / total
    return n_uniques * chance * population / n_people, {"chance": chance}


def _drawn_once(sizes: IntArray, n_people: int, population: int) -> FloatArray:
    """The chance that exactly one person of a class is drawn without replacement, by size.

    `n_people` of the `population` are drawn; `sizes` are those of classes, ascending.
    """
    # One of the `size` people is drawn, and then each of the others is missed, one by one; the
    # products are sums of logarithms.
    steps = np.arange(int(sizes[-1]) - 1, dtype=np.float64)
    missed = np.minimum((n_people - 1) / (population - 1 - steps), 1)
    with np.errstate(divide="ignore"):
        logs = np.concatenate(([0.0], np.cumsum(np.log1p(-missed))))
    chances: Any = np.exp(logs[sizes - 1]) * sizes * (n_people / population)
    return chances  # type: ignore[no-any-return]


# ---- Pitman ----------------------------------------------------------------------------------


def _pitman(sample: Histogram) -> tuple[float, dict[str, float]]:
    """The expected number of uniques in the population by Pitman's model, and its parameters.

    The parameters, alpha and theta, are the likeliest for the sample.
    """
    n_people, n_classes = sample.people, sample.n_classes
    if n_classes == n_people:
        raise _NoAnswer("everybody in the table is unique, so its parameters have no likeliest")
    if n_classes == 1:
        raise _NoAnswer("there is only one class")

    def slope(alpha: float) -> float:
        """How the likelihood changes with alpha, at the likeliest theta."""
        theta = _theta(alpha, sample)
        inverse = _reciprocals(theta + 1, n_people - 1)
        class_term = ((n_classes - 1) - theta * inverse) / alpha
        return class_term - math.fsum(n * _reciprocals(1 - alpha, size - 1) for size, n in pairs)

    pairs = list(zip(sample.sizes.tolist(), sample.classes.tolist(), strict=True))  # size, classes
    # The likelihood may have several maxima in alpha, which lies between 0 and 1: the slope is
    # looked at in many places, and each change from rising to falling is a maximum.
    lattice = [step / _LATTICE for step in range(1, _LATTICE)]
    maxima = _crossings(slope, [1e-6, *lattice, 1 - 1e-9], falling=True)
    if not maxima:
        raise _NoAnswer("its likeliest parameters are at the edge of its domain (alpha = 0)")
    alpha = max(maxima, key=lambda a: _log_likelihood(_theta(a, sample), a, sample))
    theta = _theta(alpha, sample)
    logs = _log_gammas(theta + alpha, sample.population - 1)
    logs -= _log_gammas(theta + 1, sample.population - 1)
    return sample.population * math.exp(logs), {"theta": theta, "alpha": alpha}


def _theta(alpha: float, sample: Histogram) -> float:
    """The likeliest theta of Pitman's model, given alpha: where the likelihood stops rising."""
    n_people, n_classes = sample.people, sample.n_classes

    def slope(above: float) -> float:
        theta = above - alpha
        class_term = _reciprocals(theta / alpha + 1, n_classes - 1) / alpha
        return class_term - _reciprocals(theta + 1, n_people - 1)

    # theta is above -alpha, so the sum of both is sought from just above 0; the upper end is raised
    # until the slope is not positive there.
    lower, upper = 1e-9, 1.0
    while slope(upper) > 0 and upper < 1e300:
        lower, upper = upper, upper * 4
    return _bisect(slope, lower, upper) - alpha


def _log_likelihood(theta: float, alpha: float, sample: Histogram) -> float:
    """The log-likelihood of a sample under Pitman's model, up to a constant."""
    class_term = _log_gammas(theta / alpha + 1, sample.n_classes - 1)
    class_term += (sample.n_classes - 1) * math.log(alpha)
    pairs = zip(sample.sizes.tolist(), sample.classes.tolist(), strict=True)
    joined = math.fsum(count * _log_gammas(1 - alpha, size - 1) for size, count in pairs)
    return class_term - _log_gammas(theta + 1, sample.people - 1) + joined


# ---- negative binomial -----------------------------------------------------------------------


def _snb(sample: Histogram) -> tuple[float, dict[str, float]]:
    """The number of people who are unique in the population by the negative binomial model.

    Its parameters, alpha and beta, are chosen so that it expects as many classes of one person, and
    of two, as the sample has. Returned are the number and the parameters.
    """
    fraction, n_single, n_pairs = float(sample.fraction), sample.of_size(1), sample.of_size(2)
    if not n_pairs:
        raise _NoAnswer("it needs classes of two people, and there are none")
    n_classes = _shlosser(sample)
    once_share = n_single / (n_classes * fraction)
    ratio = 2 * n_pairs / (n_single * fraction)

    # beta is between 0 and 1; it is sought as the logistic function of a position on a line, so
    # that values near the ends keep their digits.
    def alpha_of(position: float) -> float:
        """The alpha at which ones and twos have the right ratio: of a quadratic, its one root."""
        complement = _logistic(-position)
        missed = (1 - fraction) * complement
        target = ratio * (1 - missed) / complement
        middle = 2 - missed - target * missed
        root = math.hypot(middle, 2 * math.sqrt(missed * target * (1 - missed)))
        if middle > 0:  # the form without a difference of near numbers
            return 2 * target * (1 - missed) / (middle + root)
        return (root - middle) / (2 * missed)

    def excess(position: float) -> float:
        """Classes of one person beyond those of the sample; beta is the logistic of a place."""
        alpha, missed = alpha_of(position), (1 - fraction) * _logistic(-position)
        log = -alpha * (math.log1p(math.exp(-position)) + math.log1p(-missed))
        return math.exp(log) * (1 + alpha * missed / (1 - missed)) - once_share

    # No solution, or more than one, is no answer.
    roots = _crossings(excess, np.linspace(-30, 30, 10 * _LATTICE + 1).tolist(), falling=None)
    if not roots:
        raise _NoAnswer("its equations have no solution for this sample")
    if len(roots) > 1:
        raise _NoAnswer("its equations have several solutions for this sample")
    alpha, beta = alpha_of(roots[0]), _logistic(roots[0])
    return n_classes * beta**alpha, {"alpha": alpha, "beta": beta, "classes": n_classes}


def _shlosser(sample: Histogram) -> float:
    """The number of classes in the population, by the third estimator of Haas and Stokes (1998).

    It corrects the classes seen by those of one person, with the chances that a class is unseen or
    seen once if each person is drawn with the sampling fraction.
    """
    sizes, counts, fraction = sample.sizes.astype(float), sample.classes, float(sample.fraction)
    unseen = (1 - fraction) ** sizes
    seen_once = float(counts @ (sizes * fraction * (1 - fraction) ** (sizes - 1)))
    first_sum = float(
        counts @ (sizes * fraction * fraction * (1 - fraction * fraction) ** (sizes - 1))
    )
    second_sum = float(counts @ ((1 - fraction * fraction) ** sizes - unseen))
    return (
        sample.n_classes
        + sample.of_size(1) * (first_sum / second_sum) * (float(counts @ unseen) / seen_once) ** 2
    )


_MODELS: dict[Model, Callable[[Histogram], tuple[float, dict[str, float]]]] = {
    "pitman": _pitman,
    "zayatz": _zayatz,
    "snb": _snb,
}


# ---- the risk of one class ---------------------------------------------------------------------


def inverse_sizes(sizes: IntArray, fraction: Fraction) -> FloatArray:
    """Expected 1 / F of a class with f people in a sample, F in the population.

    F - f is negative binomial with the parameters f and the sampling fraction, as μ-Argus has it
    (Benedetti and Franconi, 1998; Polettini, 2003).

    >>> inverse_sizes(np.array([1, 10]), Fraction(1, 2)).round(4)
    array([0.6931, 0.0525])

    `sizes` are the people f of each class in the sample.
    """
    keep, lose = float(fraction), float(1 - fraction)
    if not lose:
        return np.reciprocal(sizes.astype(np.float64))  # everybody is in the sample: F is f
    inverses = np.empty(len(sizes))
    # The integral of keep w^(f-1) / (keep + lose w) from 0 to 1: by its recurrence, which is
    # stable forwards where more is lost than kept, or by its series around w = 1.
    forwards = 64 if keep < lose else 0
    integral = -keep / lose * math.log(keep)
    for size in range(1, forwards + 1):
        inverses[sizes == size] = integral
        integral = keep / lose * (1 / size - integral)
    is_large = sizes > forwards
    large = sizes[is_large].astype(np.float64)
    term = keep / large
    total = term.copy()
    for step in range(1, 400):
        term = term * (lose * step / (large + step))
        total += term
        if not len(term) or float(term.max()) < 1e-18 * keep:
            break
    inverses[is_large] = total
    return inverses


# ---- numbers ---------------------------------------------------------------------------------


def _crossings(
    function: Callable[[float], float], points: list[float], *, falling: bool | None
) -> list[float]:
    """The zeros of a function between ascending points; with `falling`, only where it falls.

    `falling` None: zeros of both kinds.
    """
    values = list(map(function, points))
    roots = []
    for interval, (value, next_value) in enumerate(pairwise(values)):
        if (value > 0) != (next_value > 0) and falling in (None, value > 0):
            low, high = points[interval], points[interval + 1]
            falling_function = function if value > 0 else lambda x: -function(x)
            roots.append(_bisect(falling_function, low, high))
    return roots


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """The place between `low` and `high` where a function stops being above 0.

    It has to be above 0 at `low`, and not at `high`.
    """
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break  # no float lies between them
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _logistic(position: float) -> float:
    return 1 / (1 + math.exp(-position))


_SHIFT = 12  # from here on the asymptotic series have all digits of a float


def _reciprocals(start: float, steps: int) -> float:
    """1/start + 1/(start + 1) + ..., of so many terms.

    >>> math.isclose(_reciprocals(2.5, 3), 1 / 2.5 + 1 / 3.5 + 1 / 4.5)
    True

    Small terms are added one by one; the rest is a difference of two digamma functions, whose
    series is exact for large numbers.
    """
    total = 0.0
    while steps and start < _SHIFT:
        total += 1 / start
        start, steps = start + 1, steps - 1
    if not steps:
        return total
    return total + math.log1p(steps / start) + _digamma(start + steps) - _digamma(start)


def _digamma(x: float) -> float:
    """The digamma of a large number, but for its logarithm."""
    y = 1 / (x * x)
    return -0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))


def _log_gammas(start: float, steps: int) -> float:
    """log(start) + log(start + 1) + ..., of so many terms.

    >>> math.isclose(_log_gammas(2.5, 3), math.log(2.5 * 3.5 * 4.5))
    True

    This is the logarithm of a quotient of gamma functions; Stirling's series is exact for large
    numbers only, so small terms are added one by one.
    """
    total = 0.0
    while steps and start < _SHIFT:
        total += math.log(start)
        start, steps = start + 1, steps - 1
    end = start + steps
    power = steps * math.log(end) + (start - 0.5) * math.log1p(steps / start) - steps
    return total + power + _stirling(end) - _stirling(start)


def _stirling(x: float) -> float:
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x
