"""Random small tables with priors, as ART takes them and as enumeration does."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from types import SimpleNamespace

import numpy as np

from foreknow.adversaries.priors.signature_groups import PriorMatrix
from foreknow.features.more_methods.art.limits import Limit, LimitTable
from foreknow.features.more_methods.art.problem import ArtProblem


@dataclass(frozen=True)
class ArtTable:
    """Signatures by attribute set, sensitive values, and a prior by set, signature and value."""

    signatures: list[list[int]]
    values: list[int]
    priors: list[list[list[Fraction]]]
    r: Fraction
    reading: str
    unique: bool | None = True
    asked: list[list[tuple]] | None = None  # as `keeps` of the oracle takes it

    @property
    def problem(self):
        matrices = [PriorMatrix.from_fractions(rows) for rows in self.priors]
        limits = None
        if self.asked is not None:
            pairs = zip(matrices, self.asked, strict=True)
            limits = [limits_of(own, asked) for own, asked in pairs]
        return ArtProblem.of_signatures(
            self.signatures,
            matrices,
            self.values,
            np.arange(len(self.values))[:, None] / len(self.values),
            r=self.r,
            limits=limits,
            reading=self.reading,
            unique=self.unique,
        )

    @property
    def people(self):
        """For each person a row (value -> prior) for each attribute set."""
        return [
            tuple(
                dict(enumerate(rows[codes[t]]))
                for codes, rows in zip(self.signatures, self.priors, strict=True)
            )
            for t in range(len(self.values))
        ]


def limits_of(matrix, asked):
    """The table of limits that ART makes of what is asked about one attribute set."""
    nobody = SimpleNamespace(tables=())
    n_values = matrix.chances.shape[1]
    made = [
        Limit(nobody, at_most, below, times).table(matrix, np.isin(np.arange(n_values), [*about]))
        for about, at_most, below, times in asked
    ]
    return reduce(LimitTable.tightest, made)


def some_limits(seed, reading, many, sizes, n_values, even=False):
    """So many tables with limits of all sorts."""
    random = np.random.default_rng([seed, reading == "joint"])
    for _ in range(many):
        yield random_limits(random, sizes, n_values, reading, even)


def random_limits(random, sizes, n_values, reading, even=False):
    """Draw a table with limits of all sorts, of several values, several at once."""
    table = random_table(random, sizes, n_values, reading, unique=None, even=even)
    n_values = len(table.priors[0][0])
    shares = [Fraction(x) for x in ("1/3", "1/2", "2/5", "2/3", "1")]
    asked = []
    for _ in table.priors:
        some = []
        for _ in range(int(random.integers(1, 3))):
            about = range(n_values)
            if random.random() < 0.5:
                about = random.permutation(n_values)[: int(random.integers(1, n_values + 1))]
            share = shares[int(random.integers(0, len(shares)))]
            times = Fraction(int(random.integers(2, 9)), 2)
            form = int(random.integers(0, 5))
            limit = [(share, None, None), (None, share, None), (None, None, times)][min(form, 2)]
            if form == 4:
                limit = share, None, times
            some.append(({int(x) for x in about}, *limit))
        asked.append(some)
    return replace(table, asked=asked)


def random_table(random, sizes, n_values, reading, *, unique=True, even=False):
    """Draw a table.

    Priors are near each other, far apart, or partly zero; values are drawn evenly, or not.
    """
    n = int(random.integers(*sizes))
    values = int(random.integers(2, n_values + 1))
    codes, priors = [], []
    for _ in range(int(random.integers(1, 3))):
        signatures = int(random.integers(1, 4))
        codes.append(random.integers(0, signatures, n).tolist())
        kind = random.integers(0, 4)
        base = random.integers(5, 12, values)
        rows = []
        for _ in range(signatures):
            if kind < 2:  # near
                own = base + random.integers(0, 3 + 2 * kind, values)
            else:
                own = random.integers(0 if kind == 3 else 1, 9, values)
            rows.append([Fraction(int(x), max(int(own.sum()), 1)) for x in own])
        priors.append(rows)
    if even or random.random() < 0.6:
        held = [int(x) for x in random.permutation(np.arange(n) % values)]
    else:
        held = random.integers(0, values, n).tolist()
    r = Fraction([2, 2, 3, "3/2", "5/2", "6/5"][int(random.integers(0, 6))])
    return ArtTable(codes, held, priors, r, reading, unique)
