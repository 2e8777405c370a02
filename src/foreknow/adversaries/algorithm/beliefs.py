"""Beliefs: the posterior of everybody and every value, as fractions or with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.algorithm.method_runner import Weight
from foreknow.adversaries.algorithm.worlds import Worlds
from foreknow.data.labels import Label
from foreknow.data.microdata import Microdata
from foreknow.errors import UnsupportedError
from foreknow.policy.policy import Policy

FloatArray: TypeAlias = NDArray[np.float64]
How: TypeAlias = Literal["enumeration", "proof", "bound", "independent worlds", "chains"]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the adversary believes of each cell of people who cannot be told apart.

    Attributes
    ----------
    worlds : Worlds
    how : {"enumeration", "proof", "bound", "independent worlds", "chains"}
        By a bound: a proof says how high posteriors are at most; `mean` is then the frequency.
    looked, consistent : int
        Worlds that were looked at, and those among them that the release is possible in. Of an
        enumeration, all worlds, people being told apart; of a proof, none. Of chains, their steps.
    runs : int
        How often the method was run for it.
    mean, low, high : float64 arrays, shape (cells, values)
        Estimates and their intervals; all three the posterior where it is exact.
    seen : bool array, shape (cells, values)
        Whether a member of the cell has the value in some world that was found possible.
    parts : int
        Of chains: parts of the possible worlds that no steps were found to join.
    highest : Fraction, optional
        Of a bound: that.
    """

    worlds: Worlds
    how: How
    looked: int
    consistent: int
    runs: int
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    seen: NDArray[np.bool_]
    parts: int = 1
    highest: Fraction | None = None
    _parts: Sequence[Sequence[Weight]] = ()
    _whole: Weight = 0

    @classmethod
    def counted(
        cls,
        worlds: Worlds,
        parts: Sequence[Sequence[Weight]],
        whole: Weight,
        looked: int,
        consistent: int,
        runs: int,
    ) -> Beliefs:
        """Take weights of an enumeration: how much of each cell has each value, and all of it."""
        sizes = worlds.cell_sizes.tolist()
        rows = [
            [float(Fraction(part, 1) / (whole * size)) if part else 0.0 for part in own]
            for own, size in zip(parts, sizes, strict=True)
        ]
        mean = np.array(rows, dtype=np.float64).reshape(worlds.n_cells, worlds.n_values)
        return cls(
            worlds,
            "enumeration",
            looked,
            consistent,
            runs,
            mean,
            mean,
            mean,
            mean > 0,
            _parts=parts,
            _whole=whole,
        )

    @classmethod
    def of_frequencies(cls, worlds: Worlds, runs: int) -> Beliefs:
        """Take what a proof says: everybody has each value as often as it is in their group."""
        mean = worlds.shares
        return cls(worlds, "proof", 0, 0, runs, mean, mean, mean, mean > 0)

    @classmethod
    def of_bound(
        cls, worlds: Worlds, runs: int, highest: Fraction, one: NDArray[np.bool_]
    ) -> Beliefs:
        """Take a proof that no posterior is higher.

        Of people whose group can be one group only (`one`), it is the frequency.
        """
        mean = worlds.shares
        known = one[worlds.group_of_cell][:, None] | (mean == 0)
        low = np.where(known, mean, 0.0)
        high = np.where(known, mean, float(highest))
        return cls(worlds, "bound", 0, 0, runs, mean, low, high, mean > 0, highest=highest)

    @property
    def exact(self) -> bool:
        """Whether posteriors are exact."""
        return self.how in ("enumeration", "proof")

    def posterior(self, cell: int, code: int) -> Fraction | None:
        """The exact posterior of each member of a cell; None where it is estimated."""
        if not self.exact:
            return None
        if self.how == "proof":
            return self.share(cell, code)
        return Fraction(self._parts[cell][code]) / (self._whole * int(self.worlds.cell_sizes[cell]))

    def share(self, cell: int, code: int) -> Fraction:
        """The share of a value in the group of a cell: what the release says by itself."""
        bag = self.worlds.bags[self.worlds.group_of_cell[cell]]
        return Fraction(int(bag[code]), int(bag.sum()))


