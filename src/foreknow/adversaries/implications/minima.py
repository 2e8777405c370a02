"""The 2k + 1 global minima that suffice to compute disclosure against k implications.

Buckets are independent, and to spend x + y atoms on one bucket is never worse for the adversary
than to spend x and y on two like it. So which bucket is spent on may be forgotten: the least odds
against a target are the least of ``W(x) M(h1) M(h2) ...`` with x + h1 + h2 + ... = k, where M(h) is
the least chance over buckets that h atoms all fail, and W(x) the least odds against the target when
x atoms are spent in its own bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.facts.profiles import safe_product
from foreknow.adversaries.ledger import KeyedRatios, Measure
from foreknow.adversaries.remembered import remembered
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.needs import Need, require
from foreknow_judge.numbers import CLOSE


class Buckets:
    """The least chances of many buckets of `n` people, for up to k atoms beside a target's."""

    def __init__(self, n: IntArray, tops: IntArray) -> None:
        self.n = n
        self.tops = tops  # (k + 2, buckets): how often the c most frequent values occur, from c = 0
        self.k = len(tops) - 2
        # A chance of k atoms is at least n ** -k: only where that may underflow is care needed.
        careful = self.k * np.log10(n.max(initial=1) + 1.0) > 300
        self._times: Callable[[FloatArray, FloatArray], FloatArray] = (
            safe_product if careful else np.multiply
        )
        self._others = self._from_the_second()

    def atoms(self) -> FloatArray:
        """M1(b, h): least chance that h atoms all fail; shape (k + 1, buckets)."""
        least = np.ones((self.k + 1, len(self.n)))
        shares = [self._share(0, top) for top in self.tops]
        for h in range(1, self.k + 1):
            for c in range(1, h + 1):
                one = self._times(shares[c], self._rest(c, h - c))
                np.minimum(least[h], one, out=least[h])
        return least

    def target_value(self, bucket: IntArray, holders: IntArray) -> FloatArray:
        """Odds against a given value, when x atoms are spent; shape (k + 1, cells)."""
        n, tops = self.n[bucket], self.tops[:, bucket]
        odds = np.full((self.k + 1, len(bucket)), np.inf)
        for a in range(self.k + 1):
            # The value and the a most frequent others; among the a + 1 most frequent it may be.
            among = holders >= tops[a + 1] - tops[a]
            left = n - np.where(among, tops[a + 1], tops[a] + holders)
            own = left / holders
            sure, unsure = bool(among.all()), not among.any()
            for x in range(a, self.k + 1):
                if sure or a + 1 > x - a:  # more about each than there are in all
                    rest = self._rest(a + 1, x - a)[bucket]
                    if not sure and a < x - a:
                        rest = np.where(among, rest, self._rest(a, x - a)[bucket])
                elif unsure:
                    rest = self._rest(a, x - a)[bucket]
                else:
                    more, fewer = self._rest(a + 1, x - a), self._rest(a, x - a)
                    rest = np.where(among, more[bucket], fewer[bucket])
                np.minimum(odds[x], self._times(own, rest), out=odds[x])
        return odds

    def _share(self, i: int, top: IntArray) -> FloatArray:
        """Chance that the i-th person has none of some values, where those before have none."""
        free = self.n - i
        return np.asarray(np.maximum(free - top, 0) / np.maximum(free, 1))

    def _rest(self, cap: int, left: int) -> FloatArray:
        """Least chance for people after the first: at most `left` atoms, `cap` about each."""
        return self._others[min(cap, left), left]

    def _from_the_second(self) -> dict[tuple[int, int], FloatArray]:
        """Least chances for people after the first, by (most atoms about each, atoms in all)."""
        ones = np.ones(len(self.n))
        after: dict[tuple[int, int], FloatArray] = {(0, 0): ones}
        for i in range(self.k, 0, -1):
            most = self.k - i + 1
            here: dict[tuple[int, int], FloatArray] = {(0, left): ones for left in range(most + 1)}
            for cap in range(1, most + 1):
                share = self._share(i, self.tops[cap])
                # The i - 1 people before have at least as many atoms each.
                for left in range(cap, self.k - (i - 1) * cap + 1):
                    rest = after[min(cap, left - cap), left - cap]
                    one = self._times(share, rest)
                    here[cap, left] = np.minimum(here[cap - 1, left], one)
            after = here
        return after


