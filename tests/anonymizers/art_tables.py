"""Random small tables with priors, as ART takes them and as enumeration does."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foreknow.adversaries.posterior.priors import PriorMatrix
from foreknow.anonymizers.art_problem import ArtProblem


@dataclass(frozen=True)
class ArtTable:
    """Signatures by attribute set, sensitive values, and a prior by set, signature and value."""

    signatures: list[list[int]]
    values: list[int]
    priors: list[list[list[Fraction]]]
    r: Fraction
    reading: str
    unique: bool = True

    @property
    def problem(self):
        return ArtProblem.of_signatures(
            self.signatures,
            [PriorMatrix.from_fractions(rows) for rows in self.priors],
            self.values,
            np.arange(len(self.values))[:, None] / len(self.values),
            r=self.r,
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
