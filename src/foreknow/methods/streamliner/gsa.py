"""GSA (guided, symmetric): by lot within blocks of near people, safe against who knows it.

**How it works.** People are divided in halves again and again, along the quasi-identifier in which
they differ most: equal halves, chosen from quasi-identifiers alone. A division stands if both
halves are l-eligible. If it does not, both halves stay together, but from then on every group
must have as many members from one half as from the other: the halves are *cells*. Further divisions
cut each cell in equal halves, and stand or double the cells in the same way. What remains in the
end is grouped by lot, so many from each cell to each group (always possible, see
`foreknow.methods.streamliner.gsa`); where there are no cells, by RDA.

**Why it is safe.** An adversary knows the method, everybody's quasi-identifiers and how often each
value occurs, and otherwise holds all tables for equally likely. Given everybody's group and the
values of each group, let u and v be members of one group. Then they have each value of the group
with the same probability; hence the posterior is the value's frequency in the group. For there is
a way of exchanging people that takes u to v, maps every group onto itself, and takes each table
that agrees with the release to one that leads to the release with the same probability:

1. *u and v in one cell.* Exchange these two. The values in every cell, half and block remain what
   they are; so every division stands or falls as before, and lots treat people of a cell alike.
2. *u and v in different cells.* Cells are numbered by the divisions that did not stand: the i-th
   bit says in which half. For each bit in which u and v differ, exchange **in all groups of the
   block that was not divided then** the members of one half with those of the other, cell for cell,
   u taking the way to v. The values of the two halves change places as a whole. Whether that
   division stands depends on both halves alike, so it still does not. Every other division is of
   blocks or cells in which these exchanges take place within each part, so it stands or falls as
   before. And lots treat the cells alike.

It does not matter how the halves are chosen from quasi-identifiers, nor when it is given up to
divide, nor how large groups are, as long as that follows from what the exchanges leave as it is:
quasi-identifiers, which divisions stood, and how often each value occurs *in a block as a whole*.
Nothing that depends on a half of a block that stays together may be used, except what is the same
if the halves change places. So a division that failed must make cells, even if another one would
stand; and no better division may be looked for by trying.

*Batches.* Sizes must be whole at every division. So groups of RDA are made of everybody first, and
shared out to batches by their number, that is, by the numbers of each value in them. Which people
of a value are in which batch was drawn by lot: every table that agrees with the values of each
batch leads to these batches with the same probability, so of each batch everything said above
holds by itself. A few groups stay as RDA made them.

**What it does not give.**

- *It holds for groups, not for boxes.* When groups are published with generalized quasi-identifiers
  and some of them look the same, an adversary sees their union, and u and v may be in different
  ones of them. The posterior is then an average of frequencies in groups, at most 1/l, but not the
  frequency in the union. Say people 1 to 6 are at the places 1, 1, 1, 1, 2, 2 and have the values
  a, a, b, b, c, d, l = 2; people 1 and 3 are in the box (1, 1) with a and b, the others in (1, 2)
  with a, b, c, d: then 2 has b with probability 2/5, not 1/4. So **no limit below 1/l holds for
  such a release just because the frequencies keep it**. It does for the groups (buckets). Under
  RDA it does for boxes too where groups that look alike are equally large, as all are if l divides
  the number of people; else not (values a, a, b, b, c at 1, 1, 2, 2, 2, l = 2: 5/12, not 2/5).
- *The release is not independent of joint facts*, as it is under RDA. The values a, a, b, b of
  people 1 to 4, l = 2: {1, 3} and {2, 4} are grouped only when {1, 2} | {3, 4} could not be, so 1
  and 2 have the same value; each of them still has either with probability 1/2, but who happens to
  know 1's value then knows 2's. RDA hides that too, and nothing that does so can prefer {1, 2} |
  {3, 4}: see ``tests/anonymizers/test_streamliner_rigid.py``.
- The same holds for beliefs about people's values that the quasi-identifiers give. Use RDA against
  those.

**Sizes.** Groups must have equally many members of each cell, at most 1/l of them with the same
value: usually l, where as many divisions failed as l has the factor 2, and up to eight times that
after three, which is where a block is given up. Therefore a block is divided only if a failure
costs nothing (three of them for l = 8, one for l = 10, none for l = 9), or if its most frequent
value has at most 85 % of what it may have, so that halves are likely to stand. If l + 1 is a
multiple of eight, blocks are made for l + 1 as long as frequencies leave room for it.

A table of fewer than 16 groups is not divided, nor one where l is odd and the most frequent value
above those 85 %: then **GSA is RDA**, and says so in the log (level info). Attributes along which a
frequent value is concentrated use up what may fail; with weight 0 nothing is divided along them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Attribute
from foreknow.data.sparse import IntArray
from foreknow.methods.streamliner.rda import Colours, Plan, deal, plan_rda

# People who are shared out at a time: few enough for a processor's cache.
_MANY = 1 << 15
# People of whom groups are made one person after the other, which is quicker then.
_FEW = 1 << 10


def transversals(
    cells: NDArray[Any],
    codes: NDArray[Any],
    each: int,
    random: np.random.Generator,
) -> IntArray:
    """Group the people of some cells, `each` of every cell in each group.

    With m groups, a value that c people have occurs at most c / m times, rounded up, in each.

    All people come in random order, and are seated in it; nothing else is known of a person but
    cell and value, nothing else of a cell but who is in it. So people of a cell and value are
    treated alike, and so are the cells.

    Parameters
    ----------
    cells : integer array, shape (cells, people)
    codes : integer array
        Sensitive values of the same people.
    each : int
        Divides the number of people in a cell.
    random : numpy.random.Generator

    Returns
    -------
    int64 array, shape (cells, people)
        The group of each person, from 0.

    Examples
    --------
    >>> cells = np.array([[0, 1], [2, 3]])
    >>> values = np.array([[7, 7], [8, 8]])
    >>> found = transversals(cells, values, 1, np.random.default_rng(0))
    >>> sorted(found[0].tolist()), sorted(found[1].tolist())
    ([0, 1], [0, 1])
    """
    n_cells, people = cells.shape
    order = random.permutation(cells.size).astype(_index(cells.size))
    cell = (order // people).astype(np.min_scalar_type(n_cells))
    found = np.empty(cells.size, dtype=np.int64)
    found[order] = _shared_out(cell, codes.reshape(-1)[order], people // each)
    return found.reshape(cells.shape)


def _shared_out(cell: NDArray[Any], values: NDArray[Any], n_groups: int) -> NDArray[Any]:
    """The group of everybody, by cell and value, in the order in which they come."""
    part: NDArray[Any] = np.zeros(len(cell), dtype=np.int32)
    n_parts = 1
    while n_groups % (2 * n_parts) == 0 and len(part) > _FEW * n_parts:
        part = 2 * part + _half(part, cell, values)
        n_parts *= 2
        if len(part) > _MANY and n_parts < n_groups:
            for side, some in enumerate([np.flatnonzero(part == 0), np.flatnonzero(part)]):
                inner = _shared_out(cell[some], values[some], n_groups // 2)
                part[some] = inner + side * (n_groups // 2)
            return part
    if n_parts < n_groups:
        return _coloured(part, cell, values, n_groups // n_parts)
    return part


def _half(part: NDArray[Any], cell: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Share the people of each part out to two halves, equally by cell, and by value as can be."""
    one = _partners(np.lexsort((cell, part)))
    by_value = np.lexsort((values, part))
    same = values[by_value], part[by_value]
    last = np.ones(len(part), dtype=bool)
    last[:-1] = (same[0][1:] != same[0][:-1]) | (same[1][1:] != same[1][:-1])
    ends = np.flatnonzero(last)
    counts = np.diff(ends, prepend=-1)
    odd = ends[counts % 2 == 1]
    # Of a value with an odd number of people in a part, the last one is paired with another such.
    by_value = np.concatenate([np.delete(by_value, odd), by_value[odd]])
    ring = _least_of_ring(_partners(by_value)[one])
    found: NDArray[Any] = ring > ring[one]
    return found


