"""The chance of groups whose places are planned first, and given to people at random."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import groupby
from math import factorial, prod
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError

Bag: TypeAlias = tuple[int, ...]


def groups_of_kept(microdata: Microdata, groups: Any) -> IntArray:
    """Read one whole number for each row as the group of everybody; below 0 where left out."""
    try:
        of_row = np.asarray(groups)
    except ValueError:  # of rows of unlike lengths
        of_row = np.empty(0)
    if of_row.shape != (microdata.n_rows,) or of_row.dtype.kind not in "iu":
        raise DataError(
            f"groups must be one whole number for each of the {microdata.n_rows} rows of "
            f"{microdata.name}"
        )
    return of_row[microdata.kept].astype(np.int64)


def groups_of_people(microdata: Microdata, groups: Any) -> IntArray | None:
    """The group of everybody; None if a person has none."""
    own = groups_of_kept(microdata, groups)
    return None if (own < 0).any() else own


def bags_of(kinds: NDArray[Any], groups: IntArray) -> Counter[Bag]:
    """How many groups hold each bag of kinds; bags in ascending order."""
    order = np.lexsort((kinds, groups))
    pairs = zip(groups[order].tolist(), kinds[order].tolist(), strict=True)
    return Counter(tuple(kind for _, kind in own) for _, own in groupby(pairs, key=itemgetter(0)))


def dealt_chance(planned: Counter[Bag], found: Counter[Bag]) -> Fraction:
    """How probable groups (`found`) are if people get the places of `planned` ones at random.

    There are as many outcomes as orders of the people of each kind. Groups come out if each takes
    the place of a planned group with the same bag; within it, people of a kind may change places.
    Two of each of two kinds, one of each in each of two groups: two ways of four.

    >>> dealt_chance(Counter({(0, 1): 2}), Counter({(0, 1): 2}))
    Fraction(1, 2)
    """
    if planned != found:
        return Fraction(0)
    ways, sizes = 1, Counter[int]()
    for bag, m in found.items():
        ways *= factorial(m) * prod(map(factorial, Counter(bag).values())) ** m
        for kind in bag:
            sizes[kind] += m
    return Fraction(ways, prod(map(factorial, sizes.values())))
