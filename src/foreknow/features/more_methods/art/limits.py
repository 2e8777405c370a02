"""Limits of posteriors: by adversary, and as a table by signature and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.exchanges import Amounts
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.signature_groups import PriorMatrix
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.labels.labels import Label, Labels, chosen
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_fraction, as_threshold
from foreknow_judge.policy.grammar import as_times

# Numerators and denominators up to this are compared as 64-bit numbers, times people.
_WHOLE = 1 << 31

# Groups are not all as the whole table is.
_LIKELY = Fraction(9, 10)

Share: TypeAlias = tuple[Fraction, bool]
NO_LIMIT: Share = (Fraction(1), False)


@dataclass(frozen=True)
class Limit:
    """A limit on the posteriors of values, for an adversary who knows some priors.

    Parameters
    ----------
    priors : Priors
        The priors that the adversary knows. Each of their attribute sets is used by itself.
    at_most : number, optional
        The highest posterior that is allowed: 1/r.
    below : number, optional
        A number that every posterior must stay strictly below.
    times : number, optional
        The highest ratio of a posterior to the prior of the same person and value; 1 or more.
    values : sequence of labels, optional
        The sensitive values that are limited; the default is all. Labels are compared as they
        print.
    excluded : sequence of labels
        Sensitive values that are not limited.
    sets : function, optional
        A function from the values of a table to sets of them by name, whose posteriors are limited
        together. Each value then gets a share of the limit, by the number of people who have it,
        so that the sum keeps the limit. None: values are limited one by one.

    Raises
    ------
    InputError
        If `at_most`, `below` and `times` are all missing, or one is out of its range; or if values
        contradict each other.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("mfmf"), "disease": ["Flu", "Flu", "HIV", "HIV"]})
    >>> Limit(Priors.learn(people, ["sex"], "disease"), times=2, values=["HIV"])
    Limit(Priors(sex: joint), times=2, values=['HIV'])
    """

    priors: Priors
    at_most: Number | None = None
    below: Number | None = None
    times: Number | None = None
    values: Sequence[Label] | None = None
    excluded: Sequence[Label] = ()
    sets: Callable[[Labels], Mapping[str, Sequence[str]]] | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are missing or out of range, and wrong lists of values."""
        if not hasattr(self.priors, "tables"):
            raise InputError(f"ART: priors must be Priors, not {type(self.priors).__name__}")
        if self.at_most is None and self.below is None and self.times is None:
            raise InputError("ART: a limit needs at_most, below, or times")
        for limit in (self.at_most, self.below):
            if limit is not None:
                as_threshold(limit)
        if self.times is not None:
            as_times(self.times, "ART: times")
        for name in ("values", "excluded"):
            texts = getattr(self, name)
            if isinstance(texts, str):
                raise InputError(f"ART: {name} must be a list, such as [{texts!r}]")
            if texts is not None:
                set_fields(self, **{name: tuple(str(label) for label in texts)})
        if self.values is not None and (not self.values or self.excluded):
            raise InputError("ART: give values or excluded, and at least one value")

    def __repr__(self) -> str:
        """The limit as it is written, with the arguments that were given."""
        arguments = [repr(self.priors)]
        limits = {"at_most": self.at_most, "below": self.below, "times": self.times}
        for name, limit in limits.items():
            if limit is not None:
                arguments.append(f"{name}={limit}")
        if self.values is not None:
            arguments.append(f"values={list(self.values)}")
        if self.excluded:
            arguments.append(f"excluded={list(self.excluded)}")
        return f"Limit({', '.join(arguments)})"

    def about(self, labels: Sequence[str]) -> NDArray[np.bool_]:
        """True for each sensitive value that is limited."""
        return chosen(labels, self.values, self.excluded)

    def tables(
        self, priors: PriorMatrix, labels: Sequence[str], people: IntArray
    ) -> list[LimitTable]:
        """The limits on each signature and value: one table, or one for each value of the sets.

        `labels` are the sensitive values by code; `people` counts who has each. Each value of a set
        gets a share of the limit, by the number of people who have it, so that the sum keeps the
        limit.
        """
        if self.sets is None:
            return [self.table(priors, self.about(labels))]
        limit_tables = []
        for members in self.sets(Labels(labels)).values():
            codes = [labels.index(member) for member in members]
            holders = int(people[codes].sum())
            for code in codes:
                share = Fraction(int(people[code]), holders)
                # A multiple of the prior (`times`) is not divided: it already differs by value.
                of_value = replace(self, sets=None)
                if self.at_most is not None:
                    of_value = replace(of_value, at_most=as_fraction(self.at_most) * share)
                if self.below is not None:
                    of_value = replace(of_value, below=as_fraction(self.below) * share)
                limit_tables.append(of_value.table(priors, np.arange(len(labels)) == code))
        # No set has a member in this table: a table without limits.
        nobody = np.zeros(len(labels), dtype=bool)
        return limit_tables or [replace(self, sets=None).table(priors, nobody)]

    def table(self, priors: PriorMatrix, is_asked: NDArray[np.bool_]) -> LimitTable:
        """The limit for each signature and value; none for values that are not asked about.

        `is_asked` is True for the codes of values that are asked about.
        """
        shares = []
        if self.at_most is not None:
            shares.append((as_fraction(self.at_most), False))
        if self.below is not None:
            shares.append((as_fraction(self.below), True))
        # Of `at_most` and `below`, the tighter one counts.
        share = min(shares, key=tightness, default=NO_LIMIT)
        shape = priors.chances.shape
        # One limit for everybody: a table that takes no memory.
        if self.times is None and is_asked.all():
            return LimitTable.same(shape, *share)
        times = None if self.times is None else as_fraction(self.times)
        rows = []
        for s in range(shape[0]):
            row = [NO_LIMIT] * shape[1]
            for x in np.flatnonzero(is_asked).tolist():
                row[x] = share
                if times is not None:
                    row[x] = min(share, (times * priors.exact(s, x), False), key=tightness)
            rows.append(row)
        return LimitTable.of_shares(rows)


