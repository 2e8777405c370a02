"""MINIMIZE1 for many buckets at once: the least chance that some atoms about a bucket all fail.

From "Worst-Case Background Knowledge for Privacy-Preserving Data Publishing" (Martin, Kifer,
Machanavajjhala, Gehrke, Halpern), section 3.3 and lemma 13. The atoms say of some people of the
bucket that they have its most frequent values. The i-th person, in falling order of how many
values they are said to have, multiplies the chance by ``(n - i - C) / (n - i)``, where C is how
often those values occur. Numerators are clipped at 0.

For a target value that is fixed, the paper's algorithm does not serve. This one is exact there too:
the target's own atoms are the value and the a most frequent other ones, and nobody else needs atoms
that the target does not have. (An exchange argument: to move what others have and the target lacks
over to the target never raises the chance. The tests compare with enumeration.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from foreknow.adversaries.ratios import FloatArray, times
from foreknow.sparse import IntArray


class Buckets:
    """The least chances of many buckets, for up to k atoms beside a target's.

    Parameters
    ----------
    n : int64 array, shape (buckets,)
        People.
    tops : int64 array, shape (k + 2, buckets)
        How often the c most frequent values of each occur, for c from 0.
    """

    def __init__(self, n: IntArray, tops: IntArray) -> None:
        self.n = n
        self.tops = tops
        self.k = len(tops) - 2
        # A chance of k atoms is at least n ** -k: only where that may underflow is care needed.
        careful = self.k * np.log10(n.max(initial=1) + 1.0) > 300
        self._times: Callable[[FloatArray, FloatArray], FloatArray] = (
            times if careful else np.multiply
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
        """Odds against a given value, when x atoms are spent; shape (k + 1, cells).

        Parameters
        ----------
        bucket, holders : int64 arrays, shape (cells,)
            The bucket of each cell, and how often its value occurs there.
        """
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
        share: FloatArray = np.maximum(free - top, 0) / np.maximum(free, 1)
        return share

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


def exact_odds(n: int, counts: Sequence[int], holders: int, k: int) -> list[Fraction]:
    """`Buckets.target_value` of one cell as fractions, for 0 to k atoms.

    Parameters
    ----------
    n : int
    counts : sequence of int
        Of all values of the bucket, largest first.
    holders : int
        Of the target's value, one of the counts.
    """
    chances = _ExactChances(n, counts)
    tops = chances.tops
    least: list[Fraction] = []
    for x in range(k + 1):
        options = least[-1:]
        for a in range(min(x, len(counts) - 1) + 1):
            among = holders >= counts[a]
            held = tops[a + 1] if among else tops[a] + holders
            rest = chances.rest(1, a + 1 if among else a, x - a)
            options.append(Fraction(n - held, holders) * rest)
        least.append(min(options))
    return least


def exact_atoms(n: int, counts: Sequence[int], k: int) -> list[Fraction]:
    """`Buckets.atoms` of one bucket as fractions, for 0 to k atoms."""
    chances = _ExactChances(n, counts)
    return [chances.rest(0, h, h) for h in range(k + 1)]


def exact_sizes(n: int, counts: Sequence[int], k: int) -> list[int]:
    """How many atoms to spend on each person, so that k of them fail with the least chance."""
    chances = _ExactChances(n, counts)
    return chances.sizes(0, k, k)


def exact_target_sizes(
    n: int, counts: Sequence[int], holders: int, k: int
) -> tuple[int, list[int]]:
    """How many atoms to spend on the target beside its value, and on others of its bucket."""
    chances = _ExactChances(n, counts)
    tops = chances.tops
    best: tuple[Fraction, int, list[int]] | None = None
    for a in range(min(k, len(counts) - 1) + 1):
        among = holders >= counts[a]
        held = tops[a + 1] if among else tops[a] + holders
        cap = a + 1 if among else a
        odds = Fraction(n - held, holders) * chances.rest(1, cap, k - a)
        if best is None or odds < best[0]:
            best = odds, a, chances.sizes(1, cap, k - a)
    assert best is not None
    return best[1], best[2]


class _ExactChances:
    """The same recursion for one bucket, in fractions, remembering what it found."""

    def __init__(self, n: int, counts: Sequence[int]) -> None:
        self.n = n
        self.tops = [0]
        for count in counts:
            self.tops.append(self.tops[-1] + count)
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