def exact_atoms(n: int, counts: Sequence[int], k: int) -> tuple[Fraction, list[int]]:
    """The least chance that k atoms about a bucket all fail, and how many each person has then."""
    chances = _ExactChances(n, counts)
    return chances.rest(0, k, k), chances.sizes(0, k, k)


def exact_target(
    n: int, counts: Sequence[int], holders: int, k: int
) -> tuple[Fraction, int, list[int]]:
    """`Buckets.target_value` of one cell: odds, atoms about the target, and about each other."""
    chances = _ExactChances(n, counts)
    odds, most, cap = _odds(chances, holders, k)
    return odds, most, chances.sizes(1, cap, k - most)


def _odds(chances: _ExactChances, holders: int, k: int) -> tuple[Fraction, int, int]:
    """The least odds against a target, atoms about the target, and the most about another."""
    n, tops, options = chances.n, chances.tops, []
    for a in range(min(k, len(tops) - 2) + 1):
        among = holders >= tops[a + 1] - tops[a]
        held, cap = (tops[a + 1], a + 1) if among else (tops[a] + holders, a)
        options.append((Fraction(n - held, holders) * chances.rest(1, cap, k - a), a, cap))
    return min(options)


class _ExactChances:
    """The same recursion for one bucket, in fractions, remembering what it found."""

    def __init__(self, n: int, counts: Sequence[int]) -> None:
        self.n = n
        self.tops = [0, *accumulate(counts)]
        self.rest = cache(self._rest)

    def _rest(self, i: int, cap: int, left: int) -> Fraction:
        """Least chance for people from the i-th on, with at most `cap` of `left` atoms each."""
        return min([Fraction(1), *(chance for chance, _ in self._options(i, cap, left))])

    def _options(self, i: int, cap: int, left: int) -> list[tuple[Fraction, int]]:
        options = []
        for c in range(1, min(cap, left, len(self.tops) - 1) + 1):
            free = self.n - i
            if free <= 0:
                break
            if free <= self.tops[c]:
                options.append((Fraction(0), c))
                break
            options.append((Fraction(free - self.tops[c], free) * self.rest(i + 1, c, left - c), c))
        return options

    def sizes(self, i: int, cap: int, left: int) -> list[int]:
        """How many atoms each person from the i-th on has, where the chance is least."""
        options = self._options(i, cap, left)
        least = self.rest(i, cap, left)
        for chance, c in options:
            if chance == least:
                certain = self.n - i <= self.tops[c]  # whoever else is asked about
                return [c] if certain else [c, *self.sizes(i + 1, c, left - c)]
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
    def of(cls, counts: GroupCounts, wanted: NDArray[Any] | None = None) -> Targets:
        """All cells, or those of the wanted codes (a mask)."""
        index = slice(None) if wanted is None else np.flatnonzero(wanted[counts.codes])
        return cls(counts.cell_groups[index], counts.codes[index], counts.counts[index])

    @classmethod
    def most_frequent(cls, counts: GroupCounts) -> Targets:
        """The first of the most frequent values of each group."""
        if not counts.n_groups:
            return cls.of(counts)
        most = np.maximum.reduceat(counts.counts, counts.offsets[:-1])
        attained = np.flatnonzero(counts.counts == most[counts.cell_groups])
        _, first = np.unique(counts.cell_groups[attained], return_index=True)
        index = attained[first]
        return cls(counts.cell_groups[index], counts.codes[index], counts.counts[index])

    def take(self, index: Any) -> Targets:
        """Only some."""
        return Targets(self.group[index], self.code[index], self.holders[index])


