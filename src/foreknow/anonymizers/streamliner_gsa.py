"""GSA (guided, symmetric): by lot within blocks of near people, safe against who knows it.

**How it works.** People are divided in halves again and again, along the quasi-identifier in which
they differ most: equal halves, chosen from quasi-identifiers alone. A division stands if both
halves are l-eligible. If it does not, both halves stay together, but from then on every group
must have as many members from one half as from the other: the halves are *cells*. Further divisions
cut each cell in equal halves, and stand or double the cells in the same way. What remains in the
end is grouped by lot, so many from each cell to each group (always possible, see
`foreknow.anonymizers.streamliner_transversal`); where there are no cells, by RDA.

**Why it is safe.** An adversary knows the method, everybody's quasi-identifiers and how often each
value occurs, and otherwise holds all tables for equally likely. Given a release, let u and v be
members of one of its groups. Then they have each value of the group with the same probability;
hence the posterior is the value's frequency in the group. For there is a way of exchanging people
that takes u to v, maps every group onto itself, and takes each table that agrees with the release
to one that leads to the release with the same probability:

1. *u and v in one cell.* Exchange these two. The values in every cell, half and block remain what
   they are; so every division stands or falls as before, and lots treat people of a cell alike.
2. *u and v in different cells.* Cells are numbered by the divisions that did not stand: the i-th
   bit says in which half. For each bit in which u and v differ, exchange **in all groups of the
   block that was not divided then** the members of one half with those of the other, cell for cell,
   u taking the way to v. The values of the two halves change places as a whole. Whether that
   division stands depends on both halves alike, so it still does not. Every other division is of
   blocks or cells in which these exchanges take place within each part, so it stands or falls as
   before. And lots treat the cells alike.

People are dealt to groups of one block only, and what is taken out at the beginning (below) is
taken as in RDA, so both arguments hold there too.

It does not matter how the halves are chosen from quasi-identifiers, nor when it is given up to
divide, as long as that follows from quasi-identifiers and from which divisions stood.

**What it does not give.** The release is not independent of *joint* facts as it is under RDA. The
values a, a, b, b of people 1 to 4, l = 2: {1, 3} and {2, 4} are grouped only when {1, 2} | {3, 4}
could not be, so 1 and 2 have the same value; each of them still has either with probability 1/2,
but who happens to know 1's value then knows 2's. RDA hides that too, and nothing that does so can
prefer {1, 2} | {3, 4}: see ``tests/anonymizers/test_streamliner_rigid.py``. The same holds for
beliefs about people's values that the quasi-identifiers give. Use RDA against those.

**Sizes.** Halves must be equal at every division. So at the beginning some groups of RDA are taken
out, as few as make the rest divisible. And groups must have equally many members of each cell: for
an odd l they have l + 1 members where frequencies leave room for it, and otherwise 2 l with each
value at most twice. So a block is given up when as many divisions did not stand as a group's size
has the factor 2: three for l = 8, one for l = 10. Attributes along which a frequent value is
concentrated use that up; with weight 0 nothing is divided along them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.streamliner_deal import Colours, deal
from foreknow.anonymizers.streamliner_plan import Plan, plan_rda
from foreknow.anonymizers.streamliner_transversal import transversals
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray

# Blocks are not divided below this many groups; what is taken out first is at most one in as many.
_LEAST = 16
# People whose quasi-identifiers are looked at to choose along which one to divide a block.
_SAMPLE = 4096


@dataclass(frozen=True)
class _Shape:
    """Sizes of what is made.

    Attributes
    ----------
    least : int
        A block must be `least`-eligible.
    group : int
        Members of a group of a block with cells.
    """

    least: int
    group: int

    @classmethod
    def of(cls, l: int, people: int, most: int) -> _Shape:  # noqa: E741
        """Choose sizes, when `most` of the people share a value."""
        even = l + l % 2
        if even == l or 5 * even * most <= 4 * people:
            return cls(even, even)
        return cls(l, 2 * l)

    @property
    def most_cells(self) -> int:
        """The largest power of two that divides a group."""
        return self.group & -self.group


def groups_of_gsa(
    codes: NDArray[Any],
    sizes: IntArray,
    attributes: Sequence[Attribute],
    l: int,  # noqa: E741
    random: np.random.Generator,
    weights: Mapping[str, int] | None = None,
    least_groups: int = _LEAST,
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

    Returns
    -------
    int64 array, shape (people,)
    """
    shape = _Shape.of(l, len(codes), int(sizes.max()))
    plan = plan_rda(sizes, shape.least)
    depth = max(len(codes) // (shape.group * least_groups), 1).bit_length() - 1
    apart, depth = _taken_out(plan, len(codes), shape, depth)
    if not depth:
        return _by_lot(codes, sizes, plan, random)
    n_groups = len(apart)
    if n_groups:
        groups = _by_lot(codes, sizes, plan, random)
        number = np.full(plan.n_groups, -1)
        number[apart] = np.arange(n_groups)
        groups = number[groups]
    else:
        groups = np.full(len(codes), -1)
    people = _in_order(np.flatnonzero(groups < 0).astype(np.int32), attributes)
    axes = [_Axis.of(attribute, weights or {}) for attribute in attributes]
    blocks = [(people[None], depth)]
    while blocks:
        cells, depth = blocks.pop()
        axis = _widest(cells, axes) if depth and 2 * len(cells) <= shape.most_cells else None
        if axis is None:
            found = _grouped(cells, codes[cells], shape, random)
            groups[cells] = found + n_groups
            n_groups += int(found.max()) + 1
            continue
        low, high = _halves(cells, axis)
        if _eligible(codes[low], shape) and _eligible(codes[high], shape):
            blocks += [(low, depth - 1), (high, depth - 1)]
        else:
            blocks.append((np.concatenate([low, high]), depth))
    return groups


def _by_lot(
    codes: NDArray[Any], sizes: IntArray, plan: Plan, random: np.random.Generator
) -> IntArray:
    """RDA."""
    colours = Colours.of(codes, sizes)
    colours.shuffle(random)
    return deal(plan, colours)


def _taken_out(plan: Plan, people: int, shape: _Shape, depth: int) -> tuple[IntArray, int]:
    """The groups that are taken out before anything is divided, and how often one can divide then.

    All groups that somebody joined late, and then from the first on: those hold the frequent
    values.
    """
    joined = np.unique(plan.late[:, 1])
    least = len(joined) * shape.least + len(plan.late)
    for tried in range(depth, 0, -1):
        unit = shape.group << tried
        rest = (people - least) // unit * unit
        if rest:
            plain = np.setdiff1d(np.arange(plan.n_groups), joined)
            more = (people - least - rest) // shape.least
            return np.concatenate([joined, plain[:more]]), tried
    return joined, 0


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
    cells: NDArray[Any], values: NDArray[Any], shape: _Shape, random: np.random.Generator
) -> IntArray:
    """The groups of a block, by lot."""
    if len(cells) > 1:
        return transversals(cells, values, shape.group // len(cells), random)
    codes, sizes = _numbered(values[0])
    return _by_lot(codes, sizes, plan_rda(sizes, shape.least), random)[None]