def _partners(order: NDArray[Any]) -> NDArray[Any]:
    """Pair everybody with the next one in an order."""
    found = np.empty(len(order), dtype=_index(len(order)))
    found[order[::2]] = order[1::2]
    found[order[1::2]] = order[::2]
    return found


def _least_of_ring(follower: NDArray[Any]) -> NDArray[Any]:
    """The first of all who follow each other around a ring."""
    least: NDArray[Any] = np.minimum(np.arange(len(follower), dtype=follower.dtype), follower)
    further = follower
    while (least[follower] != least).any():
        further = further[further]
        least = np.minimum(least, least[further])
    return least


def _index(size: int) -> Any:
    """A type for numbers below a size."""
    return np.int32 if size <= 2**31 else np.int64


def _coloured(
    part: NDArray[Any], cell: NDArray[Any], values: NDArray[Any], n_groups: int
) -> NDArray[Any]:
    """Make a few groups of each part."""
    found = np.empty(len(part), dtype=np.int32)
    by_part = np.argsort(part, kind="stable").reshape(int(part.max()) + 1, -1)
    for number, people in enumerate(by_part):
        seats = _transversal_numbered(cell[people], n_groups)
        colours = colour_edges(seats, _transversal_numbered(values[people], n_groups), n_groups)
        found[people] = np.array(colours) + number * n_groups
    return found