def atoms_and_odds(counts: GroupCounts, k: int, cells: Targets) -> tuple[FloatArray, FloatArray]:
    """M1 of every group, and the odds against each cell's value in its own group."""
    tops = _tops(counts, k)
    atoms = np.ones((k + 1, counts.n_groups))
    odds = np.ones((k + 1, len(cells.group)))
    for start in range(0, counts.n_groups, _CHUNK):
        part = slice(start, start + _CHUNK)
        buckets = Buckets(counts.sizes[part], tops[:, part])
        atoms[:, part] = buckets.atoms()
        own = slice(*np.searchsorted(cells.group, (start, start + _CHUNK)))
        odds[:, own] = buckets.target_value(cells.group[own] - start, cells.holders[own])
    return atoms, odds


def _tops(counts: GroupCounts, k: int) -> IntArray:
    """How often the c most frequent values of each group occur, for c from 0 to k + 1."""
    return remembered(
        counts, ("top sums", k), lambda: np.stack([counts.top_sums(c) for c in range(k + 2)])
    )


def _near(ratios: FloatArray) -> IntArray:
    """Where a minimum may be attained; at 0, where floats are exact, one place will do."""
    least = ratios.min(initial=np.inf)
    near = np.flatnonzero(ratios <= least * (1 + CLOSE))
    return near[:1] if least == 0 else near


def spread(atoms: FloatArray) -> FloatArray:
    """Least products ``M(h1) M(h2) ...`` for 0 to k atoms in all; along the first axis."""
    best = np.ones_like(atoms)
    for total in range(1, len(atoms)):
        best[total] = safe_product(atoms[1 : total + 1], best[:total][::-1]).min(axis=0)
    return best


def ratio(odds: FloatArray, spread_atoms: FloatArray) -> FloatArray:
    """The least of ``W(x)`` times what the other atoms make of it, along the first axis."""
    rest = spread_atoms[::-1]
    with np.errstate(invalid="ignore"):
        products = np.where(
            np.isinf(odds), np.inf, safe_product(odds, np.broadcast_to(rest, odds.shape))
        )
    return np.asarray(products.min(axis=0))


class ImplicationsMeasure(Measure):
    """What a ledger keeps of groups against implications: M(h), and the least W(x) of targets."""

    def __init__(self, k: int, wanted: BoolArray | None) -> None:
        self.k = k
        self.wanted = None if wanted is None or np.all(wanted) else np.asarray(wanted)

    def bind(self, n_values: int) -> int:
        """One key; no group has more values than there are, so more atoms add nothing."""
        self.k = min(self.k, n_values)
        return 1

    @property
    def nowhere(self) -> FloatArray:
        """What no group has."""
        return np.repeat([1.0, np.inf], self.k + 1)[:, None]

    def cells(self, counts: GroupCounts, groups: BoolArray | None = None) -> KeyedRatios:
        """One cell for each group."""
        require("Implications", {Need.ONE_VALUE}, semantics=counts.semantics)
        if self.wanted is None:
            targets = Targets.most_frequent(counts)
        else:
            targets = Targets.of(counts, self.wanted)
        atoms, against = atoms_and_odds(counts, self.k, targets)
        odds = np.full(atoms.shape, np.inf)
        for row, found in zip(odds, against, strict=True):
            np.minimum.at(row, targets.group, found)
        every = np.arange(counts.n_groups)
        found = KeyedRatios(np.zeros_like(every), every, np.concatenate((atoms, odds)))
        return found if groups is None else found.take(groups)

    def odds(self, minima: FloatArray) -> FloatArray:
        """Least odds against any target."""
        return ratio(minima[self.k + 1 :], spread(minima[: self.k + 1]))


@dataclass(frozen=True)
class Plan:
    """How k implications are spent, exactly."""

    ratio: Fraction  # odds against the target
    group: int  # of the target
    code: int
    own: int  # atoms spent in the target's group
    others: tuple[tuple[int, int], ...]  # other groups, each once, and the atoms spent there


