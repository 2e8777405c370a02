"""Classical criteria as they were defined: k-anonymity and recursive (c, l)-diversity.

Both are special cases of adversaries here: see `Facts` and `Negations`, and the tests that show it.
"""

from __future__ import annotations

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of, whole_amount
from foreknow.errors import InputError
from foreknow.numbers import Number, as_fraction


def k_anonymity(release: HasCounts) -> int:
    """Return the largest k for which every group has at least k people; 0 without groups.

    Notes
    -----
    Where everybody's sensitive value is their identity, it is at least k exactly where
    ``Facts(k=k - 2)`` stays below 1 (Proposition 3 of "Privacy Skyline"), for k of 2 or more.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> k_anonymity(GroupCounts.from_bags([["Flu", "Cold"], ["Flu", "Flu", "AIDS"]]))
    2
    """
    sizes = counts_of(release).sizes
    return int(sizes.min()) if len(sizes) else 0


def is_recursively_diverse(release: HasCounts, c: Number, l: int) -> bool:  # noqa: E741
    """Whether every group is recursively (c, l)-diverse, in the strict form.

    The most frequent value of each group occurs strictly less than c times as often as all values
    together that come after the l - 1 most frequent ones.

    Parameters
    ----------
    release : Release or GroupCounts
        Under ``single``.
    c : number
        Above 0.
    l : int
        At least 2.

    Raises
    ------
    InputError
        If c or l is out of range, or people have several values.

    Notes
    -----
    The same as that ``Negations(l - 2)`` stays below c / (c + 1), for every value. Definition 17 of
    "Worst-Case Background Knowledge" lost the strictness and its parentheses: with "at most", one
    person with a and one with b would be (1, 2)-diverse, and each value be disclosed with 1/2.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold", "Cancer"]])
    >>> is_recursively_diverse(counts, c=1, l=2), is_recursively_diverse(counts, c=1, l=3)
    (True, False)
    """
    counts = counts_of(release)
    if counts.semantics != "single":
        raise InputError(f"(c, l)-diversity is about one value per person, not {counts.semantics}")
    times, least = as_fraction(c), whole_amount("(c, l)-diversity", "l", l)
    if times <= 0 or least < 2:
        raise InputError(f"(c, l)-diversity needs c above 0 and l of at least 2, not {(c, l)}")
    most, tail = counts.top_sums(1), counts.sizes - counts.top_sums(least - 1)
    # Python's whole numbers, since the factors of c may be large.
    pairs = np.unique(np.stack((most, tail), axis=1), axis=0).tolist()
    return all(own * times.denominator < times.numerator * rest for own, rest in pairs)
