"""MINIMIZE1 and MINIMIZE2 of "Worst-Case Background Knowledge" (section 3.3), misprints mended.

Plain Python, one bucket after another, memoised as the paper says: O(buckets k^3). Three things
differ from the print, where enumeration says otherwise: MINIMIZE1 stops at a numerator of 0,
MINIMIZE2 ends with 1 once the target has been placed, and its first call has not placed it yet.
"""

from itertools import accumulate
from math import inf


def minimize1(counts, most, one=1.0):
    """Least chances that 0 to `most` atoms about one bucket are all false.

    Parameters
    ----------
    counts : sequence of int
        How often each value occurs.
    most : int
    one : float or Fraction
        The number 1, in the kind of number to work with.

    >>> from fractions import Fraction
    >>> [str(x) for x in minimize1([2, 2, 1], 3, Fraction(1))]
    ['1', '3/5', '1/5', '0']
    """
    tops = list(accumulate(sorted(counts, reverse=True), initial=0))
    n, known = tops[-1], {}

    def least(i, cap, left):
        if (i, cap, left) not in known:
            best = one
            for c in range(1, min(cap, left) + 1):
                free = n - i - tops[min(c, len(tops) - 1)]
                if free <= 0:
                    best = 0 * one
                    break
                best = min(best, one * free / (n - i) * least(i + 1, c, left - c))
            known[i, cap, left] = best
        return known[i, cap, left]

    return [least(0, h, h) for h in range(most + 1)]


def minimize2(buckets, k, one=1.0):
    """Highest posterior of any value, given 0 to k implications.

    >>> from fractions import Fraction
    >>> [str(x) for x in minimize2([[2, 2, 1], [2, 1, 1, 1]], 2, Fraction(1))]
    ['2/5', '2/3', '1']
    """
    placed, waiting = [one] * (k + 1), [inf] * (k + 1)
    for counts in reversed(buckets):
        chances = minimize1(counts, k + 1, one)
        share = one * sum(counts) / max(counts)
        after, before = placed, waiting
        placed = [
            min(chances[h] * after[left - h] for h in range(left + 1)) for left in range(k + 1)
        ]
        waiting = [
            min(
                min(chances[h + 1] * share * after[left - h] for h in range(left + 1)),
                min(_later(chances[h], before[left - h]) for h in range(left + 1)),
            )
            for left in range(k + 1)
        ]
    return [one / (1 + ratio) for ratio in waiting]


def _later(chance, ratio):
    """The target is in a later bucket, if there is one."""
    return inf if ratio == inf else chance * ratio