def tightness(share: Share) -> tuple[Fraction, bool]:
    """The key that orders limits: a strict one is tighter than the same one that may be reached."""
    return share[0], not share[1]


@dataclass(frozen=True, eq=False, repr=False)
class LimitTable:
    """The greatest posterior allowed, ``num / den``, by signature and value; 1 without a limit.

    >>> table = LimitTable.of_shares([[(Fraction(1, 3), False), NO_LIMIT]])
    >>> table.num.tolist(), table.den.tolist(), table.floats.round(3).tolist()
    ([[1, 1]], [[3, 1]], [[0.333, inf]])
    """

    num: NDArray[Any]  # int64, or Python's whole numbers where these are large
    den: NDArray[Any]
    strict: NDArray[np.bool_]  # whether the limit must not be reached

    @classmethod
    def of_shares(cls, rows: Sequence[Sequence[Share]]) -> LimitTable:
        """Make a table of rows of limits, each a pair (limit, whether it must not be reached).

        A limit above 1 limits nothing.
        """
        shape = len(rows), len(rows[0]) if rows else 0
        num, den = np.empty(shape, dtype=object), np.empty(shape, dtype=object)
        strict = np.empty(shape, dtype=bool)
        for row_number, row in enumerate(rows):
            for column, share in enumerate(row):
                limit, strict[row_number, column] = min(share, NO_LIMIT, key=tightness)
                num[row_number, column], den[row_number, column] = (
                    limit.numerator,
                    limit.denominator,
                )
        # Small numbers as int64, which is fast; others stay Python's integers, which cannot
        # overflow.
        if max(num.max(initial=0), den.max(initial=0)) <= _WHOLE:
            num, den = num.astype(np.int64), den.astype(np.int64)
        return cls(num, den, strict)

    @classmethod
    def same(cls, shape: tuple[int, ...], limit: Fraction, strict: bool = False) -> LimitTable:
        """One limit for everybody and every value."""
        cell = cls.of_shares([[(limit, strict)]])
        return cls(*(np.broadcast_to(array, shape) for array in (cell.num, cell.den, cell.strict)))

    def tightest(self, second: LimitTable) -> LimitTable:
        """The tighter of two tables' limits, for each signature and value."""
        # a/b < c/d if a d < c b. Of equal limits, one that must not be reached is tighter.
        cross_product, other_cross_product = self.num * second.den, second.num * self.den
        is_tighter = (cross_product < other_cross_product) | (
            (cross_product == other_cross_product) & self.strict
        )
        return LimitTable(
            np.where(is_tighter, self.num, second.num),
            np.where(is_tighter, self.den, second.den),
            np.where(is_tighter, self.strict, second.strict),
        )

    def tightened(
        self, amounts: Amounts, frequent: Sequence[tuple[Fraction, Fraction]] = ()
    ) -> LimitTable:
        """Limits on shares c/N of groups of one signature that also hold with facts on top.

        Facts rule out l values and name the values of k people, so ``c / (N - k - those who have
        the l values)`` must keep the limit L. If every value has at most the share ``s = L / (1 + L
        (l + k))``, it does: the l values have at most l s N people, and k is at most k s N, since 1
        <= c <= s N.

        That is too strict for frequent values. `frequent` has for each value its share of the
        table, and the share of the table that is left if the l most frequent others are ruled out.
        A value whose share is near the strict limit may have more, for groups that look like the
        table: such groups are judged again, exactly.
        """
        l, k, _ = amounts
        if not l and not k:
            return self
        rows = []
        for signature in range(len(self.num)):
            row = []
            for value in range(self.num.shape[1]):
                limit, strict = self.share(signature, value)
                tightened = limit / (1 + limit * (l + k))
                if frequent and frequent[value][0] > tightened * _LIKELY:
                    tightened = max(tightened, limit * frequent[value][1] * _LIKELY)
                # A limit of 1 that may be reached is none, and stays so.
                row.append((tightened if limit < 1 or strict else limit, strict))
            rows.append(row)
        return LimitTable.of_shares(rows)

    def rows(self, signatures: IntArray) -> LimitTable:
        """The rows of some signatures, in that order."""
        return LimitTable(self.num[signatures], self.den[signatures], self.strict[signatures])

    @cached_property
    def rounded(self) -> LimitTable:
        """The limits in 64-bit numbers, for shares c/N of groups of up to 2**31 people."""
        if self.num.dtype != object:
            return self
        num, den, strict = self.num.copy(), self.den.copy(), self.strict.copy()
        for cell in map(tuple, np.argwhere(self.den > _WHOLE).tolist()):
            # A little lower than the limit, so the limit itself cannot be reached.
            below = _fraction_below(Fraction(int(num[cell]), int(den[cell])), _WHOLE)
            num[cell], den[cell], strict[cell] = below.numerator, below.denominator, False
        return LimitTable(num.astype(np.int64), den.astype(np.int64), strict)

    @cached_property
    def limited(self) -> NDArray[np.bool_]:
        """True where there is a limit."""
        return np.asarray((self.num != self.den) | self.strict, dtype=bool)

    @cached_property
    def floats(self) -> FloatArray:
        """Limits as floats; infinite where there is none."""
        return np.where(self.limited, (self.num / self.den).astype(np.float64), np.inf)

    @cached_property
    def least(self) -> IntArray:
        """How many people a group needs at least for one who has the value; 0 where never.

        The least N with 1/N within the limit num/den: den/num, rounded up; above it if strict.
        """
        sizes = np.zeros(self.num.shape, dtype=np.int64)
        is_positive = np.asarray(self.num > 0, dtype=bool)
        num, den = self.num[is_positive], self.den[is_positive] + self.strict[is_positive]
        sizes[is_positive] = np.minimum(-(-den // num), _WHOLE).astype(np.int64)
        return sizes

    def share(self, signature: int, value: int) -> Share:
        """The limit of one signature and value."""
        cell = signature, value
        return Fraction(int(self.num[cell]), int(self.den[cell])), bool(self.strict[cell])

    def holds(self, signature: int, value: int, posterior: Fraction) -> bool:
        """True if a posterior keeps its limit."""
        limit, strict = self.share(signature, value)
        return posterior < limit if strict else posterior <= limit


def _fraction_below(limit: Fraction, max_denominator: int) -> Fraction:
    """The greatest fraction with a denominator up to `max_denominator` below a finer one.

    Neighbours a/b and p/q in a Farey sequence have ``a q - b p = 1`` (Hardy and Wright, theorem
    28).

    >>> _fraction_below(Fraction(667, 1000), 10), _fraction_below(Fraction(666, 1000), 10)
    (Fraction(2, 3), Fraction(5, 8))
    """
    approximation = limit.limit_denominator(max_denominator)
    if approximation < limit:
        return approximation
    a, b = approximation.numerator, approximation.denominator
    # The nearest fraction a/b lies above, or is the limit: take its left neighbour p/q, of which q
    # is the largest number up to `max_denominator` with a q = 1 modulo b.
    q = max_denominator - (max_denominator - pow(a, -1, b)) % b
    return Fraction((a * q - 1) // b, q)
