"""Profiles: what a (group, value) cell can do for an adversary who knows facts.

T and V of a cell depend on three numbers only, and each moves one way in each: fewer people n, more
holders s of the value, or less to spare can only lower them. So every minimum over groups is
attained at an undominated profile, of which a release has a handful per value however large it is.

What a cell has to spare is, under ``single``, how many people have neither the value nor one of
the l most frequent others; under ``set`` and ``multiset`` the chance that the target has none of
the l most frequent others.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.counts_cache import remembered
from foreknow.data.arrays import FloatArray, IntArray, order_of, ranges
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.impossible.possible_values import JointMembers
from foreknow.data.labels.labels import Label, in_order
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.numbers import CLOSE

# An amount of facts, of all cells alike or of each.
Amount: TypeAlias = "int | IntArray"
# l, k and m.
Amounts: TypeAlias = tuple[int, int, int]
# What a target is known not to have; how many others are known to have what; how many relatives.
Spelled: TypeAlias = tuple[list[Label], dict[Label, int], int]

# Where the k known people are: with target and family in one group, with the family in another
# group than the target, or with the target in another group than the family.
Place: TypeAlias = Literal["one group", "with family", "with target"]

_BLOCK = 1 << 16
TINY = float(np.nextafter(0, 1))


def capped(amount: Amount) -> Amount:
    """An amount, but no more than any release has people, so that whole numbers do not overflow."""
    return min(amount, 2**61) if isinstance(amount, int) else np.minimum(amount, 2**61)


def t_ratio(n: IntArray, s: IntArray, slack: NDArray[Any], k: Amount) -> FloatArray:
    """T(l, k): odds against the target having a value that s people of the group have.

    `slack` people have neither this value nor one of the l that are ruled out; k of them are known.
    """
    odds: FloatArray = np.maximum(slack - capped(k), 0).astype(np.float64)
    odds /= s
    return odds


def v_ratio(n: IntArray, s: IntArray, m: Amount, k: Amount) -> FloatArray:
    """V(m, k): the chance that none of m linked people has the value, with k people known.

    For each group with n people, s of whom have the value, as float64. The k known people do not
    have it.
    """
    none = np.equal(m, 0)
    if none.all():
        return np.ones(len(n))
    m, k = capped(m), capped(k)
    # 0 if fewer than m people are left who lack the value.
    possible = (n - s - k - (m - 1) > 0) & ~none
    product = (possible | none).astype(np.float64)
    if not possible.any():
        return product
    inside = np.flatnonzero(possible) if not possible.all() else slice(None)
    # From here on, only groups where it is above 0.
    free = (n - k)[inside].astype(np.float64)
    holders = s[inside].astype(np.float64)
    family = m if isinstance(m, int) else m[inside].astype(np.float64)
    # The same chance, counted from the family or from the holders of the value: fewer factors.
    fewest, n_family = int(holders.max()), int(np.max(family))
    if n_family <= fewest:
        upto = None if isinstance(family, int) else family
        product[inside] = _falling(free - holders, free, n_family, upto)
    else:
        product[inside] = _falling(free - family, free, fewest, holders)
    # A chance above 0 stays above 0 in floats.
    product[inside] = np.maximum(product[inside], TINY)
    return product


def safe_product(first: FloatArray, second: FloatArray) -> FloatArray:
    """Multiply ratios so that a product is 0 only if a factor is, never by underflow."""
    with np.errstate(invalid="ignore"):
        product = first * second
    if product.all():
        return product
    lost = (product == 0) & (first > 0) & (second > 0)
    return np.where(lost, TINY, product)


def _falling(
    top: FloatArray, bottom: FloatArray, steps: int, upto: FloatArray | None = None
) -> FloatArray:
    """The product over i < steps (and i < upto) of (top - i) / (bottom - i), for each entry.

    In blocks, so that no table of all factors is needed.
    """
    product = np.ones(len(top))
    block = max(1, _BLOCK // max(1, len(top)))
    for start in range(0, steps, block):
        i = np.arange(start, min(start + block, steps), dtype=np.float64)[:, None]
        if upto is None:
            product *= np.prod((top - i) / (bottom - i), axis=0)
        else:
            is_counted = i < upto
            upper = np.where(is_counted, top - i, 1.0)
            product *= np.prod(upper / np.where(is_counted, bottom - i, 1.0), axis=0)
    return product


def t_exact(n: int, s: int, slack: Fraction, k: int) -> Fraction:
    """T(l, k) of one group: the odds against a target's having a value that s people have.

    Of those to spare, k people are known to have other values.
    """
    return Fraction(max(int(slack) - k, 0), s)


def t_able(s: IntArray, slack: IntArray, able_terms: IntArray, k: Amount) -> FloatArray:
    """T(l, k), the odds against the value where some members cannot have it, as float64.

    See `t_able_exact`, which gives fractions. `able_terms` has a row (others, ruled out, rest) for
    each entry; others of 0 mean that the second term is not needed.
    """
    k = capped(k)
    odds: FloatArray = np.maximum(slack - k, 0).astype(np.float64)
    divided = np.flatnonzero(able_terms[:, 0])
    n_others, out, n_rest = able_terms[divided].T
    # Known people beyond the slack are among the others.
    beyond = np.maximum((k if isinstance(k, int) else k[divided]) - slack[divided], 0)
    room = np.maximum(n_rest - beyond, 0)
    odds[divided] += np.maximum(n_others - beyond, 0) * (
        np.maximum(room - out, 0) / np.maximum(room, 1)
    )
    odds /= s
    return odds


def t_able_exact(s: int, slack: int, able_terms: Sequence[int], k: int) -> Fraction:
    """T(l, k) of one group as a fraction, where some members cannot have the value.

    The odds are (ways to have another value) / s. The target may have another value that these
    members cannot have either: `slack` people do. Or the target is one of the others, who have no
    such value, and then has one of the `n_rest` remaining values with equal chances, `out` of which
    are ruled out. `able_terms` is (others, out, n_rest). The k known people have values of the
    first sort, as long as there are any: nothing lowers the odds more.
    """
    n_known = min(k, slack)
    n_others, out, n_rest = able_terms
    # Known people beyond the slack are taken from the others, with their values.
    free, room = n_others - (k - n_known), n_rest - (k - n_known)
    odds = Fraction(slack - n_known)
    if min(free, room) > 0:
        odds += Fraction(free * max(room - out, 0), room)
    return odds / s


def v_exact(n: int, s: int, m: int, k: int) -> Fraction:
    """V(m, k) of one group: the chance that m relatives lack a value that s of n people have.

    The relatives are anybody but k people, who are known to lack the value.
    """
    if m == 0:
        return Fraction(1)
    if n - s - k - (m - 1) <= 0:
        return Fraction(0)
    # The same chance, counted from the relatives or from the holders: the shorter product.
    if m <= s:
        return Fraction(math.perm(n - s - k, m), math.perm(n - k, m))
    return Fraction(math.perm(n - k - m, s), math.perm(n - k, s))


# ---- ratios -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Profiles:
    """Profiles of cells; arrays of one shape."""

    value: IntArray  # the code of the sensitive value
    group: IntArray
    n: IntArray  # people; where not all can have the value, those who can
    s: IntArray  # holders of the value; under ``multiset`` occurrences
    slack: NDArray[Any]  # int64 under ``single``, float64 otherwise
    # with equal `n` and `kind` slack is equal; None under ``single``, where it is exact
    kind: IntArray | None
    counts: GroupCounts  # what they were made of, for exact fractions
    l: int  # how many other values are used
    # where not everybody can have each value, shape (cells, 3): see `t_able_exact`
    able_terms: IntArray | None = None

    def __len__(self) -> int:
        return len(self.value)

    @property
    def formulas(self) -> OneValue:
        """The formulas for these cells."""
        return formulas_of(self.counts)

    def t(self, k: Amount) -> FloatArray:
        """T(l, k) of each profile."""
        if self.able_terms is not None:
            return t_able(self.s, self.slack, self.able_terms, k)
        return self.formulas.t(self.n, self.s, self.slack, k)

    def t_exact(self, k: int) -> list[Fraction]:
        """The same as fractions."""
        n, s = self.n.tolist(), self.s.tolist()
        if self.able_terms is not None:
            numbers_of_cells = zip(s, self.slack.tolist(), self.able_terms.tolist(), strict=True)
            return [t_able_exact(*numbers, k) for numbers in numbers_of_cells]
        numbers_of_cells = zip(n, s, self.exact_slack(), strict=True)
        return [self.formulas.t_exact(*numbers, k) for numbers in numbers_of_cells]

    def v_exact(self, m: int, k: int) -> list[Fraction]:
        """V(m, k) of each profile as fractions."""
        numbers_of_cells = zip(self.n.tolist(), self.s.tolist(), strict=True)
        return [self.formulas.v_exact(*numbers, m, k) for numbers in numbers_of_cells]

    def v(self, m: Amount, k: Amount) -> FloatArray:
        """V(m, k) of each profile."""
        return self.formulas.v(self.n, self.s, m, k)

    @property
    def identity(self) -> IntArray:
        """Whole numbers that are equal where the slack is, among profiles of equal `n`."""
        return self.slack if self.kind is None else self.kind

    @property
    def numbers(self) -> list[IntArray]:
        """The whole numbers on which the fractions depend, beside the value."""
        return [
            self.identity,
            self.s,
            self.n,
            *(() if self.able_terms is None else self.able_terms.T),
        ]

    def content(self) -> bytes:
        """A key that is equal for profiles that no fraction tells apart; under ``single``."""
        return np.concatenate(self.numbers).tobytes()

    def exact_slack(self) -> list[Fraction]:
        """The slack of each profile, as fractions."""
        if self.kind is None:
            return list(map(Fraction, self.slack.tolist()))
        cells = zip(self.value.tolist(), self.group.tolist(), strict=True)
        return [self._exact_slack(value, group) for value, group in cells]

    def _exact_slack(self, value: int, group: int) -> Fraction:
        bag = self.counts.bag(group)
        s = bag.pop(self.counts.values[value])
        other_counts = sorted(bag.values(), reverse=True)[: self.l]
        return self.formulas.slack_exact(int(self.counts.sizes[group]), s, other_counts)

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(x.nbytes for x in self._columns if x is not None)

    @property
    def _columns(self) -> tuple[Any, ...]:
        return self.value, self.group, self.n, self.s, self.slack, self.kind, self.able_terms

    def _of_columns(self, columns: Iterable[Any]) -> Profiles:
        value, group, n, s, slack, kind, able_terms = columns
        return Profiles(
            value, group, n, s, slack, kind, counts=self.counts, l=self.l, able_terms=able_terms
        )

    def take(self, index: NDArray[Any] | slice) -> Profiles:
        """The profiles at an index or mask."""
        return self._of_columns(None if x is None else x[index] for x in self._columns)

    def of(self, code: int) -> Profiles:
        """The profiles of one value; all must be in order of value."""
        first, last = np.searchsorted(self.value, (code, code + 1))
        return self.take(slice(first, last))

    def join(self, *added: Profiles) -> Profiles:
        """One set of profiles with these and further ones of the same counts.

        Under ``single``, the counts may differ, since fractions need none.
        """
        to_join = [self, *added]
        # All or none must have terms for people who cannot have a value.
        if any(profiles.able_terms is not None for profiles in to_join):
            to_join = [
                profiles if profiles.able_terms is not None else profiles._with_able_terms
                for profiles in to_join
            ]
        joined: list[Any] = []
        for columns in zip(*(profiles._columns for profiles in to_join), strict=True):
            is_absent = columns[0] is None
            joined.append(None if is_absent else np.concatenate(columns))
        return self._of_columns(joined)

    @property
    def _with_able_terms(self) -> Profiles:
        """The same profiles with terms for people who cannot have the value: there are none."""
        return replace(self, able_terms=np.zeros((len(self), 3), dtype=np.int64))

    def by_value(self) -> Profiles:
        """These profiles in order of value."""
        return self.take(order_of(self.value))

    @property
    def starts(self) -> IntArray:
        """The place at which the profiles of each value begin."""
        first = np.ones(min(1, len(self)), dtype=bool)
        return np.flatnonzero(np.concatenate((first, self.value[1:] != self.value[:-1])))

    def distinct(self) -> Profiles:
        """Drop profiles that equal another one of the same value; in order."""
        return self.take(self.alike()[0])

    def alike(self) -> tuple[IntArray, IntArray]:
        """The position of one profile of each kind, and the kind of each profile.

        Profiles of one kind have the same value and equal numbers, so no fraction tells them apart.
        """
        kind = _numbers_of_rows([*self.numbers, self.value])
        first = np.empty(int(kind.max(initial=-1)) + 1, dtype=np.int64)
        # Written from the last to the first, so that the first one stays.
        first[kind[::-1]] = np.arange(len(kind) - 1, -1, -1)
        return first, kind

    def once_known(self, k: int) -> Profiles:
        """The profiles once k people are known: their T(l, 0) is T(l, k) of these.

        For cells of groups in which not everybody can have each value. Known people come off the
        slack first, and then off the others and their values.
        """
        assert self.able_terms is not None
        n_known = np.minimum(k, self.slack)
        fewer = np.outer(k - n_known, [1, 0, 1])
        return replace(
            self, slack=self.slack - n_known, able_terms=np.maximum(self.able_terms - fewer, 0)
        )

    def worst_of_cells(
        self, ratio: FloatArray, kind: IntArray
    ) -> tuple[Profiles, IntArray, FloatArray]:
        """The profile with the least ratio in each cell, its kind and its ratio.

        A cell is a value of a group; it may have several profiles, one for each way to rule values
        out.
        """
        cell = _numbers_of_rows([self.value, self.group])
        # By cell, and within it by ratio: the first of each cell is its least.
        order = np.lexsort((ratio, cell))
        first = order[np.searchsorted(cell[order], np.arange(int(cell.max(initial=-1)) + 1))]
        return self.take(first), kind[first], ratio[first]

    def undominated(self, effort: int | None = None) -> Profiles:
        """The profiles without those that another one of the same value is surely as bad as.

        Each round compares the profiles of a value with its worst one. With `effort`, it stops
        after about so many comparisons for each profile.
        """
        alive = self
        blocks: list[Profiles] = []
        n_values = int(self.value.max(initial=-1)) + 1
        looked_at = 0
        while len(alive) and (effort is None or looked_at < effort * len(self)):
            looked_at += len(alive)
            # The pivot of a value is its profile with the lowest score, which dominates most
            # others.
            score = alive.score
            lowest = np.full(n_values, np.inf)
            np.minimum.at(lowest, alive.value, score)
            candidates = np.flatnonzero(score == lowest[alive.value])
            chosen = np.zeros(n_values, dtype=np.int64)
            # The first of equal ones, so that ties go to the first group.
            chosen[alive.value[candidates[::-1]]] = candidates[::-1]
            pivots = np.unique(chosen[alive.value[candidates]])
            pivot = alive.take(chosen[alive.value])
            better = alive.better_than(pivot)
            # Pivots are kept, and all that they dominate are dropped: compare the rest again.
            better[pivots] = False
            blocks.append(alive.take(pivots))
            alive = alive.take(better)
        return alive.join(*blocks).by_value()

    @property
    def score(self) -> FloatArray:
        """A score that chooses profiles to compare with: those with the lowest dominate most."""
        spare = self.slack if self.able_terms is None else self.slack + self.able_terms[:, 0]
        # Profiles with none to spare are told apart, too.
        return (spare + (1.0 if self.kind is None else 1e-9)) * self.n / self.s

    def better_than(self, counterpart: Profiles) -> NDArray[np.bool_]:
        """True for each profile that its counterpart does not dominate, or may not.

        It is better for the adversary to have fewer people, more holders, or less slack.
        """
        better = (
            (self.n < counterpart.n) | (self.s > counterpart.s) | self._has_less_slack(counterpart)
        )
        if self.able_terms is not None and counterpart.able_terms is not None:
            # For the adversary, fewer others, more of them ruled out, and fewer remaining values
            # are better.
            lower = self.able_terms < counterpart.able_terms
            better |= (
                lower[:, 0] | lower[:, 2] | (self.able_terms[:, 1] > counterpart.able_terms[:, 1])
            )
        return better

    def _has_less_slack(self, counterpart: Profiles) -> NDArray[np.bool_]:
        """True for each profile that has less slack than its counterpart, or may have.

        `slack` is a float except under ``single``, so near ones count as less unless they are
        surely equal.
        """
        if self.kind is None:
            return self.slack < counterpart.slack
        assert counterpart.kind is not None
        surely_more = self.slack > counterpart.slack * (1 + CLOSE)
        same = (self.kind == counterpart.kind) & (self.n == counterpart.n)
        # 0 and 1 are exact: nothing to spare, and nothing known of the target.
        same |= (self.slack == counterpart.slack) & ((self.slack == 0) | (self.slack == 1))
        return np.asarray(~(surely_more | same))


def profiles(counts: GroupCounts, l: int, is_wanted: NDArray[np.bool_] | None = None) -> Profiles:
    """Profiles of all cells of the wanted values, by group, with l other values ruled out."""
    cells = slice(None) if is_wanted is None else np.flatnonzero(is_wanted[counts.codes])
    return formulas_of(counts).profiles(counts, l, cells)


# ---- what people may have -----------------------------------------------------------------------


@dataclass(frozen=True)
class ExactMinimum:
    """The least negated ratio as a fraction, and where it is attained."""

    ratio: Fraction
    target: int  # codes of groups
    family: int
    place: Place  # where the known people are

    @property
    def probability(self) -> Fraction:
        """The breach probability."""
        return 1 / (1 + self.ratio)

    @property
    def known_group(self) -> int:
        """The group of the known people."""
        return self.family if self.place == "with family" else self.target


class OneValue:
    """Cells of groups in which everybody has one value, and anybody may have each."""

    t = staticmethod(t_ratio)
    v = staticmethod(v_ratio)
    t_exact = staticmethod(t_exact)
    v_exact = staticmethod(v_exact)
    # whether the largest counts of a group tell how sure somebody can be there
    by_largest: ClassVar[bool] = True
    # whether what a cell has to spare at each l is a whole number, or falls with one
    ordered: ClassVar[bool] = True

    @staticmethod
    def slack_exact(n: int, s: int, other_counts: Sequence[int]) -> Fraction:
        """How many people have neither the value nor one of the others."""
        return Fraction(n - s - sum(other_counts))

    def profiles(self, counts: GroupCounts, l: int, cells: Any) -> Profiles:
        """Profiles of some cells (values of groups), with l other values ruled out.

        In the order of the cells; where not everybody can have each value, in any order.
        """
        group, s = counts.cell_groups[cells], counts.counts[cells]
        slack, kind = self.slack(counts, l, cells, group, s)
        return Profiles(
            value=counts.codes[cells],
            group=group,
            n=counts.sizes[group],
            s=s,
            slack=slack,
            kind=kind,
            counts=counts,
            l=l,
        )

    def slack(
        self, counts: GroupCounts, l: int, cells: Any, group: IntArray, s: IntArray
    ) -> tuple[NDArray[Any], IntArray | None]:
        """The slack of cells; and, where it is a float, which are exactly equal."""
        return counts.sizes[group] - self.excluded(counts, l, group, s), None

    def excluded(self, counts: GroupCounts, l: int, group: IntArray, s: IntArray) -> IntArray:
        """How many people have a cell's value or one of the l most frequent others of its group.

        ``s[i]`` people have the value of cell i, which is in ``group[i]``. The sum is that of the l
        + 1 largest counts if the value is among these, and of the l largest and s if not: always
        the smaller of both.
        """
        if len(group) > counts.n_groups:  # then group by group
            larger, fewer = counts.top_sums(l + 1)[group], counts.top_sums(l)[group]
        else:
            larger, fewer = counts.top_sums(l + 1, group), counts.top_sums(l, group)
        return np.asarray(np.minimum(larger, fewer + s))

    def spare(self, n: IntArray, s: IntArray, excluded: IntArray) -> IntArray:
        """Whole numbers that order cells of n people and s holders by their slack."""
        return n - excluded

    def columns(self, l: int) -> int:
        """How many columns of cells are worked on at once."""
        return 1

    def kinds(self, counts: GroupCounts) -> IntArray:
        """A number for each cell (value of a group), equal for cells that are equally safe.

        These are values of equal counts, in groups with equal counts, whatever the values are.
        """
        # The counts of each group, the most frequent first: bytes that are equal for equal bags.
        ranked = counts.counts[ranked_cells(counts)[1]]
        numbers: dict[tuple[int, bytes], int] = {}  # of a size and the counts of a group
        group_kind = np.empty(len(counts.sizes), dtype=np.int64)
        ends = counts.offsets[1:].tolist()
        start = 0
        for position, (size, end) in enumerate(zip(counts.sizes.tolist(), ends, strict=True)):
            shape = size, ranked[start:end].tobytes()
            group_kind[position] = numbers.setdefault(shape, len(numbers))
            start = end
        group = group_kind[counts.cell_groups]
        pairs = np.stack((group, counts.counts))
        kind: IntArray = np.unique(pairs, axis=1, return_inverse=True)[1]
        return kind.ravel()

    def bounded(self, counts: GroupCounts) -> NDArray[np.bool_]:
        """True for values whose odds are only a bound, shape (values,)."""
        return np.zeros(counts.n_values, dtype=bool)

    # ---- the facts that attain a minimum ----------------------------------------------------

    def spelled(
        self, counts: GroupCounts, code: int, amounts: Amounts, minimum: ExactMinimum
    ) -> Spelled | None:
        """The facts that attain a minimum; None if none are stated.

        They are the values ruled out, the known people's values with how many have each, and the
        number of links, for `amounts` (l, k, m). If the adversary is certain, only as many as that
        takes are named: links are dropped first, then known people, then values.
        """
        l, k, m = amounts
        bag = counts.bag(minimum.target)
        bag.pop(counts.values[code])
        ruled_out = _by_frequency(bag)[:l]
        # Of odds of 0, the adversary is certain.
        if minimum.ratio == 0:
            counts_ruled_out = [bag[label] for label in ruled_out]
            l, k, m = self._fewest_for_certainty(counts, code, counts_ruled_out, k, m, minimum)
            ruled_out = ruled_out[:l]
        return ruled_out, self.known_people(counts, code, ruled_out, k, minimum), m

    def _fewest_for_certainty(
        self,
        counts: GroupCounts,
        code: int,
        counts_ruled_out: list[int],
        k: int,
        m: int,
        minimum: ExactMinimum,
    ) -> Amounts:
        """The fewest values ruled out, people known and links (l, k, m) that make it certain.

        `counts_ruled_out` says how many people have each of the values that may be ruled out.
        """
        value = counts.values[code]
        n, family_n = int(counts.sizes[minimum.target]), int(counts.sizes[minimum.family])
        s, family_s = counts.bag(minimum.target)[value], counts.bag(minimum.family)[value]
        known_beside_target = minimum.place != "with family"
        known_beside_family = minimum.place != "with target"

        def is_certain(l: int, k: int, m: int) -> bool:
            """True if the odds are 0 with so many values ruled out, people known, and links."""
            slack = self.slack_exact(n, s, counts_ruled_out[:l])
            if self.t_exact(n, s, slack, k if known_beside_target else 0) == 0:
                return True
            n_taken = (k if known_beside_family else 0) + (minimum.target == minimum.family)
            return self.v_exact(family_n, family_s, m, n_taken) == 0

        l, k, m = len(counts_ruled_out), min(k, n + family_n), min(m, family_n)
        m = bisect_left(range(m), True, key=lambda fewer: is_certain(l, k, fewer))
        k = bisect_left(range(k), True, key=lambda fewer: is_certain(l, fewer, m))
        l = bisect_left(range(l), True, key=lambda fewer: is_certain(fewer, k, m))
        return l, k, m

    def known_people(
        self, counts: GroupCounts, code: int, used: list[Label], k: int, minimum: ExactMinimum
    ) -> dict[Label, int]:
        """The values that the known people have in the worst case: how many have each."""
        return _most_frequent_people(_bag_of_others(counts, code, used, minimum), k)


class SeveralValues(OneValue):
    """Cells of groups in which a person may have several values, or none."""

    by_largest = False

    def known_people(
        self, counts: GroupCounts, code: int, used: list[Label], k: int, minimum: ExactMinimum
    ) -> dict[Label, int]:
        """The known people, who are known not to have the value."""
        return {counts.values[code]: k} if k else {}


class SetOfValues(SeveralValues):
    """Cells where a person has a set of values."""

    ordered = False

    @staticmethod
    def t(n: IntArray, s: IntArray, slack: FloatArray, k: Amount) -> FloatArray:
        """T(l, k) under ``set``, as float64."""
        odds = np.maximum(n - s - capped(k), 0) / s
        return safe_product(odds, slack)

    @staticmethod
    def t_exact(n: int, s: int, slack: Fraction, k: int) -> Fraction:
        """T(l, k) of one group under ``set`` as a fraction."""
        return Fraction(max(n - s - k, 0), s) * slack

    @staticmethod
    def slack_exact(n: int, s: int, other_counts: Sequence[int]) -> Fraction:
        """Chance of having none of some values under ``set``, as a fraction."""
        chance = Fraction(1)
        for count in other_counts:
            chance *= Fraction(n - count, n)
        return chance

    def slack(
        self, counts: GroupCounts, l: int, cells: Any, group: IntArray, s: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """The chance that a person has none of the l most frequent other values, for each cell.

        Cells are values of groups; `group` is the group of each. The second array numbers equal
        chances.
        """
        l = min(l, int(np.diff(counts.offsets).max(initial=0)))
        rank, top_cells = ranked_cells(counts)
        # For each group that occurs, its l + 1 largest counts; 0 where it has fewer values.
        present, position = np.unique(group, return_inverse=True)
        starts, ends = counts.offsets[present], counts.offsets[present + 1]
        largest_counts = np.zeros((len(present), l + 1), dtype=np.int64)
        for i in range(l + 1):
            is_present = starts + i < ends
            largest_counts[is_present, i] = counts.counts[top_cells[starts[is_present] + i]]
        # Skip the cell's own value if it is among them, and else the last.
        column, skipped = np.arange(l), np.minimum(rank[cells], l)[:, None]
        other_counts = largest_counts[position[:, None], column + (column >= skipped)]
        # A person lacks a value that c of n people have with the chance (n - c) / n, whatever else.
        n, chance = counts.sizes[group], np.ones(len(group))
        for n_holders in other_counts.T:
            chance = safe_product(chance, (n - n_holders) / n)
        return chance, _numbers_of_rows([*other_counts.T, n])

    def columns(self, l: int) -> int:
        """How many columns of cells are worked on at once."""
        return l + 1


class BagOfValues(SeveralValues):
    """Cells where a person has a bag of values: each occurrence may be anybody's."""

    @staticmethod
    def t(n: IntArray, s: IntArray, slack: FloatArray, k: Amount) -> FloatArray:
        """T(l, k), the odds against the value, under ``multiset``, as float64.

        s times the value occurs in a group of n people, k of whom are known not to have it; `slack`
        is the chance that none of the l ruled out values is the target's.
        """
        # Each of s occurrences is somebody's among `free` people: the target lacks all with the
        # chance ((free - 1) / free) ** s.
        free = n - capped(k)
        possible = free > 1
        rate = s * np.log1p(-1 / np.where(possible, free, 2))  # log of the chance of no occurrence
        odds = np.maximum(np.exp(rate) / -np.expm1(rate), TINY)
        return safe_product(np.where(possible, odds, 0.0), slack)

    @staticmethod
    def v(n: IntArray, s: IntArray, m: Amount, k: Amount) -> FloatArray:
        """V(m, k), the chance that none of m linked people has the value, under ``multiset``.

        s times it occurs in a group of n people, k of whom are known. Under ``set`` it is as under
        ``single``.
        """
        m = capped(m)
        free = n - capped(k)
        possible = free > m
        # None of s occurrences falls on one of m people out of `free`.
        share = np.where(possible, m, 0) / np.where(possible, free, 1)
        chance = np.maximum(np.exp(s * np.log1p(-share)), TINY)
        return np.where(possible | np.equal(m, 0), chance, 0.0)

    @staticmethod
    def t_exact(n: int, s: int, slack: Fraction, k: int) -> Fraction:
        """T(l, k) of one group under ``multiset`` as a fraction."""
        free = n - k
        if free <= 1:
            return Fraction(0)
        none = (free - 1) ** s
        return Fraction(none, free**s - none) * slack

    @staticmethod
    def v_exact(n: int, s: int, m: int, k: int) -> Fraction:
        """V(m, k) of one group under ``multiset`` as a fraction."""
        if m == 0:
            return Fraction(1)
        if n - k - m <= 0:
            return Fraction(0)
        return Fraction(n - k - m, n - k) ** s

    @staticmethod
    def slack_exact(n: int, s: int, other_counts: Sequence[int]) -> Fraction:
        """Chance of having none of some values under ``multiset``, as a fraction."""
        return Fraction(n - 1, n) ** sum(other_counts)

    def slack(
        self, counts: GroupCounts, l: int, cells: Any, group: IntArray, s: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """The slack: the chance of no occurrence of the other values; and how often these occur."""
        n, n_others = counts.sizes[group], self.excluded(counts, l, group, s) - s
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.maximum(np.exp(n_others * np.log1p(-1 / n)), TINY)
        return np.where(n_others == 0, 1.0, np.where(n == 1, 0.0, chance)), n_others

    def spare(self, n: IntArray, s: IntArray, excluded: IntArray) -> IntArray:
        """Whole numbers that order cells of n people and s holders by their slack."""
        return s - excluded


class SomeCannot(OneValue):
    """Cells of groups in which everybody has one value, and some people cannot have each."""

    by_largest = ordered = False

    def profiles(self, counts: GroupCounts, l: int, cells: Any) -> Profiles:
        """Profiles of some cells, in any order.

        A group is divided if some of its people cannot have some of its values. A cell of it has
        several profiles where the facts are negations: n of them are about the target, and the
        others tell what other people lack, which says no more than what these have.
        """
        possible: Any = counts.possible
        some_cannot, _ = _kinds_that_some_cannot_have(counts)
        is_divided = np.asarray(some_cannot.any(axis=1))
        if not is_divided.any():
            return super().profiles(counts, l, cells)
        wanted_cells = np.arange(len(counts.codes))[cells]
        in_divided = is_divided[counts.cell_groups[wanted_cells]]
        plain_cells = wanted_cells[~in_divided]
        groups = np.flatnonzero(is_divided)
        divided_cells, offsets = ranges(counts.offsets[groups], counts.offsets[groups + 1])
        # The divided groups by themselves, numbered from 0.
        divided_counts = GroupCounts.counted(
            counts.sizes[groups],
            offsets,
            counts.codes[divided_cells],
            counts.counts[divided_cells],
            values=counts.values,
            semantics=counts.semantics,
            possible=possible.take(groups),
        )
        positions = np.searchsorted(divided_cells, wanted_cells[in_divided])
        l = min(l, counts.n_values)
        profiles_to_join = [super().profiles(counts, l, plain_cells)] if len(plain_cells) else []
        # Negations beyond those about the target tell about others; facts are all about the target.
        for n_ruled_out in range(l + 1) if possible.negated else [l]:
            of_divided = _profiles_of_divided(divided_counts, n_ruled_out, positions)
            of_divided = of_divided.once_known(l - n_ruled_out)
            # Back to the numbers of groups in all counts.
            profiles_to_join.append(
                replace(of_divided, group=groups[of_divided.group], counts=counts)
            )
        return profiles_to_join[0].join(*profiles_to_join[1:])

    def kinds(self, counts: GroupCounts) -> IntArray:
        """A number for each cell: no two of them are taken to be alike."""
        return np.arange(len(counts.codes))

    def bounded(self, counts: GroupCounts) -> NDArray[np.bool_]:
        """True for values whose odds are only a bound: where a group has several kinds.

        A kind is values that the same people can have. Shape (values,).
        """
        possible: Any = counts.possible
        is_bounded = np.zeros(counts.n_values, dtype=bool)
        some_cannot, _ = _kinds_that_some_cannot_have(counts)
        # For each cell, how many kinds of its group not everybody can have, other than its own.
        n_other_kinds = some_cannot.sum(axis=1)[counts.cell_groups]
        if not possible.negated:  # of one kind alone, odds are exact
            of_cell = counts.cell_groups, possible.kind[counts.codes]
            is_open = possible.most > possible.members
            n_other_kinds += is_open[of_cell] - some_cannot[of_cell].astype(np.int64)
        is_bounded[counts.codes[n_other_kinds > 0]] = True
        return is_bounded

    def spelled(
        self, counts: GroupCounts, code: int, amounts: Amounts, minimum: ExactMinimum
    ) -> Spelled | None:
        """The facts that attain a minimum, as in `OneValue`; None for negations.

        Ruled out are values of the kind of the target's, as many as lower the odds most, and then
        others that anybody can have.
        """
        possible: Any = counts.possible
        if possible.negated:
            return None
        l, k, m = amounts
        of_kind, of_anybody = map(_by_frequency, _by_kind(counts, minimum.target, code))
        target_counts = counts.take(np.array([minimum.target]))
        # One profile for each number of values of the kind that are ruled out: the least odds
        # decide.
        ways = profiles(target_counts, l, np.arange(counts.n_values) == code)
        odds = ways.t_exact(0 if minimum.place == "with family" else k)
        n_of_kind = odds.index(min(odds)) if len(odds) > 1 or of_kind else 0
        ruled_out = [*of_kind[:n_of_kind], *of_anybody[: l - n_of_kind]]
        others, known_people = _bag_of_others(counts, code, ruled_out, minimum), dict[Label, int]()
        # Known people have values of that kind first: nothing lowers the odds more.
        for bag in _by_kind(counts, minimum.known_group, code):
            available = {value: n for value, n in others.items() if value in bag}
            n_to_name = k - sum(known_people.values())
            known_people |= _most_frequent_people(available, n_to_name)
        return ruled_out, known_people, m


_FORMULAS: dict[Semantics, OneValue] = {
    "single": OneValue(),
    "set": SetOfValues(),
    "multiset": BagOfValues(),
}
_SOME_CANNOT = SomeCannot()


def _by_kind(
    counts: GroupCounts, group: int, code: int
) -> tuple[dict[Label, int], dict[Label, int]]:
    """The other values of a group with their counts: those of one kind, and those for anybody.

    A kind is values that the same people can have. The first result has the kind of the value
    `code`, if not everybody in the group can have that; values of other kinds that not everybody
    can have are in neither.
    """
    possible: Any = counts.possible
    bag = counts.bag(group)
    bag.pop(counts.values[code], None)
    some_cannot_have = possible.members[group] < counts.sizes[group]  # by kind
    of_kind: dict[Label, int] = {}
    of_anybody: dict[Label, int] = {}
    for value, times in bag.items():
        kind = possible.kind[counts.values.codes[value]]
        if not some_cannot_have[kind]:
            of_anybody[value] = times
        elif kind == possible.kind[code]:
            of_kind[value] = times
    return of_kind, of_anybody


def formulas_of(counts: GroupCounts) -> OneValue:
    """The formulas for counts, by their semantics and by what people cannot have.

    An error if that depends on other sensitive columns.
    """
    if isinstance(counts.possible, JointMembers):
        raise UnsupportedError("impossible-linked", "this analysis")
    return _SOME_CANNOT if counts.possible.restricts else _FORMULAS[counts.semantics]


def with_negations(counts: GroupCounts) -> GroupCounts:
    """The counts for an adversary who knows that people lack values."""
    possible: Any = counts.possible
    return (
        replace(counts, possible=replace(possible, negated=True)) if possible.restricts else counts
    )


def _bag_of_others(
    counts: GroupCounts, code: int, used: list[Label], minimum: ExactMinimum
) -> dict[Label, int]:
    """The values of the known people's group with their counts, without those of the target.

    Left out are the value at hand, and in the target's group those that are ruled out (`used`).
    """
    bag = counts.bag(minimum.known_group)
    for label in (counts.values[code], *(used if minimum.known_group == minimum.target else ())):
        bag.pop(label, None)
    return bag


def _by_frequency(bag: dict[Label, int]) -> list[Label]:
    """The values of a bag, the most frequent ones first."""
    return sorted(in_order(bag), key=bag.__getitem__, reverse=True)


def _most_frequent_people(bag: dict[Label, int], n_people: int) -> dict[Label, int]:
    """At most `n_people` people of a bag, the most frequent values first."""
    chosen: dict[Label, int] = {}
    for value in _by_frequency(bag):
        if n_people <= 0:
            break
        chosen[value] = min(bag[value], n_people)
        n_people -= chosen[value]
    return chosen


def _kinds_that_some_cannot_have(counts: GroupCounts) -> tuple[NDArray[np.bool_], IntArray]:
    """Which kinds of values in each group not all can have, and how many people have each kind.

    A kind is values that the same people can have. Both have the shape (groups, kinds).
    """
    possible: Any = counts.possible
    n_kinds = possible.can.shape[1]
    key = counts.cell_groups * n_kinds + possible.kind[counts.codes]
    holders = np.bincount(key, counts.counts, counts.n_groups * n_kinds).astype(np.int64)
    holders = holders.reshape(-1, n_kinds)
    return np.asarray((holders > 0) & (possible.members < counts.sizes[:, None])), holders


def _profiles_of_divided(counts: GroupCounts, l: int, cells: Any) -> Profiles:
    """Profiles of cells of groups in which not everybody can have each value.

    A cell is a value of a group; a kind is values that the same people can have. Of values that
    only some members can have, first who has them is settled among these, kind by kind; then the
    rest is dealt to the rest. An adversary who is told who has values of other kinds is as sure at
    least: so these people and values are taken out of the group. If there is one kind alone,
    nothing is taken out, and the odds against its values are exact. With l values ruled out, some
    of them are of the kind, and the others of the rest: each way is a profile.
    """
    possible: Any = counts.possible
    kind_of_cell, n_kinds = possible.kind[counts.codes], possible.can.shape[1]
    part_of_cell, parts = _parts_of_divided(counts)
    first_rest = counts.n_groups * n_kinds
    # The cells that are asked about, and the part that each is in.
    group, value, s = counts.cell_groups[cells], counts.codes[cells], counts.counts[cells]
    own_part, kind = part_of_cell[cells], kind_of_cell[cells]
    of_rest = own_part >= first_rest
    # Ways to rule values out: i of the cell's own part, and the others of the rest of its group.
    n_other_values = np.diff(parts.offsets)[own_part] - 1
    n_ways = np.where(of_rest, 1, np.minimum(l, n_other_values) + 1)
    # From here on, an entry for each way of each cell.
    way, _ = ranges(np.zeros_like(n_ways), n_ways)
    cell_of_way = np.repeat(np.arange(len(n_ways)), n_ways)
    group, value, s = group[cell_of_way], value[cell_of_way], s[cell_of_way]
    own_part, kind, of_rest = own_part[cell_of_way], kind[cell_of_way], of_rest[cell_of_way]
    rest_part = first_rest + group
    n_ruled_out_in_part = np.where(of_rest, l, way)
    # How many people of the part have excluded values, and of the rest of the group.
    excluded, excluded_of_rest = np.zeros_like(s), np.zeros_like(s)
    for n_ruled_out in range(l + 1):
        positions = np.flatnonzero(n_ruled_out_in_part == n_ruled_out)
        # As in `OneValue.excluded`, within the part.
        excluded[positions] = np.minimum(
            parts.top_sums(n_ruled_out + 1, own_part[positions]),
            parts.top_sums(n_ruled_out, own_part[positions]) + s[positions],
        )
        positions = positions[~of_rest[positions]]
        excluded_of_rest[positions] = parts.top_sums(l - n_ruled_out, rest_part[positions])
    n_able = _fewest_who_can(counts)
    n = np.where(of_rest, parts.sizes[rest_part], n_able[group, kind])
    # See `t_able_exact`; the rest needs no second term.
    n_others = np.maximum(n - parts.sizes[own_part], 0)
    able_terms = np.stack([n_others, excluded_of_rest, parts.sizes[rest_part]], axis=1)
    able_terms[of_rest] = 0
    return Profiles(
        value=value,
        group=group,
        n=n,
        s=s,
        slack=parts.sizes[own_part] - excluded,
        kind=None,
        counts=counts,
        l=l,
        able_terms=able_terms,
    )


def _parts_of_divided(counts: GroupCounts) -> tuple[IntArray, GroupCounts]:
    """The part of each cell, and the counts of the parts, as if each were a group.

    Each kind of values that not all of a group can have is a part by itself: of kind j in group g
    it has the number g times the number of kinds, plus j. All other values of a group are its rest:
    these parts come after all others, in order of group.
    """
    possible: Any = counts.possible
    n_kinds = possible.can.shape[1]
    part_of_kind = counts.cell_groups * n_kinds + possible.kind[counts.codes]
    rest = counts.n_groups * n_kinds + counts.cell_groups
    some_cannot, _ = _kinds_that_some_cannot_have(counts)
    part_of_cell = np.where(some_cannot.ravel()[part_of_kind], part_of_kind, rest)
    order = np.argsort(part_of_cell, kind="stable")
    n_parts = counts.n_groups * (n_kinds + 1)
    sizes = np.bincount(part_of_cell, counts.counts, n_parts).astype(np.int64)
    ends = np.cumsum(np.bincount(part_of_cell, minlength=n_parts))
    offsets = np.concatenate(([0], ends))
    parts = GroupCounts.counted(
        *(sizes, offsets, counts.codes[order], counts.counts[order]),
        values=counts.values,
        semantics=counts.semantics,
    )
    return part_of_cell, parts


def _fewest_who_can(counts: GroupCounts) -> IntArray:
    """How many people of each group can have each kind of values, but for those who have others.

    At least so many: others are those of kinds that not everybody in the group can have.
    """
    possible: Any = counts.possible
    some_cannot, holders = _kinds_that_some_cannot_have(counts)
    n_fixed = np.where(some_cannot, holders, 0)
    fewest = np.array(possible.members)
    for kind in range(fewest.shape[1]):
        n_able_of_both = possible.people @ (possible.might & possible.can[:, [kind]])
        # At most so many of those who can have the value may be gone with values of another kind.
        away = np.minimum(np.delete(n_fixed, kind, 1), np.delete(n_able_of_both, kind, 1))
        fewest[:, kind] -= away.sum(axis=1)
    return fewest


def ranked_cells(counts: GroupCounts) -> tuple[IntArray, IntArray]:
    """The rank of each cell in its group, 0 for the most frequent value; and the sorted cells.

    A cell is a value of a group. The second array has positions of cells, group by group, the most
    frequent first.
    """

    def ranked() -> tuple[IntArray, IntArray]:
        order = np.lexsort((-counts.counts, counts.cell_groups))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - counts.offsets[counts.cell_groups[order]]
        return rank, order

    return remembered(counts, "ranked cells", ranked)


def _numbers_of_rows(columns: list[IntArray]) -> IntArray:
    """A number for each row of some columns, equal for equal rows.

    Numbers ascend by the last column first.
    """
    order = np.lexsort(columns)
    new = np.zeros(len(order), dtype=bool)
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(new)
    return numbers
