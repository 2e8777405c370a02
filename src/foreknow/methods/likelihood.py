"""The chance of groups whose places are planned first, and given to people by lot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import groupby
from math import factorial, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError

Bag: TypeAlias = tuple[int, ...]


def groups_of_people(microdata: Microdata, groups: Any) -> IntArray | None:
    """Read one whole number for each row as the group of everybody; None if someone has none."""
    of_row = np.asarray(groups)
    if of_row.shape != (microdata.n_rows,) or of_row.dtype.kind not in "iu":
        raise InputError(
            f"groups must be one whole number for each of the {microdata.n_rows} rows of "
            f"{microdata.name}"
        )
    own: IntArray = of_row[microdata.kept].astype(np.int64)
    return None if (own < 0).any() else own


def bags_of(kinds: NDArray[Any], groups: IntArray) -> Counter[Bag]:
    """How many groups hold each bag of kinds; bags in ascending order.

    >>> dict(bags_of(np.array([2, 0, 0, 2, 1]), np.array([7, 7, 5, 5, 5])))
    {(0, 1, 2): 1, (0, 2): 1}
    """
    order = np.lexsort((kinds, groups))
    pairs = zip(groups[order].tolist(), kinds[order].tolist(), strict=True)
    return Counter(tuple(kind for _, kind in own) for _, own in groupby(pairs, key=_group))


def dealt_chance(planned: Counter[Bag], found: Counter[Bag]) -> Fraction:
    """How probable groups (`found`) are if people get the places of `planned` ones by lot.

    Bags hold kinds of people; everybody of a kind is equally likely to get each of its places.
    There are as many outcomes as orders of the people of each kind. Groups come out if each takes
    the place of a planned group with the same bag; within it, people of a kind may change places.
    So the chance is the product over bags of m! times the product over groups and kinds of (people
    of the kind)!, divided by the product over kinds of (all of them)!, where m groups hold a bag.

    Two people of each of two kinds, one of each in each of two groups: two ways of four.

    >>> pairs = Counter({(0, 1): 2})
    >>> dealt_chance(pairs, pairs)
    Fraction(1, 2)
    """
    if planned != found:
        return Fraction(0)
    ways = prod(factorial(m) * _repeats(bag) ** m for bag, m in found.items())
    sizes: Counter[int] = Counter()
    for bag, m in found.items():
        for kind in bag:
            sizes[kind] += m
    return Fraction(ways, prod(map(factorial, sizes.values())))


def _repeats(bag: Iterable[int]) -> int:
    return prod(factorial(many) for many in Counter(bag).values())


def _group(pair: tuple[int, int]) -> int:
    return pair[0]