def _transversal_numbered(values: NDArray[Any], size: int) -> list[int]:
    """Number cells or values; where more people have one than `size`, so many share a number."""
    order = np.argsort(values, kind="stable")
    first = np.ones(len(order), dtype=bool)
    first[1:] = values[order[1:]] != values[order[:-1]]
    begins = np.flatnonzero(first)
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(rank % size == 0) - 1
    found: list[int] = numbers.tolist()
    return found


def colour_edges(left: list[int], right: list[int], n_colours: int) -> list[int]:
    """Colour the edges of a bipartite graph so that no two at a vertex are alike.

    Edge by edge: a colour that is free at both ends, or, where there is none, one that becomes so
    when two colours are exchanged along a path (Kempe's chain).

    Parameters
    ----------
    left, right : lists of int
        The ends of each edge.
    n_colours : int
        No vertex has more edges.

    Examples
    --------
    >>> colour_edges([0, 0, 1, 1], [0, 1, 1, 0], 2)
    [0, 1, 0, 1]
    """
    ends = (left, right)
    full = (1 << n_colours) - 1
    free = [[full] * (max(side, default=-1) + 1) for side in ends]  # colours, as bits
    held: list[list[dict[int, int]]] = [[{} for _ in masks] for masks in free]  # colour -> edge
    found = [-1] * len(left)

    def give(edge: int, colour: int) -> None:
        found[edge] = colour
        for side in (0, 1):
            vertex = ends[side][edge]
            free[side][vertex] ^= 1 << colour
            held[side][vertex][colour] = edge

    def take(edge: int) -> None:
        for side in (0, 1):
            vertex = ends[side][edge]
            free[side][vertex] ^= 1 << found[edge]
            del held[side][vertex][found[edge]]

    for edge, (one, other) in enumerate(zip(left, right, strict=True)):
        both = free[0][one] & free[1][other]
        if both:
            give(edge, _lowest(both))
            continue
        colour, spare = _lowest(free[0][one]), _lowest(free[1][other])
        # From `other` on, edges of `colour` and `spare` by turns; `one` has no edge of `colour`,
        # so the path does not come there.
        path, side, vertex, now = [], 1, other, colour
        while now in held[side][vertex]:
            path.append(held[side][vertex][now])
            side = 1 - side
            vertex = ends[side][path[-1]]
            now = spare if now == colour else colour
        exchanged = [spare if found[step] == colour else colour for step in path]
        for step in path:
            take(step)
        for step, new in zip(path, exchanged, strict=True):
            give(step, new)
        give(edge, colour)
    return found


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


_log = logging.getLogger(__name__)

# Blocks are not divided below this many groups.
_LEAST = 8
# How many divisions of one block may fail.
_FAILURES = 3
# People whose quasi-identifiers are looked at to choose along which one to divide a block.
_SAMPLE = 4096


