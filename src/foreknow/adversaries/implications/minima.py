"""The 2k + 1 global minima that suffice to compute disclosure against k implications.

A *bucket* is a group of ``n`` people. An *atom* says that one person has one value. The worst k
implications all end in the target: "if atom 1, then the target", and so on. The target's odds are
then lowest where the target and all k atoms are least likely to fail together.

Buckets are independent, and to spend x + y atoms on one bucket is never worse for the adversary
than to spend x and y on two like it. So which bucket is spent on may be forgotten: the least odds
against a target are the least of ``W(x) M(h1) M(h2) ...`` with x + h1 + h2 + ... = k, where M(h) is
the least chance over buckets that h atoms all fail, and W(x) the least odds against the target when
x atoms are spent in its own bucket.

Within a bucket, the atoms about a person are about the most frequent values, and the first person
has the most atoms. ``tops[c]`` is how many people have one of the c most frequent values. If nobody
before the i-th person (from 0) has a value they are asked about, ``n - i`` values are left, among
them all of the ``tops[c]``. For example, M(3) is at most 1/6 * 2/5 for this bucket::

    bag       a a a b b c        n = 6, tops = 0, 3, 5, 6
    person 0  atoms a, b         chance that both fail: (6 - 0 - 5) / (6 - 0)
    person 1  atom a             then that this fails:  (6 - 1 - 3) / (6 - 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.counts_cache import remembered
from foreknow.adversaries.facts.profiles import safe_product
from foreknow.adversaries.ledger import KeyedRatios, Measure
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.needs import require, several_values
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import CLOSE

# More implications take minutes, also on small tables.
_MOST_ATOMS = 100


def most_atoms(k: int, n_values: int) -> int:
    """The most of k implications that add anything: no group has more values than there are."""
    if (n_atoms := min(k, n_values)) > _MOST_ATOMS:
        raise CertificateError("too-large", f"k above {_MOST_ATOMS}")
    return n_atoms


class Buckets:
    """The least chances that atoms fail, for many buckets of `n` people and up to k atoms each."""

    def __init__(self, n: IntArray, tops: IntArray) -> None:
        """Take buckets, which are groups, and work out chances for people after the first.

        ``n[b]`` is how many people bucket b has, ``tops[c, b]`` how many of them have the c most
        frequent values.
        """
        self.n = n
        self.tops = tops  # (k + 2, buckets): how often the c most frequent values occur, from c = 0
        self.k = len(tops) - 2
        # A chance of k atoms is at least n ** -k: only where that may underflow is care needed.
        careful = self.k * np.log10(n.max(initial=1) + 1.0) > 300
        self._times: Callable[[FloatArray, FloatArray], FloatArray] = (
            safe_product if careful else np.multiply
        )
        self._after_first = self._chances_after_first()

    def atoms(self) -> FloatArray:
        """M(h): the least chance that h atoms all fail, a row for each h from 0 to k.

        Shape (k + 1, buckets).
        """
        lowest = np.ones((self.k + 1, len(self.n)))
        shares = [self._chance_of_none(0, top) for top in self.tops]
        for h in range(1, self.k + 1):
            for c in range(1, h + 1):
                # c atoms about the first person, the others about later people.
                chance = self._times(shares[c], self._rest(c, h - c))
                np.minimum(lowest[h], chance, out=lowest[h])
        return lowest

    def target_value(self, bucket: IntArray, holders: IntArray) -> FloatArray:
        """W(x): the lowest odds against a target's value if x atoms are about the target's group.

        An atom says that a person has a value. Target i is in the group ``bucket[i]``, where
        ``holders[i]`` have its value. The result has the shape (k + 1, targets), a row for each x.
        """
        n, tops = self.n[bucket], self.tops[:, bucket]
        odds = np.full((self.k + 1, len(bucket)), np.inf)
        for a in range(self.k + 1):
            # a atoms say which values the target does not have: the a most frequent others. With
            # the value itself, these are the a + 1 most frequent, if it is among them.
            is_among = holders >= tops[a + 1] - tops[a]
            n_free = n - np.where(is_among, tops[a + 1], tops[a] + holders)
            target_odds = n_free / holders
            all_are_among, none_is_among = bool(is_among.all()), not is_among.any()
            for x in range(a, self.k + 1):
                # Atoms about another person name these values only: a + 1 of them, or a. If fewer
                # atoms are left, both are the same array.
                if_among, if_not = self._rest(a + 1, x - a), self._rest(a, x - a)
                if all_are_among or if_among is if_not:
                    rest_chances = if_among[bucket]
                elif none_is_among:
                    rest_chances = if_not[bucket]
                else:
                    rest_chances = np.where(is_among, if_among[bucket], if_not[bucket])
                np.minimum(odds[x], self._times(target_odds, rest_chances), out=odds[x])
        return odds

    def _chance_of_none(self, i: int, top: IntArray) -> FloatArray:
        """Chance that the i-th person has none of the top values, given that nobody before has."""
        free = self.n - i
        return np.asarray(np.maximum(free - top, 0) / np.maximum(free, 1))

    def _rest(self, cap: int, n_atoms: int) -> FloatArray:
        """The least chance that atoms about people after the first all fail.

        `cap` is the most atoms about one person.
        """
        return self._after_first[min(cap, n_atoms), n_atoms]

    def _chances_after_first(self) -> dict[tuple[int, int], FloatArray]:
        """The values of `_rest`, by (most atoms about a person, atoms in all).

        An atom says that a person has a value; later people have no more atoms than earlier ones.
        Worked out from the last person of a group to the first: what may follow is known then.
        """
        ones = np.ones(len(self.n))
        after: dict[tuple[int, int], FloatArray] = {(0, 0): ones}
        for i in range(self.k, 0, -1):
            most_atoms = self.k - i + 1
            chances: dict[tuple[int, int], FloatArray] = {
                (0, n_atoms): ones for n_atoms in range(most_atoms + 1)
            }
            for cap in range(1, most_atoms + 1):
                # Either `cap` atoms about this person and the rest about later ones, or fewer than
                # `cap`.
                share = self._chance_of_none(i, self.tops[cap])
                # The i - 1 people before have at least as many atoms each.
                for n_atoms in range(cap, self.k - (i - 1) * cap + 1):
                    rest_chances = after[min(cap, n_atoms - cap), n_atoms - cap]
                    chance = self._times(share, rest_chances)
                    chances[cap, n_atoms] = np.minimum(chances[cap - 1, n_atoms], chance)
            after = chances
        return after


def exact_atoms(n: int, counts: Sequence[int], k: int) -> tuple[Fraction, list[int]]:
    """The least chance that k atoms about a bucket all fail, and how many each person has then.

    The bucket has n people; `counts` is how often each value occurs, the most frequent first.
    """
    chances = _exact_chances(n, tuple(counts))
    return chances.rest(0, k, k), chances.sizes(0, k, k)


def exact_target(
    n: int, counts: Sequence[int], holders: int, k: int
) -> tuple[Fraction, int, list[int]]:
    """`Buckets.target_value` of one target in fractions, and how its atoms are spent.

    Returned are the odds, how many atoms are about the target, and how many about each other
    person. The bucket has n people; `counts` is how often each value occurs, the most frequent
    first; `holders` have the target's value; k atoms are spent.
    """
    chances = _exact_chances(n, tuple(counts))
    odds, n_about_target, cap = _odds(chances, holders, k)
    return odds, n_about_target, chances.sizes(1, cap, k - n_about_target)


@lru_cache(maxsize=16)
def _exact_chances(n: int, counts: tuple[int, ...]) -> _ExactChances:
    """The recursion for one bucket, kept for questions about other numbers of atoms."""
    return _ExactChances(n, counts)


def _odds(chances: _ExactChances, holders: int, k: int) -> tuple[Fraction, int, int]:
    """The least odds against a target if k atoms are spent in its bucket, and how.

    Returned are the odds, how many atoms are about the target, and the most about another person.
    """
    n, tops, options = chances.n, chances.tops, []
    for a in range(min(k, len(tops) - 2) + 1):
        # a atoms say which values the target does not have: as in `Buckets.target_value`.
        is_among = holders >= tops[a + 1] - tops[a]
        n_held, cap = (tops[a + 1], a + 1) if is_among else (tops[a] + holders, a)
        target_odds = Fraction(n - n_held, holders)
        options.append((target_odds * chances.rest(1, cap, k - a), a, cap))
    return min(options)


class _ExactChances:
    """The recursion for one bucket in fractions; it remembers its results."""

    def __init__(self, n: int, counts: Sequence[int]) -> None:
        self.n = n
        self.tops = [0, *accumulate(counts)]
        self.rest = cache(self._rest)

    def _rest(self, i: int, cap: int, n_atoms: int) -> Fraction:
        """Least chance that atoms about people from the i-th on fail, at most `cap` a person."""
        return min([Fraction(1), *(chance for chance, _ in self._options(i, cap, n_atoms))])

    def _options(self, i: int, cap: int, n_atoms: int) -> list[tuple[Fraction, int]]:
        """The ways to spend atoms on the i-th person: the chance that all fail, and how many.

        At most `cap` atoms are about one person, and `n_atoms` are left in all.
        """
        options = []
        for c in range(1, min(cap, n_atoms, len(self.tops) - 1) + 1):
            free = self.n - i
            if free <= 0:
                break
            # Everybody who is left has one of these values: some atom holds for sure.
            if free <= self.tops[c]:
                options.append((Fraction(0), c))
                break
            chance = Fraction(free - self.tops[c], free)  # that all c fail
            options.append((chance * self.rest(i + 1, c, n_atoms - c), c))
        return options

    def sizes(self, i: int, cap: int, n_atoms: int) -> list[int]:
        """How many atoms each person from the i-th on has where all fail least likely.

        An atom says that a person has a value. At most `cap` are about one person, and `n_atoms`
        are left.
        """
        options = self._options(i, cap, n_atoms)
        lowest = self.rest(i, cap, n_atoms)
        for chance, c in options:
            if chance == lowest:
                # If some atom holds for sure, nobody else needs to be asked about.
                is_certain = self.n - i <= self.tops[c]
                return [c] if is_certain else [c, *self.sizes(i + 1, c, n_atoms - c)]
        return []


# Buckets worked on at once: a few hundred arrays of this length should stay in cache.
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of a release: a group, and a value that occurs in it; in order of groups."""

    group: IntArray
    code: IntArray
    holders: IntArray

    @classmethod
    def of(cls, counts: GroupCounts, is_wanted: NDArray[Any] | None = None) -> Targets:
        """The targets of a release: all cells, or those of the wanted codes (a mask)."""
        index = slice(None) if is_wanted is None else np.flatnonzero(is_wanted[counts.codes])
        return cls(counts.cell_groups[index], counts.codes[index], counts.counts[index])

    @classmethod
    def most_frequent(cls, counts: GroupCounts) -> Targets:
        """For each group, its most frequent value; the first if there are several."""
        if not counts.n_groups:
            return cls.of(counts)
        maxima = np.maximum.reduceat(counts.counts, counts.offsets[:-1])
        attained = np.flatnonzero(counts.counts == maxima[counts.cell_groups])
        # `attained` is in order of group.
        _, first = np.unique(counts.cell_groups[attained], return_index=True)
        index = attained[first]
        return cls(counts.cell_groups[index], counts.codes[index], counts.counts[index])

    def take(self, index: Any) -> Targets:
        """The targets at some places."""
        return Targets(self.group[index], self.code[index], self.holders[index])