class Attained:
    """Which groups and targets attain the minima of a release for at most k atoms, and how."""

    def __init__(self, counts: GroupCounts, k: int) -> None:
        self.counts = counts
        self.k = k
        self.cells = Targets.most_frequent(counts)  # a worst target of each group
        chances, self.odds = atoms_and_odds(counts, k, self.cells)
        self.least = chances.min(axis=1, initial=1.0)
        self._near = [_near(row) for row in chances]
        self._exact: list[tuple[Fraction, int]] | None = None

    def atoms(self) -> list[tuple[Fraction, int]]:
        """For 0 to k atoms, the least chance as a fraction, and a group that has it."""
        if self._exact is None:
            self._exact = []
            for h, near in enumerate(self._near):
                if not h:
                    self._exact.append((Fraction(1), -1))
                    continue
                groups = np.sort(self._kinds(near, np.zeros_like(near))[0])
                options = [(exact_atoms(*self._bucket(g), h)[0], g) for g in near[groups].tolist()]
                self._exact.append(min(options, default=(Fraction(1), -1)))
        return self._exact

    def plan(self, k: int, cells: Targets, odds: FloatArray) -> Plan | None:
        """Spend k atoms best on one of some targets; None where there is no cell."""
        if not len(cells.group):
            return None
        products, parts = self._products(k)
        best: Plan | None = None
        for x in range(k + 1):
            near = _near(odds[x])
            first, _ = self._kinds(cells.group[near], cells.holders[near])
            for at in near[np.sort(first)].tolist():
                group, holders = int(cells.group[at]), int(cells.holders[at])
                found = exact_target(*self._bucket(group), holders, x)[0] * products[k - x]
                if best is None or found < best.ratio:
                    best = Plan(found, group, int(cells.code[at]), x, tuple(parts[k - x]))
        return best if best is None else _gathered(best)

    def chances(self, k: int, cells: Targets) -> list[Fraction | None]:
        """The highest posterior of each of some targets, as fractions."""
        products, _ = self._products(k)
        groups = cells.group
        first, kind = self._kinds(groups, cells.holders)
        highest: list[Fraction | None] = []
        for cell in first.tolist():
            n, held = self._bucket(int(groups[cell]))
            target = _ExactChances(n, held), int(cells.holders[cell])
            least = min(_odds(*target, x)[0] * products[k - x] for x in range(k + 1))
            highest.append(1 / (1 + least))
        return [highest[i] for i in kind.tolist()]

    def _products(self, k: int) -> tuple[list[Fraction], list[list[tuple[int, int]]]]:
        """Least products of 0 to k atoms in groups other than the target's, and their parts."""
        least = self.atoms()
        products, parts = [Fraction(1)], [list[tuple[int, int]]()]
        for total in range(1, k + 1):
            h = min(range(1, total + 1), key=lambda h: least[h][0] * products[total - h])
            products.append(least[h][0] * products[total - h])
            parts.append([(least[h][1], h), *parts[total - h]])
        return products, parts

    def _bucket(self, group: int) -> tuple[int, list[int]]:
        cells = slice(self.counts.offsets[group], self.counts.offsets[group + 1])
        held = sorted(self.counts.counts[cells].tolist(), reverse=True)
        return int(self.counts.sizes[group]), held

    def _kinds(self, groups: IntArray, holders: IntArray) -> tuple[IntArray, IntArray]:
        """The first target of each histogram and number of holders, and the kind of each target."""
        rows = [*_tops(self.counts, self.k)[:, groups], self.counts.sizes[groups], holders]
        keys = np.stack(rows, axis=1)
        _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first, kind.reshape(-1)


def _gathered(plan: Plan) -> Plan:
    """Spend in each group once: together it is no worse, and the least cannot be bettered."""
    own, others = plan.own, dict[int, int]()
    for group, atoms in plan.others:
        if group == plan.group:
            own += atoms
        else:
            others[group] = others.get(group, 0) + atoms
    return Plan(plan.ratio, plan.group, plan.code, own, tuple(others.items()))
