"""GDA: partners of other colours who are near by their quasi-identifiers; unsafe when it is known.

Table 7 of "Privacy Streamliner". It is here to be compared with: who knows it and everybody's
quasi-identifiers can rule out every table that it would have grouped otherwise. Four people of
ranks 1 to 4 with values a, a, b, c: the groups {1, 3}: ab and {2, 4}: ac come from one table only.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.streamliner.deal import Colours
from foreknow.anonymizers.streamliner.gda_late import Kinds, Open
from foreknow.anonymizers.streamliner.near import Nearest
from foreknow.anonymizers.streamliner.plan import Plan
from foreknow.errors import NoSafeRelease
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray

# People at a time.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Runs:
    """People of one colour and one weighted rank, by colour and then by rank.

    Attributes
    ----------
    colours, ranks, sizes : int64 arrays, shape (runs,)
    """

    colours: IntArray
    ranks: IntArray
    sizes: IntArray


def plan_gda(runs: Runs, values: Sequence[Any], l: int) -> Plan:  # noqa: E741
    """Plan the groups of GDA.

    Each person of the largest colour, in order of rank, takes the first of those ``l - 1`` colours
    whose first is nearest (equally near ones by colour); when that colour is used up, the colour
    that is largest then follows, until fewer than ``l`` are left. Who is left over joins, colour by
    colour, the group without their colour that is nearest on average (of equally near ones, the
    first that was made). If it is not among the 4,096 kinds of groups whose average rank is
    nearest, the nearest of these is taken: to look at all would take quadratic time.

    People of the same colour and rank are planned for together, as long as nothing changes. The
    colours are kept in order of their first ranks, so that each step takes time in proportion to l
    and the logarithm of their number.

    Parameters
    ----------
    runs : Runs
    values : sequence
        The sensitive value of each colour, for the message.
    l : int

    Raises
    ------
    NoSafeRelease
        GDA can be stuck: somebody is left over whose colour is in every group.

    Examples
    --------
    >>> runs = Runs(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 4]), np.array([1, 1, 1, 1]))
    >>> plan_gda(runs, "abc", 2).slots.tolist()
    [[0, 1], [0, 2]]
    """
    kinds, left = _draw(runs, len(values), l)
    return Plan(np.repeat(kinds.colours, kinds.sizes, axis=0), _join(kinds, runs, left, values))


def by_rank(
    codes: NDArray[Any],
    n_colours: int,
    attributes: Sequence[Attribute],
    weights: Mapping[str, int],
    random: np.random.Generator,
) -> tuple[Runs, Colours]:
    """Sort people by colour and weighted rank; equal ones by lot.

    The rank of a value is its place in the attribute's order, from 1; a person's weighted rank is
    the sum over the attributes, each times its weight, 1 where none is given.
    """
    weighted = [(attribute.codes, weights.get(attribute.name, 1)) for attribute in attributes]
    span = 1 + sum(len(a.domain) * weights.get(a.name, 1) for a in attributes)

    def ranks_of(block: slice) -> IntArray:
        total = np.zeros(len(codes[block]), dtype=np.int64)
        for own, weight in weighted:
            total += (own[block].astype(np.int64) + 1) * weight
        return total

    blocks = [slice(start, start + _BLOCK) for start in range(0, len(codes), _BLOCK)]
    if span <= max(4 * len(codes), _BLOCK):
        occurs = np.zeros(span, dtype=bool)
        for block in blocks:
            occurs[ranks_of(block)] = True
        ranks = np.flatnonzero(occurs)
    else:
        ranks = np.unique(ranks_of(slice(None)))
    n_keys = n_colours * len(ranks)
    keys = np.empty(len(codes), dtype=np.min_scalar_type(max(n_keys - 1, 0)))
    for block in blocks:
        places = np.searchsorted(ranks, ranks_of(block))
        keys[block] = codes[block].astype(np.int64) * len(ranks) + places
    people, found, sizes = _sorted(keys, n_keys)
    kinds = Colours(people, np.concatenate(([0], np.cumsum(sizes))))
    kinds.shuffle(random)
    of_colour = found // len(ranks)
    starts = kinds.starts[np.searchsorted(of_colour, np.arange(n_colours + 1))]
    found -= of_colour * len(ranks)
    return Runs(of_colour, ranks[found], sizes), Colours(people, starts)


def _sorted(keys: NDArray[Any], n_keys: int) -> tuple[NDArray[Any], IntArray, IntArray]:
    """People by key; the keys that occur, in order, and how often."""
    if n_keys <= _BLOCK:
        counts = np.bincount(keys, minlength=n_keys)
        found = np.flatnonzero(counts)
        return Colours.of(keys, counts).people, found, counts[found]
    order = np.argsort(keys, kind="stable")
    people = order.astype(np.int32 if len(keys) < 2**31 else np.int64)
    del order
    keys = keys[people]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return people, keys[starts].astype(np.int64), np.diff(starts, append=len(keys))


def _draw(runs: Runs, n_colours: int, l: int) -> tuple[Kinds, IntArray]:  # noqa: E741
    """Make groups until fewer than l colours are left; also what is left of each run."""
    numbers = np.arange(n_colours)
    at = np.searchsorted(runs.colours, numbers, "left").tolist()
    ends = np.searchsorted(runs.colours, numbers, "right").tolist()
    totals = np.bincount(runs.colours, weights=runs.sizes, minlength=n_colours).astype(np.int64)
    total = totals.tolist()
    left = runs.sizes.copy()
    # Without copies: one number at a time is read from them very often.
    rank_of, left_of = runs.ranks.data, left.data
    first = {colour: rank_of[at[colour]] for colour in np.flatnonzero(totals).tolist()}
    near = Nearest(first, n_colours)
    # Sizes from above, as they were when last looked at.
    largest = [(-total[colour], colour) for colour in first]
    heapify(largest)
    taken, sizes = array("i" if len(left) < 2**31 else "q"), array("q")
    own = -1
    while len(first) >= l:
        if own < 0 or not total[own]:
            while -largest[0][0] != total[largest[0][1]]:
                heapreplace(largest, (-total[largest[0][1]], largest[0][1]))
            own = largest[0][1]
        chosen = near.of(first[own], l)
        if chosen[0] != own:
            # It comes first; others may lie at the same rank.
            chosen = [own, *(colour for colour in chosen if colour != own)][:l]
        used = [at[colour] for colour in chosen]
        number = min([left_of[run] for run in used])
        taken.extend(used)
        sizes.append(number)
        for colour, run in zip(chosen, used, strict=True):
            left_of[run] -= number
            total[colour] -= number
            if left_of[run]:
                continue
            if run + 1 < ends[colour]:
                at[colour] = run + 1
                near.move(colour, first[colour], rank_of[run + 1])
                first[colour] = rank_of[run + 1]
            else:
                near.leave(colour, first.pop(colour))
    places = np.frombuffer(taken, dtype=taken.typecode).reshape(-1, l)
    small = np.min_scalar_type(max(n_colours - 1, 0))
    ranks = runs.ranks.astype(np.int32) if runs.ranks.max() < 2**31 else runs.ranks
    many = np.array(sizes, dtype=np.int64)
    return Kinds(runs.colours.astype(small)[places], ranks[places], many), left


def _join(kinds: Kinds, runs: Runs, left: IntArray, values: Sequence[Any]) -> IntArray:
    """Give everybody who is left over the nearest group without their colour."""
    starts = (np.cumsum(kinds.sizes) - kinds.sizes).tolist()
    late: list[tuple[int, int]] = []
    for colour in np.unique(runs.colours[left > 0]).tolist():
        groups = Open(kinds, colour)
        joined: dict[int, int] = {}
        for run in np.flatnonzero((runs.colours == colour) & (left > 0)).tolist():
            people = int(left[run])
            for kind, number in groups.nearest(int(runs.ranks[run]), people):
                before = joined.get(kind, 0)
                joined[kind] = before + number
                late += [(colour, starts[kind] + before + i) for i in range(number)]
                people -= number
            if people:
                left_over = int(left[runs.colours == colour].sum()) - sum(joined.values())
                raise NoSafeRelease(
                    f"GDA is stuck: {_people(left_over)} left over with {values[colour]!r}, and "
                    "every group holds that value already. A safe release may still exist; try "
                    "variant='rda'"
                )
    return np.array(late, dtype=np.int64).reshape(-1, 2)


def _people(many: int) -> str:
    return "1 person is" if many == 1 else f"{many:,} people are"