def atoms_and_odds(counts: GroupCounts, k: int, targets: Targets) -> tuple[FloatArray, FloatArray]:
    """M(h) of each group and W(x) of each target, by numbers of atoms from 0 to k.

    M(h) is the least chance that h atoms (statements that a person has a value) about a group all
    fail; shape (k + 1, groups). W(x) is the least odds against a target (a value of a group) with x
    atoms about its group; shape (k + 1, targets). Targets are in order of their groups.
    """
    tops = _tops(counts, k)
    atoms = np.ones((k + 1, counts.n_groups))
    odds = np.ones((k + 1, len(targets.group)))
    for start in range(0, counts.n_groups, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        buckets = Buckets(counts.sizes[chunk], tops[:, chunk])
        atoms[:, chunk] = buckets.atoms()
        # The targets whose groups are in the chunk.
        target_part = slice(*np.searchsorted(targets.group, (start, start + _CHUNK)))
        odds[:, target_part] = buckets.target_value(
            targets.group[target_part] - start, targets.holders[target_part]
        )
    return atoms, odds


def _tops(counts: GroupCounts, k: int) -> IntArray:
    """How often the c most frequent values of each group occur, for c from 0 to k + 1."""
    return remembered(
        counts, ("top sums", k), lambda: np.stack(list(map(counts.top_sums, range(k + 2))))
    )


def _near_minimum(ratios: FloatArray) -> IntArray:
    """The positions where a minimum may be attained, as far as floats can tell.

    A minimum of 0 is exact, so the first one is enough.
    """
    minimum = ratios.min(initial=np.inf)
    candidates = np.flatnonzero(ratios <= minimum * (1 + CLOSE))
    return candidates[:1] if minimum == 0 else candidates


def spread(atoms: FloatArray) -> FloatArray:
    """The least products ``M(h1) M(h2) ...`` with h1 + h2 + ... = 0 to k atoms.

    ``atoms[h]`` is M(h), the least chance over groups that h atoms all fail; atoms run along the
    first axis, also in the result.
    """
    best = np.ones_like(atoms)
    for total in range(1, len(atoms)):
        # Spend h = 1 to `total` atoms on one group, the rest in the best way known.
        best[total] = safe_product(atoms[1 : total + 1], best[:total][::-1]).min(axis=0)
    return best


def ratio(odds: FloatArray, spread_atoms: FloatArray) -> FloatArray:
    """The least of ``W(x)`` times the least product of the other k - x atoms, along the first axis.

    ``odds[x]`` is W(x), and ``spread_atoms[h]`` the least product for h atoms elsewhere.
    """
    # Reversed: x atoms go with k - x others.
    other_atoms = spread_atoms[::-1]
    with np.errstate(invalid="ignore"):
        # Infinite odds stay infinite, though the other factor may be 0.
        products = np.where(
            np.isinf(odds), np.inf, safe_product(odds, np.broadcast_to(other_atoms, odds.shape))
        )
    return np.asarray(products.min(axis=0))


class ImplicationsMeasure(Measure):
    """The measure of groups against implications: M(h), and the least W(x) of targets."""

    def __init__(self, k: int, is_wanted: BoolArray | None) -> None:
        self.k = k
        self.is_wanted = None if is_wanted is None or np.all(is_wanted) else np.asarray(is_wanted)

    def bind(self, n_values: int) -> int:
        """The number of keys: one."""
        self.k = most_atoms(self.k, n_values)
        return 1

    @property
    def nowhere(self) -> FloatArray:
        """The ratios of no groups."""
        return np.repeat([1.0, np.inf], self.k + 1)[:, None]

    def cells(self, counts: GroupCounts, groups: BoolArray | None = None) -> KeyedRatios:
        """The least chances and odds of each group, with all numbers of atoms, as one cell."""
        require("Implications", several_values(counts.semantics))
        if self.is_wanted is None:
            # If every value is asked for, the most frequent one is worst.
            targets = Targets.most_frequent(counts)
        else:
            targets = Targets.of(counts, self.is_wanted)
        chances, odds_of_targets = atoms_and_odds(counts, self.k, targets)
        odds_of_groups = np.full(chances.shape, np.inf)
        for odds, of_targets in zip(odds_of_groups, odds_of_targets, strict=True):
            np.minimum.at(odds, targets.group, of_targets)
        all_groups = np.arange(counts.n_groups)
        all_cells = KeyedRatios(
            key=np.zeros_like(all_groups),
            group=all_groups,
            ratios=np.concatenate((chances, odds_of_groups)),
        )
        return all_cells if groups is None else all_cells.take(groups)

    def odds(self, minima: FloatArray) -> FloatArray:
        """Least odds against any target."""
        return ratio(minima[self.k + 1 :], spread(minima[: self.k + 1]))


@dataclass(frozen=True)
class Plan:
    """How k implications are spent, exactly."""

    ratio: Fraction  # odds against the target
    group: int  # of the target
    code: int
    target_atoms: int  # atoms spent in the target's group
    other_groups: tuple[tuple[int, int], ...]  # other groups, each once, and the atoms spent there


class Attained:
    """The groups and targets that attain the minima of a release for at most k atoms, and how."""

    def __init__(self, counts: GroupCounts, k: int) -> None:
        """Work out the minima of a release for at most k atoms, in floats.

        An atom says that a person has a value.
        """
        self.counts = counts
        self.k = k
        self.cells = Targets.most_frequent(counts)  # a worst target of each group
        chances, self.odds = atoms_and_odds(counts, k, self.cells)
        self.least = chances.min(axis=1, initial=1.0)
        # For each number of atoms, the groups that floats cannot tell from the one with the least.
        self._candidates = list(map(_near_minimum, chances))
        self._least_chances: list[tuple[Fraction, int]] | None = None

    def least_chances(self) -> list[tuple[Fraction, int]]:
        """For 0 to k atoms, the least chance that all fail, and a group that has it.

        An atom says that a person of the group has a value. The group is -1 if there is none, as
        for 0 atoms. Worked out once.
        """
        if self._least_chances is None:
            self._least_chances = [(Fraction(1), -1)]
            for n_atoms, groups in enumerate(self._candidates[1:], start=1):
                # Groups with equal histograms have the same chance: one of each is enough.
                no_holders = np.zeros_like(groups)
                first_of_kind, _ = self._kinds(groups, no_holders)
                options = []
                for group in groups[np.sort(first_of_kind)].tolist():
                    chance, _ = exact_atoms(*self._bucket(group), n_atoms)
                    options.append((chance, group))
                self._least_chances.append(min(options, default=(Fraction(1), -1)))
        return self._least_chances

    def plan(self, k: int, cells: Targets, odds: FloatArray) -> Plan | None:
        """The best way to spend k atoms on one of some targets; None if there are no targets.

        An atom says that a person has a value; `cells` are targets (values of groups), and
        ``odds[x]`` the odds against each with x of the atoms about its own group.
        """
        if not len(cells.group):
            return None
        products, factors = self._products(k)
        best: Plan | None = None
        # x atoms about the target's group, and the best way to spend the others.
        for x in range(k + 1):
            candidates = _near_minimum(odds[x])
            first, _ = self._kinds(cells.group[candidates], cells.holders[candidates])
            for cell in candidates[np.sort(first)].tolist():
                group, holders = int(cells.group[cell]), int(cells.holders[cell])
                target_odds, *_ = exact_target(*self._bucket(group), holders, x)
                total_odds = target_odds * products[k - x]
                if best is None or total_odds < best.ratio:
                    best = Plan(
                        ratio=total_odds,
                        group=group,
                        code=int(cells.code[cell]),
                        target_atoms=x,
                        other_groups=tuple(factors[k - x]),
                    )
        return best if best is None else _gather_atoms(best)

    def chances(self, k: int, cells: Targets) -> list[Fraction | None]:
        """The highest posterior of each of some targets, as fractions.

        Targets whose groups and holders are alike are computed once.
        """
        products, _ = self._products(k)
        groups = cells.group
        first, kind = self._kinds(groups, cells.holders)
        highest: list[Fraction | None] = []
        for cell in first.tolist():
            bucket, holders = _ExactChances(*self._bucket(int(groups[cell]))), cells.holders[cell]
            total_odds = []
            for x in range(k + 1):
                target_odds, *_ = _odds(bucket, int(holders), x)
                total_odds.append(target_odds * products[k - x])
            highest.append(1 / (1 + min(total_odds)))
        return [highest[i] for i in kind.tolist()]

    def _products(self, k: int) -> tuple[list[Fraction], list[list[tuple[int, int]]]]:
        """The least products of 0 to k atoms in groups other than the target's, and their parts.

        A product is the chance that all these atoms fail; its parts are pairs (group, atoms spent
        there).
        """
        least_chances, groups = zip(*self.least_chances(), strict=True)
        products, factors = [Fraction(1)], [list[tuple[int, int]]()]
        for total in range(1, k + 1):
            # h atoms about one group, and the others in the best way known.
            options = [least_chances[h] * products[total - h] for h in range(1, total + 1)]
            h = 1 + options.index(min(options))
            products.append(options[h - 1])
            factors.append([(groups[h], h), *factors[total - h]])
        return products, factors

    def _bucket(self, group: int) -> tuple[int, list[int]]:
        """How many people a group has, and how often its values occur, the most frequent first."""
        cells = slice(self.counts.offsets[group], self.counts.offsets[group + 1])
        frequencies = sorted(self.counts.counts[cells].tolist(), reverse=True)
        return int(self.counts.sizes[group]), frequencies

    def _kinds(self, groups: IntArray, holders: IntArray) -> tuple[IntArray, IntArray]:
        """The first target of each histogram and number of holders, and the kind of each target."""
        rows = [*_tops(self.counts, self.k)[:, groups], self.counts.sizes[groups], holders]
        keys = np.stack(rows, axis=1)
        _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first, kind.reshape(-1)


def _gather_atoms(plan: Plan) -> Plan:
    """The same plan with each group named once: atoms spent in one group are added up.

    Together they are no worse for the adversary than apart.
    """
    target_atoms, other_atoms = plan.target_atoms, dict[int, int]()
    for group, atoms in plan.other_groups:
        if group == plan.group:
            target_atoms += atoms
        else:
            other_atoms[group] = other_atoms.get(group, 0) + atoms
    return replace(plan, target_atoms=target_atoms, other_groups=tuple(other_atoms.items()))
