"""PriorMatrix: how likely each value is for people of each signature, as floats and fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.adversaries.posterior.groups import SignatureGroups
from foreknow.errors import DataError

FloatArray: TypeAlias = NDArray[np.float64]

# Below it, a float no longer has its full precision.
_LEAST = 2.0**-1022


@dataclass(frozen=True, eq=False, repr=False)
class PriorMatrix:
    """Prior probabilities p(s : x) by signature and value (the paper's definition 2).

    A row need not sum to one: only ratios matter under the joint reading.

    Parameters
    ----------
    chances : float64 array, shape (signatures, values)
        From 0 to 1. Where they stand for fractions, each is the float nearest to it.
    fractions : sequence of sequences of Fraction, optional
        What the floats stand for; the floats themselves when left out.

    Raises
    ------
    DataError
        If a probability is not from 0 to 1, or too small to be a float of full precision.

    Examples
    --------
    >>> priors = PriorMatrix.from_fractions([["1/10", "9/10"], ["3/1000", "997/1000"]])
    >>> priors.exact(1, 0), float(priors.chances[1, 0])
    (Fraction(3, 1000), 0.003)
    """

    chances: FloatArray
    fractions: Sequence[Sequence[Fraction]] | None = None

    def __post_init__(self) -> None:
        try:
            chances = np.array(self.chances, dtype=np.float64, ndmin=2)
        except (TypeError, ValueError, OverflowError):
            raise DataError("priors must be a table of numbers, signatures by values") from None
        if chances.ndim != 2:
            raise DataError(f"priors must be signatures by values, not of shape {chances.shape}")
        wrong = np.argwhere(~((chances >= 0) & (chances <= 1)))
        if len(wrong):
            s, x = wrong[0].tolist()
            raise DataError(
                f"the prior of value {x} for signature {s} is {float(chances[s, x])}, "
                "not from 0 to 1"
            )
        wrong = np.argwhere((chances > 0) & (chances < _LEAST))
        if len(wrong):
            s, x = wrong[0].tolist()
            raise DataError(
                f"the prior of value {x} for signature {s} is {float(chances[s, x])!r}; "
                f"give 0, or {_LEAST:.3g} or more"
            )
        chances.flags.writeable = False
        object.__setattr__(self, "chances", chances)
        if self.fractions is not None:
            lengths = {len(row) for row in self.fractions}
            if len(self.fractions) != len(chances) or lengths != {chances.shape[1]}:
                raise DataError(f"fractions do not fit a table of shape {chances.shape}")
            rounded = [[float(chance) for chance in row] for row in self.fractions]
            wrong = np.argwhere(chances != np.array(rounded))
            if len(wrong):
                s, x = wrong[0].tolist()
                raise DataError(
                    f"the prior of value {x} for signature {s} is {float(chances[s, x])!r} as a "
                    f"float, but {self.fractions[s][x]} as a fraction"
                )

    @classmethod
    def from_fractions(cls, rows: Sequence[Sequence[Fraction | int | str]]) -> PriorMatrix:
        """Build from exact probabilities; the floats are rounded from them."""
        exact = [[Fraction(chance) for chance in row] for row in rows]
        for s, row in enumerate(exact):
            for x, chance in enumerate(row):
                if 0 < chance < _LEAST or 0 < 1 - chance < _LEAST:
                    raise DataError(
                        f"the prior of value {x} for signature {s} is closer than {_LEAST:.3g} to "
                        "0 or 1; give 0 or 1"
                    )
        if len({len(row) for row in exact}) > 1:
            raise DataError("priors must have one probability per value in every row")
        return cls(np.array([[float(chance) for chance in row] for row in exact]), exact)

    def exact(self, signature: int, value: int) -> Fraction:
        """The probability as a fraction."""
        if self.fractions is None:
            return Fraction(float(self.chances[signature, value]))
        return self.fractions[signature][value]

    def table(self, signatures: Sequence[int], values: Sequence[int]) -> list[list[Fraction]]:
        """Fractions of some signatures and values."""
        return [[self.exact(s, x) for x in values] for s in signatures]

    @cached_property
    def complements(self) -> FloatArray:
        """The floats nearest to one minus each probability."""
        if self.fractions is None:
            return 1 - self.chances
        return np.array([[float(1 - chance) for chance in row] for row in self.fractions])

    def check(self, groups: SignatureGroups) -> None:
        """Raise `DataError` if a group has a signature or value without a prior."""
        n_signatures, n_values = self.chances.shape
        if groups.signatures.max(initial=-1) >= n_signatures:
            cell = int(np.argmax(groups.signatures >= n_signatures))
            what, code, offsets = "signature", int(groups.signatures[cell]), groups.offsets
        elif groups.values.max(initial=-1) >= n_values:
            cell = int(np.argmax(groups.values >= n_values))
            what, code, offsets = "value", int(groups.values[cell]), groups.value_offsets
        else:
            return
        group = int(np.searchsorted(offsets, cell, side="right")) - 1
        raise DataError(
            f"group {groups.name(group)!r} has {what} {code}, for which there is no prior; "
            f"there are priors for {n_signatures} signatures and {n_values} values"
        )


def matrix(chances: ArrayLike) -> PriorMatrix:
    """Make a `PriorMatrix` of floats that stand for themselves."""
    return PriorMatrix(np.asarray(chances, dtype=np.float64))