@dataclass(frozen=True)
class _Shape:
    """Sizes of what is made.

    Attributes
    ----------
    l : int
        No value may have more than 1/l of a group.
    least : int
        No value may have more than 1/least of a block; l, or one more.
    failures : int
        How many divisions of a block may fail.
    least_groups : int
        Blocks are divided as long as the parts have at least this many groups.
    """

    l: int  # noqa: E741
    least: int
    failures: int
    least_groups: int

    @classmethod
    def of(
        cls,
        sizes: IntArray,
        l: int,  # noqa: E741
        failures: int = _FAILURES,
        least_groups: int = _LEAST,
    ) -> _Shape:
        """Choose sizes from how often each value occurs."""
        free = (l + 1) % (1 << failures) == 0
        room = 5 * (l + 1) * int(sizes.max()) <= 4 * int(sizes.sum())
        return cls(l, l + 1 if free and room else l, failures, least_groups)

    def group(self, cells: int, people: int, most: int) -> int:
        """Members of the groups of a block with cells, if `most` of its people share a value."""
        group = -(-self.l // cells) * cells
        while people % group or most * group > group // self.l * people:
            group += cells
        return group

    def worth(self, cells: int, people: int, most: int) -> bool:
        """Whether a block is to be divided: if that can fail for nothing, or there is room."""
        if cells >> self.failures:
            return False
        if self.room(people, most):
            return True
        now = self.group(cells, people, most) if cells > 1 else self.least
        return self.group(2 * cells, people, most) == now

    def room(self, people: int, most: int) -> bool:
        """Whether some people are clearly eligible, so that their halves may well be."""
        return 20 * self.least * most <= 17 * people

    def batches(self, rows: IntArray) -> tuple[list[tuple[IntArray, int]], IntArray]:
        """Share groups of RDA out to batches, and how often the people of each can be divided.

        Sizes must stay whole when a block is divided so often, and when so many divisions fail.
        As large a batch as possible first; what remains at last is too small to be divided.
        """
        found = []
        unit = lcm(self.least, 1 << self.failures) // self.least
        while depth := max(len(rows) // self.least_groups, 1).bit_length() - 1:
            while depth and 3 * (len(rows) // (unit << depth) * (unit << depth)) < 2 * len(rows):
                depth -= 1
            taken = len(rows) // (unit << depth) * (unit << depth) if depth else 0
            if not taken:
                break
            places = np.arange(taken) * len(rows) // taken
            found.append((rows[places], depth))
            rows = np.delete(rows, places)
        return found, rows


def groups_of_gsa(
    codes: NDArray[Any],
    sizes: IntArray,
    attributes: Sequence[Attribute],
    l: int,  # noqa: E741
    random: np.random.Generator,
    weights: Mapping[str, int] | None = None,
    least_groups: int = _LEAST,
    failures: int = _FAILURES,
) -> IntArray:
    """Everybody's group.

    Parameters
    ----------
    codes : integer array, shape (people,)
        Sensitive values.
    sizes : int64 array, shape (values,)
        How often each occurs; at most 1/l of the people each.
    attributes : sequence of Attribute
    l : int
    random : numpy.random.Generator
        Secret.
    weights : mapping of str to int, optional
        How much each quasi-identifier counts when it is decided along which to divide.
    least_groups : int
        Blocks are divided as long as the parts have at least this many groups.
    failures : int
        How many divisions of one block may fail.

    Returns
    -------
    int64 array, shape (people,)
    """
    shape = _Shape.of(sizes, l, failures, least_groups)
    plan = plan_rda(sizes, shape.least)
    batches, rest = _planned(plan, sizes, shape)
    if not batches:
        _log.info(
            "GSA divides nothing: %d people, %d of whom share a value, are too few or too much "
            "alike for l = %d; the groups are those of RDA",
            len(codes),
            int(sizes.max()),
            l,
        )
        return _by_lot(codes, sizes, plan, random)
    final, batch_of = np.full((2, plan.n_groups), -1)
    final[rest] = np.arange(len(rest))
    n_groups = len(rest)
    for number, (rows, _) in enumerate(batches):
        batch_of[rows] = number
    if batch_of.any():
        groups = _by_lot(codes, sizes, plan, random)
        batch, groups = batch_of[groups], final[groups]
    else:  # one batch, and nobody besides
        batch, groups = np.zeros((2, len(codes)), dtype=np.int64)
    axes = [_Axis.of(attribute, weights or {}) for attribute in attributes]
    for number, (_, depth) in enumerate(batches):
        people = _in_order(np.flatnonzero(batch == number).astype(np.int32), attributes)
        blocks = [(people[None], depth)]
        while blocks:
            cells, depth = blocks.pop()
            people = cells.reshape(-1)
            values, counts = _numbered(codes[people])
            most = int(counts.max())
            worth = depth and shape.worth(len(cells), len(people), most)
            axis = _widest(cells, axes) if worth else None
            if axis is None:
                values = values.reshape(cells.shape)
                found = _grouped(cells, values, counts, shape, random)
                groups[cells] = found + n_groups
                n_groups += int(found.max()) + 1
                continue
            low, high = _halves(cells, axis)
            if _eligible(codes[low], shape) and _eligible(codes[high], shape):
                blocks += [(low, depth - 1), (high, depth - 1)]
            else:
                blocks.append((np.concatenate([low, high]), depth))
    return groups


def plan_undivided(sizes: IntArray, l: int) -> Plan | None:  # noqa: E741
    """The plan of RDA that is dealt out where a table is not to be divided; None elsewhere.

    Parameters
    ----------
    sizes : int64 array, shape (values,)
    l : int

    Examples
    --------
    >>> plan_undivided(np.array([1, 1]), 2).slots.tolist()
    [[0, 1]]
    >>> plan_undivided(np.array([50, 50]), 2) is None
    True
    """
    shape = _Shape.of(sizes, l)
    plan = plan_rda(sizes, shape.least)
    return None if _planned(plan, sizes, shape)[0] else plan


def _planned(
    plan: Plan, sizes: IntArray, shape: _Shape
) -> tuple[list[tuple[IntArray, int]], IntArray]:
    """The batches of groups that are divided, and the groups that stay as they are."""
    joined = np.unique(plan.late[:, 1])
    plain = np.setdiff1d(np.arange(plan.n_groups), joined)
    batches, rest = shape.batches(plain)
    if shape.least % 2 and not shape.room(int(sizes.sum()), int(sizes.max())):
        return [], np.arange(plan.n_groups)
    return batches, np.concatenate([joined, rest])


def _by_lot(
    codes: NDArray[Any], sizes: IntArray, plan: Plan, random: np.random.Generator
) -> IntArray:
    """RDA."""
    colours = Colours.of(codes, sizes)
    colours.shuffle(random)
    return deal(plan, colours)


def _in_order(people: NDArray[Any], attributes: Sequence[Attribute]) -> NDArray[Any]:
    """People in the order of their quasi-identifiers."""
    for attribute in reversed(attributes):
        people = people[np.argsort(attribute.codes[people], kind="stable")]
    return people


@dataclass(frozen=True, eq=False)
class _Axis:
    """A quasi-identifier to divide along: everybody's place in its order, from 0 to `weight`."""

    codes: NDArray[Any]
    scale: float

    @classmethod
    def of(cls, attribute: Attribute, weights: Mapping[str, int]) -> _Axis:
        weight = weights.get(attribute.name, 1)
        return cls(attribute.codes, weight / max(len(attribute.domain) - 1, 1))

    def spread(self, cells: NDArray[Any]) -> float:
        """Variance within the cells."""
        return float(np.var(self.codes[cells], axis=1).mean()) * self.scale**2


def _widest(cells: NDArray[Any], axes: Sequence[_Axis]) -> _Axis | None:
    """Along which people of one cell differ most; None if they do not."""
    some = cells[:, :: max(cells.size // _SAMPLE, 1)]
    spreads = [axis.spread(some) for axis in axes]
    most = max(spreads)
    return axes[spreads.index(most)] if most else None


def _halves(cells: NDArray[Any], axis: _Axis) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lower and upper half of each cell."""
    order = np.argsort(axis.codes[cells], axis=1, kind="stable")
    ordered = np.take_along_axis(cells, order, axis=1)
    middle = cells.shape[1] // 2
    return ordered[:, :middle], ordered[:, middle:]


def _eligible(values: NDArray[Any], shape: _Shape) -> bool:
    """Whether no value has too many of some people."""
    flat = values.reshape(-1)
    counts = _numbered(flat)[1]
    return int(counts.max()) * shape.least <= len(flat)


def _numbered(values: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Values as small numbers, and how often each occurs."""
    counts = np.bincount(values) if values.max() < 4 * len(values) else None
    if counts is not None:
        return values, counts
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    return numbers, counts


def _grouped(
    cells: NDArray[Any],
    values: NDArray[Any],
    counts: IntArray,
    shape: _Shape,
    random: np.random.Generator,
) -> IntArray:
    """The groups of a block, by lot."""
    if len(cells) > 1:
        group = shape.group(len(cells), cells.size, int(counts.max()))
        return transversals(cells, values, group // len(cells), random)
    return _by_lot(values[0], counts, plan_rda(counts, shape.least), random)[None]
