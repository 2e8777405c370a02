"""SignatureGroups: the people of each group by signature, and the bag of each group by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.data.counts import GroupCounts, whole
from foreknow.data.labels import Label
from foreknow.data.sparse import IntArray, ranges, row_sums
from foreknow.errors import DataError, UnsupportedError


@dataclass(frozen=True, eq=False, repr=False)
class SignatureGroups:
    """Two tables of the same groups, as compressed sparse rows; immutable.

    Everyone has exactly one value (``single``), so both tables count the same people.

    Parameters
    ----------
    offsets : int64 array, shape (groups + 1,)
        Cells of group g are ``offsets[g]:offsets[g + 1]`` of `signatures` and `people`.
    signatures : int64 array
        Codes from 0; strictly increasing within a group.
    people : int64 array
        How many people of the group have the signature, at least 1.
    value_offsets : int64 array, shape (groups + 1,)
        The same for `values` and `counts`.
    values : int64 array
        Codes from 0; strictly increasing within a group.
    counts : int64 array
        How often the value occurs in the group, at least 1.
    names : sequence of labels, optional
        What messages call the groups; positions when left out.

    Raises
    ------
    DataError
        If the arrays contradict each other; the message names the group.

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1, 1], [2, 2, 0]), ([1], [0])])
    >>> groups
    SignatureGroups(2 groups, 4 people)
    >>> groups.people_of(0), groups.bag_of(0)
    (((0, 1), (1, 2)), ((0, 1), (2, 2)))
    """

    offsets: IntArray
    signatures: IntArray
    people: IntArray
    value_offsets: IntArray
    values: IntArray
    counts: IntArray
    names: Sequence[Label] | None = None

    def __post_init__(self) -> None:
        for name in ("offsets", "signatures", "people", "value_offsets", "values", "counts"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        if len(self.offsets) != len(self.value_offsets):
            raise DataError(
                f"signatures of {len(self.offsets) - 1} groups, but values of "
                f"{len(self.value_offsets) - 1}"
            )
        if self.names is not None and len(self.names) != self.n_groups:
            raise DataError(f"{self.n_groups} groups but {len(self.names)} names of groups")
        self._check(self.offsets, self.signatures, self.people, "signature", "people")
        self._check(self.value_offsets, self.values, self.counts, "value", "occurrences")
        wrong = np.flatnonzero(self.sizes != row_sums(self.counts, self.value_offsets))
        if len(wrong):
            g = int(wrong[0])
            held = int(row_sums(self.counts, self.value_offsets)[g])
            raise DataError(
                f"group {self.name(g)!r} has {int(self.sizes[g])} people by signature but {held} "
                "values; everyone has exactly one"
            )

    def _check(
        self, offsets: IntArray, codes: IntArray, amounts: IntArray, what: str, of: str
    ) -> None:
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(codes):
            raise DataError(f"offsets of {what}s must go from 0 to {len(codes)}")
        if len(codes) != len(amounts):
            raise DataError(f"{len(codes)} {what} codes but {len(amounts)} amounts of {of}")
        lengths = np.diff(offsets)
        if np.any(lengths < 0):
            raise DataError(f"offsets of {what}s must not decrease")
        if np.any(lengths == 0):
            raise DataError(f"group {self.name(int(np.argmin(lengths)))!r} has no {what}")
        owner = np.repeat(np.arange(len(lengths)), lengths)
        few = np.flatnonzero((amounts < 1) | (codes < 0))
        if len(few):
            cell = int(few[0])
            raise DataError(
                f"group {self.name(int(owner[cell]))!r} has {int(amounts[cell])} {of} of {what} "
                f"{int(codes[cell])}; codes start at 0 and amounts at 1"
            )
        falling = np.flatnonzero((codes[1:] <= codes[:-1]) & (owner[1:] == owner[:-1]))
        if len(falling):
            g = int(owner[int(falling[0])])
            raise DataError(
                f"{what} codes of group {self.name(g)!r} must increase strictly within the group"
            )

    @classmethod
    def from_people(
        cls,
        groups: Iterable[tuple[Iterable[int], Iterable[int]]],
        names: Sequence[Label] | None = None,
    ) -> SignatureGroups:
        """Build from the signature of every person and the value of every occurrence.

        Parameters
        ----------
        groups : iterable of (signature codes, value codes)
        names : sequence of labels, optional
        """
        held = [(Counter(s), Counter(x)) for s, x in groups]
        people, bags = (_compressed([sorted(pair[i].items()) for pair in held]) for i in (0, 1))
        return cls(*people, *bags, names)

    @classmethod
    def from_counts(
        cls, counts: GroupCounts, offsets: IntArray, signatures: IntArray, people: IntArray
    ) -> SignatureGroups:
        """Build from the counts of a release, and its people by signature."""
        if counts.semantics != "single":
            raise UnsupportedError(
                f"posteriors from priors need one value per person, not {counts.semantics!r}"
            )
        return cls(
            offsets, signatures, people, counts.offsets, counts.codes, counts.counts, counts.groups
        )

    def __repr__(self) -> str:
        return f"SignatureGroups({self.n_groups} groups, {int(self.people.sum())} people)"

    # ---- looking --------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """People of each group."""
        return row_sums(self.people, self.offsets)

    def name(self, group: int) -> Label:
        """What messages call a group."""
        return group if self.names is None else self.names[group]

    def people_of(self, group: int) -> tuple[tuple[int, int], ...]:
        """Pairs (signature, people) of one group."""
        return _pairs(self.offsets, self.signatures, self.people, group)

    def bag_of(self, group: int) -> tuple[tuple[int, int], ...]:
        """Pairs (value, occurrences) of one group."""
        return _pairs(self.value_offsets, self.values, self.counts, group)

    def take(self, groups: IntArray) -> SignatureGroups:
        """Only the given groups (positions), in that order."""
        cells, offsets = ranges(self.offsets[groups], self.offsets[groups + 1])
        bag, value_offsets = ranges(self.value_offsets[groups], self.value_offsets[groups + 1])
        return SignatureGroups(
            offsets,
            self.signatures[cells],
            self.people[cells],
            value_offsets,
            self.values[bag],
            self.counts[bag],
            None if self.names is None else [self.names[g] for g in groups.tolist()],
        )

    def distinct(self) -> tuple[IntArray, IntArray]:
        """Groups that differ: one group of each case, and the case of each group.

        Examples
        --------
        >>> groups = SignatureGroups.from_people([([0, 1], [0, 1]), ([1], [0]), ([1, 0], [1, 0])])
        >>> groups.distinct()
        (array([0, 1]), array([0, 1, 0]))
        """
        lengths, bags = np.diff(self.offsets), np.diff(self.value_offsets)
        shapes = lengths * (int(bags.max(initial=0)) + 1) + bags
        case_of = np.empty(self.n_groups, dtype=np.int64)
        firsts: list[IntArray] = []
        found = 0
        for shape in np.unique(shapes).tolist():
            alike = np.flatnonzero(shapes == shape)
            cells = self.offsets[alike][:, None] + np.arange(lengths[alike[0]])
            bag = self.value_offsets[alike][:, None] + np.arange(bags[alike[0]])
            rows = np.concatenate(
                [self.signatures[cells], self.people[cells], self.values[bag], self.counts[bag]],
                axis=1,
            )
            first, number = equal_rows(rows)
            firsts.append(alike[first])
            case_of[alike] = number + found
            found += len(first)
        first = np.concatenate([np.zeros(0, dtype=np.int64), *firsts])
        order = np.argsort(first)
        number = np.empty(found, dtype=np.int64)
        number[order] = np.arange(found)
        return first[order], number[case_of]


def equal_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Of a table of whole numbers from 0: one row of each kind, and the kind of each row.

    >>> equal_rows(np.array([[1, 2], [0, 1], [1, 2]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    kept: type = np.int32 if rows.max(initial=0) < 2**31 else np.int64
    small: NDArray[Any] = np.ascontiguousarray(rows, dtype=kept)
    keys = small.view(np.dtype((np.void, small.dtype.itemsize * small.shape[1])))[:, 0]
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def _pairs(
    offsets: IntArray, codes: IntArray, amounts: IntArray, group: int
) -> tuple[tuple[int, int], ...]:
    cells = slice(offsets[group], offsets[group + 1])
    return tuple(zip(codes[cells].tolist(), amounts[cells].tolist(), strict=True))


def _compressed(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[IntArray, IntArray, IntArray]:
    """Offsets, codes and amounts of rows of pairs."""
    flat = [cell for row in rows for cell in row]
    offsets = whole(np.cumsum([0, *map(len, rows)]), "offsets")
    codes, amounts = ([cell[i] for cell in flat] for i in (0, 1))
    return offsets, whole(codes, "codes"), whole(amounts, "amounts")


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