@dataclass(frozen=True)
class Case:
    """What the adversary believes of some people who are alike to them, about one value.

    Attributes
    ----------
    rows : tuple of int
        Their rows in the table, from 1.
    value : label
    probability : float
        The posterior of each of them; an estimate where `exact` is None.
    exact : Fraction or None
    low, high : float
        Its interval; both the posterior where it is exact.
    share : Fraction
        The share of the value in their group: what the release says by itself. Of people who are
        left out it says nothing: the share in the whole table.
    limit : Fraction or None
        The lowest limit that the policy sets for the value.
    """

    rows: tuple[int, ...]
    value: Label
    probability: float
    exact: Fraction | None
    low: float
    high: float
    share: Fraction
    limit: Fraction | None

    @property
    def surer(self) -> bool:
        """Whether the adversary becomes surer by knowing the algorithm."""
        if self.exact is not None:
            return self.exact > self.share
        return self.low > self.share

    @property
    def certain(self) -> bool:
        """Whether the posterior is exactly 1, though the release itself does not say so."""
        return self.exact == 1 and self.share < 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        interval = {} if self.exact is not None else {"interval": [self.low, self.high]}
        return {
            "rows": list(self.rows),
            "value": self.value,
            "probability": self.probability,
            "exact": None if self.exact is None else str(self.exact),
            **interval,
            "group": str(self.share),
            "limit": None if self.limit is None else str(self.limit),
        }

    def __repr__(self) -> str:
        many = len(self.rows)
        who = f"row {self.rows[0]}" if many == 1 else f"{many} people"
        said = str(self.exact) if self.exact is not None else f"about {self.probability:.3g}"
        return f"Case({who}, {self.value!r}: {said}, the group says {self.share})"


def limits_of(policy: Policy | None, microdata: Microdata) -> dict[int, tuple[Fraction, bool]]:
    """The lowest limit for each value, and whether it may be reached.

    Raises
    ------
    UnsupportedError
        If a limit is relative to priors: all dealings are as likely to an attack.
    """
    found: dict[int, tuple[Fraction, bool]] = {}
    for requirement in policy.requirements if policy is not None else ():
        for code in np.flatnonzero(requirement.mask(microdata.values)).tolist():
            for point in requirement.points:
                if point.relative:
                    raise UnsupportedError(
                        f"{requirement.name}: at_most_times is relative to priors, which an attack "
                        "does not use, since all ways to deal the values out are as likely to it; "
                        "attack by a policy without it"
                    )
                own = point.below, point.inclusive
                found[code] = min(found.get(code, own), own)
    return found


def badness(case: Case) -> tuple[float, float, Sequence[int]]:
    """Worst first: the highest posterior, then the most that the algorithm adds."""
    return -case.probability, float(case.share), case.rows


# How sure an interval is.
CONFIDENCE = 0.95
# Two-sided 95% points of Student's t with 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_HALVINGS = 50


def chernoff(
    mean: FloatArray, many: FloatArray | float, error: float
) -> tuple[FloatArray, FloatArray]:
    """Bound the expectation of numbers from 0 to 1 by the mean of some independent ones.

    The bound of Chernoff in Hoeffding's form ("Probability inequalities for sums of bounded
    random variables", 1963, theorem 1): a mean this far off has a probability of at most `error`.

    >>> low, high = chernoff(np.array([0.0, 0.5]), 100, 0.05)
    >>> np.round(low, 3), np.round(high, 3)
    (array([0.   , 0.367]), array([0.036, 0.633]))
    """
    reach = np.broadcast_to(np.log(2 / error) / np.maximum(many, 1e-300), mean.shape)
    return mean - _beyond(1 - mean, reach), mean + _beyond(mean, reach)


def between_chains(means: FloatArray) -> FloatArray:
    """Half the width of an interval for the mean of several independent chains' means."""
    chains = len(means)
    spread: FloatArray = means.std(axis=0, ddof=1) / np.sqrt(chains)
    return spread * _T[min(chains - 1, len(_T)) - 1]


def _beyond(mean: FloatArray, reach: FloatArray) -> FloatArray:
    """How far above a mean the expectation may lie: bisection of the relative entropy."""
    low, high = np.zeros_like(mean), 1 - mean
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _entropy(mean, mean + middle) <= reach
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def _entropy(mean: FloatArray, other: FloatArray) -> FloatArray:
    """Relative entropy of two coins."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(mean > 0, mean * np.log(mean / other), 0.0)
        tails = np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - other)), 0.0)
    found: FloatArray = heads + tails
    return np.where(np.isnan(found), np.inf, found)
