"""GSA (guided, symmetric): at random within blocks of near people, safe against who knows it.

**How it works.** People are divided in equal halves again and again, along the quasi-identifier in
which they differ most, by quasi-identifiers alone. A division stands if both halves are l-eligible.
If it does not, both halves stay together as *cells*: from then on every group must have as many
members from one as from the other. Further divisions cut each cell in halves, and stand or double
the cells in the same way. What remains in the end is grouped at random, so many from each cell to
each group; where there are no cells, by RDA.

**Why it is safe.** An adversary knows the method, everybody's quasi-identifiers and how often each
value occurs, and otherwise holds all tables for equally likely. Given everybody's group and the
values of each group, two members u and v of one group have each value of the group with the same
probability; hence the posterior is the value's frequency in the group. For there is a way of
exchanging people that takes u to v, maps every group onto itself, and takes each table that agrees
with the release to one that leads to the release with the same probability:

1. *u and v in one cell.* Exchange these two. The values in every cell, half and block remain what
   they are; so every division stands or falls as before, and people of a cell are treated alike.
2. *u and v in different cells.* Cells are numbered by the divisions that did not stand: the i-th
   bit says in which half. For each bit in which u and v differ, exchange **in all groups of the
   block that was not divided then** the members of one half with those of the other, cell for cell,
   u taking the way to v. The values of the two halves change places as a whole. Whether that
   division stands depends on both halves alike, so it still does not. Every other division is of
   blocks or cells in which these exchanges take place within each part, so it stands or falls as
   before. And the cells are treated alike.

So how halves are chosen, when to stop, and how large groups are may follow from anything that the
exchanges leave as it is: quasi-identifiers, which divisions stood, and how often each value occurs
*in a block as a whole*; but not from one half of a block that stays together. So a division that
failed must make cells, even if another one would stand; no better one may be looked for by trying.

*Batches.* Sizes must be whole at every division. So groups of RDA are made of everybody first, and
shared out to batches by their number, that is, by the numbers of each value in them. Which people
of a value are in which batch is random: every table that agrees with the values of each batch leads
to these batches with the same probability, so what is said above holds of each batch by itself. A
few groups stay as RDA made them.

**What it does not give.** It holds for groups, not for boxes: where groups look alike, the
posterior is an average of frequencies in groups: at most 1/l, but not the frequency in the union.
So no limit below 1/l holds for boxes just because the frequencies keep it. Nor does it withstand
joint facts, or beliefs about values that quasi-identifiers give, as RDA does: of a, a, b, b, l = 2,
{1, 3} and {2, 4} are grouped only when {1, 2} | {3, 4} could not be.

**Sizes.** A group has equally many members of each cell: usually l, up to eight times that after
three failures. So a block is divided only if a failure costs nothing, or if its most frequent value
has at most 85 % of what it may have. If l + 1 is a multiple of eight, blocks are made for l + 1 as
long as frequencies leave room. Where nothing can be divided GSA is RDA.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, starts_of
from foreknow.data.columns.attribute import Attribute
from foreknow.features.more_methods.streamliner.rda import Plan, groups_of_plan, plan_rda

_log = logging.getLogger(__name__)

# Blocks are not divided below this many groups: three failures make eight cells, and a group takes
# somebody from each.
_LEAST = 8
# How many divisions of one block may fail: groups become up to 2**3 times as large.
_FAILURES = 3
# People whose quasi-identifiers are looked at to choose along which one to divide a block: their
# variance is known to about 2 %, closer than variances of two attributes mostly are.
_SAMPLE = 4096


@dataclass(frozen=True)
class _Shape:
    """The demands on blocks and groups, and when a block is worth dividing."""

    l: int  # no value may have more than 1/l of a group
    least: int  # nor more than 1/least of a block: l, or one more
    failures: int  # so many divisions of a block may fail
    least_groups: int  # the parts of a block must have at least so many groups

    @classmethod
    def of(
        cls, sizes: IntArray, l: int, failures: int = _FAILURES, least_groups: int = _LEAST
    ) -> _Shape:
        """The shape of blocks for values with these counts."""
        # One more than l costs nothing if groups have a multiple of 8 members anyway, and no value
        # has more than 4/5 of what l + 1 allows.
        is_multiple = (l + 1) % (1 << failures) == 0
        has_room = 5 * (l + 1) * int(sizes.max()) <= 4 * int(sizes.sum())
        return cls(l, l + 1 if is_multiple and has_room else l, failures, least_groups)

    def group_size(self, cells: int, people: int, most_frequent: int) -> int:
        """The least number of members of a block's groups; `most_frequent` people share a value.

        Groups have equally many from each of the cells (parts that could not be separated), all
        have the same size, and in none a value has more than 1/l.
        """
        size = -(-self.l // cells) * cells
        while people % size or most_frequent * size > size // self.l * people:
            size += cells
        return size

    def is_worth_dividing(self, cells: int, people: int, most_frequent: int) -> bool:
        """True if a block is to be divided: if a failure costs nothing, or is unlikely."""
        # As many divisions have failed as may: each doubled the number of cells.
        if cells >> self.failures:
            return False
        # Room makes success likely; a group of the same size makes a failure harmless.
        size_now = self.group_size(cells, people, most_frequent) if cells > 1 else self.least
        size_after_failure = self.group_size(2 * cells, people, most_frequent)
        return self.has_room(people, most_frequent) or size_after_failure == size_now

    def has_room(self, people: int, most_frequent: int) -> bool:
        """True if some people are clearly eligible, so that their halves may well be."""
        return 20 * self.least * most_frequent <= 17 * people

    def batches(self, groups: IntArray) -> tuple[list[tuple[IntArray, int]], IntArray]:
        """Divide RDA's groups into batches that are divided equally often; return the others, too.

        A batch is its groups and the number of divisions.
        """
        batches = []
        # A batch that is divided `depth` times has a multiple of ``unit * 2**depth`` groups: so
        # sizes are whole at every division, even after failures.
        unit = lcm(self.least, 1 << self.failures) // self.least

        # The greatest multiple of that number.
        def largest_batch(n_groups: int, depth: int) -> int:
            return n_groups // (unit << depth) * (unit << depth)

        while depth := max(len(groups) // self.least_groups, 1).bit_length() - 1:
            # As deep as possible, if two thirds of the groups find room.
            while depth and 3 * largest_batch(len(groups), depth) < 2 * len(groups):
                depth -= 1
            n_in_batch = largest_batch(len(groups), depth) if depth else 0
            if not n_in_batch:
                break
            # Take groups from all over the plan, so that batches have about the same values.
            positions = np.arange(n_in_batch) * len(groups) // n_in_batch  # evenly spread
            batches.append((groups[positions], depth))
            groups = np.delete(groups, positions)
        return batches, groups


def groups_of_gsa(
    codes: NDArray[Any],
    value_counts: IntArray,
    attributes: Sequence[Attribute],
    l: int,
    random: np.random.Generator,
    weights: Mapping[str, int] | None = None,
    least_groups: int = _LEAST,
    failures: int = _FAILURES,
) -> IntArray:
    """The group of each person by GSA.

    The groups of RDA are taken together in batches. The people of a batch are divided in halves by
    their quasi-identifiers, and each block of them into groups.

    Parameters
    ----------
    codes : array
        The code of each person's sensitive value.
    value_counts : int64 array
        How many people have each value.
    weights : mapping, optional
        The weight of a quasi-identifier in distances, by its name; 1 by default.
    """
    shape = _Shape.of(value_counts, l, failures, least_groups)
    # RDA plans the values of each group; then batches of groups are divided by place.
    plan = plan_rda(value_counts, shape.least)
    batches, undivided = _plan_batches(plan, value_counts, shape)
    if not batches:
        _log.info(
            "GSA divides nothing: %d people are too few for l = %d, or too many of them (%d) share "
            "a value; the groups are those of RDA",
            *(len(codes), l, int(value_counts.max())),
        )
        return groups_of_plan(plan, codes, value_counts, random)
    # For each planned group: its number if it stays as it is, and the batch that it is in; -1 else.
    final_number, batch_of_group = np.full((2, plan.n_groups), -1)
    final_number[undivided] = np.arange(len(undivided))
    for number, (group_numbers, _) in enumerate(batches):
        batch_of_group[group_numbers] = number
    # People of groups that stay have their group now; of others only the batch is known.
    if batch_of_group.any():
        planned_groups = groups_of_plan(plan, codes, value_counts, random)
        batch, groups = batch_of_group[planned_groups], final_number[planned_groups]
    else:  # one batch, and nobody besides
        batch, groups = np.zeros((2, len(codes)), dtype=np.int64)
    # Everybody's place in the order of each quasi-identifier, and the scale from 0 to its weight.
    weight_of = weights or {}
    axes = []
    for attribute in attributes:
        weight = weight_of.get(attribute.name, 1)
        axes.append((attribute.codes, weight / max(len(attribute.domain) - 1, 1)))
    n_groups = len(undivided)
    # Divide the people of each batch into blocks, and each block into groups.
    for number, (_, depth) in enumerate(batches):
        people = np.flatnonzero(batch == number).astype(np.int32)
        for attribute in reversed(attributes):  # so in order of the first, then of the second
            people = people[np.argsort(attribute.codes[people], kind="stable")]
        for cells, values, counts in _divide_people(people, depth, codes, axes, shape):
            numbers = _group_block(cells, values.reshape(cells.shape), counts, shape, random)
            groups[cells] = numbers + n_groups
            n_groups += int(numbers.max()) + 1
    return groups


class PeopleBlock(NamedTuple):
    """People who are divided no further."""

    cells: NDArray[Any]  # (cells, people)
    values: NDArray[Any]  # the number of each person's value in the block
    counts: IntArray  # how often each of these values occurs


def _divide_people(
    people: NDArray[Any],
    depth: int,
    codes: NDArray[Any],
    axes: Sequence[tuple[NDArray[Any], float]],
    shape: _Shape,
) -> Iterator[PeopleBlock]:
    """Divide people in halves along their widest column; yield the blocks.

    Halves in which a value is too frequent stay one block, as two cells of it. `depth` is how often
    people are divided at most; `codes` has the value of each person; each of `axes` is a column:
    the rank of each person along it, and the weight of one rank. `shape` says whether a block is
    worth dividing.
    """
    blocks = [(people[None], depth)]
    while blocks:
        cells, depth = blocks.pop()
        # A block is decided by how often values occur in it as a whole: see the module's proof.
        values, counts = _number_values(codes[cells.reshape(-1)])
        may_divide = depth and shape.is_worth_dividing(len(cells), cells.size, int(counts.max()))
        axis = _widest(cells, axes) if may_divide else None
        if axis is None:
            yield PeopleBlock(cells, values, counts)
            continue
        order = np.argsort(axis[cells], axis=1, kind="stable")
        # Each cell is cut in two at its middle.
        halves = np.split(np.take_along_axis(cells, order, axis=1), 2, axis=1)
        highest_counts = []
        for half in halves:
            highest_counts.append(int(_number_values(codes[half].reshape(-1))[1].max()))
        # Both halves can be grouped by themselves: two blocks. Else one block with twice the cells.
        if max(highest_counts) * shape.least <= cells.size // 2:
            blocks += [(half, depth - 1) for half in halves]
        else:
            blocks.append((np.concatenate(halves), depth))


def _plan_batches(
    plan: Plan, sizes: IntArray, shape: _Shape
) -> tuple[list[tuple[IntArray, int]], IntArray]:
    """The batches of groups that are divided, and the numbers of groups that stay as planned.

    A batch is the numbers of its groups, and how often it is divided. `sizes` counts people by
    value.
    """
    # Groups of odd size double if a division fails, so without room none is tried.
    if shape.least % 2 and not shape.has_room(int(sizes.sum()), int(sizes.max())):
        return [], np.arange(plan.n_groups)
    # Groups that somebody joined late have another size: they stay.
    joined = np.unique(plan.late[:, 1])
    batches, undivided = shape.batches(np.setdiff1d(np.arange(plan.n_groups), joined))
    return batches, np.concatenate([joined, undivided])


def _widest(cells: NDArray[Any], axes: Sequence[tuple[NDArray[Any], float]]) -> NDArray[Any] | None:
    """The codes of the column along which people of one cell differ most; None if they do not.

    A column is its codes by person, and its scale; `cells` has a row of people for each cell.
    """
    # A sample of each row is enough to compare variances.
    sampled = cells[:, :: max(cells.size // _SAMPLE, 1)]
    spreads = []
    for codes, scale in axes:
        spreads.append(float(np.var(codes[sampled], axis=1).mean()) * scale**2)
    widest = max(spreads)
    return axes[spreads.index(widest)][0] if widest else None


def _number_values(values: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Values as small numbers, the same for equal values, and how often each number occurs."""
    # Small enough already: to number them anew would be slower.
    if values.max() < 4 * len(values):
        return values, np.bincount(values)
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    return numbers, counts


def _group_block(
    cells: NDArray[Any],
    values: NDArray[Any],
    counts: IntArray,
    shape: _Shape,
    random: np.random.Generator,
) -> IntArray:
    """The group of each person of a block, shape (cells, people); random within the cells.

    `values` is the value of each person as a number, `counts` how often each occurs.
    """
    if len(cells) > 1:
        group = shape.group_size(len(cells), cells.size, int(counts.max()))
        return transversals(cells, values, group // len(cells), random)
    return groups_of_plan(plan_rda(counts, shape.least), values[0], counts, random)[None]


# ---- groups of a block with cells ---------------------------------------------------------------

# Groups are made in halves while a part has more people than this; below, one person after the
# other is quicker.
_FEW = 1 << 10


def transversals(
    cells: NDArray[Any], values: NDArray[Any], per_cell: int, random: np.random.Generator
) -> IntArray:
    """The group of each person, with `per_cell` of every cell in each group; shape (cells, people).

    With m groups, a value that c people have occurs at most c / m times, rounded up, in each group.
    """
    n_cells, people = cells.shape
    # In random order, so that no one's place in the cell decides.
    order = random.permutation(cells.size)
    cell = (order // people).astype(np.min_scalar_type(n_cells))
    group = np.empty(cells.size, dtype=np.int64)
    group[order] = _seat_people(cell, values.reshape(-1)[order], people // per_cell)
    return group.reshape(cells.shape)


def _seat_people(cell: NDArray[Any], values: NDArray[Any], n_groups: int) -> NDArray[Any]:
    """Divide people into `n_groups` groups, each with equally many people of each cell.

    A cell is a part of the people that could not be separated. `cell` and `values` are the cell and
    the sensitive value of each person; returned is the group of each person. In each group, a value
    is about as frequent as in all. People are halved while they are many; the rest are divided by
    colouring the edges of a graph of cells and values.
    """
    part_of_person: NDArray[Any] = np.zeros(len(cell), dtype=np.int32)
    n_parts = 1
    # Halves of halves: fast, as long as the number of groups can be halved.
    while n_groups % (2 * n_parts) == 0 and len(part_of_person) > _FEW * n_parts:
        part_of_person = 2 * part_of_person + _half(part_of_person, cell, values)
        n_parts *= 2
    if n_parts == n_groups:
        return part_of_person
    in_part = n_groups // n_parts
    group = np.empty(len(part_of_person), dtype=np.int32)
    for number, people in enumerate(np.argsort(part_of_person, kind="stable").reshape(n_parts, -1)):
        # Each person is an edge between a cell and a value; edges of one colour are a group.
        ends = _vertices(cell[people], in_part), _vertices(values[people], in_part)
        group[people] = np.array(colour_edges(*ends, in_part)) + number * in_part
    return group


def _half(part_of_person: NDArray[Any], cell: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """True for half of the people of each part: half of each cell, and of each value, nearly.

    Pair everybody with one of the same part and cell, and with one of the same part and value
    (nearly). The pairs form rings in which both kinds alternate; every other person of a ring is
    taken, so that one of each pair is.
    """
    value_order = np.lexsort((values, part_of_person))
    starts = np.union1d(starts_of(values[value_order]), starts_of(part_of_person[value_order]))
    sizes = np.diff(starts, append=len(part_of_person))
    last_of_odd = (starts + sizes - 1)[sizes % 2 == 1]
    # If a value has an odd number of people in a part, the last of them is left without a partner:
    # put all of these last, where they are paired with each other.
    value_order = np.concatenate([np.delete(value_order, last_of_odd), value_order[last_of_odd]])
    # One step along a ring is to the partner by cell, and on to that one's partner by value. Steps
    # are doubled until everybody knows the least number that is met: the name of their half ring.
    partner_by_cell = _pairs(np.lexsort((cell, part_of_person)))
    partner = _pairs(value_order)[partner_by_cell]
    ring: NDArray[Any] = np.minimum(np.arange(len(part_of_person), dtype=partner.dtype), partner)
    follower = partner
    while (ring[follower] != ring).any():
        partner = partner[partner]
        ring = np.minimum(ring, ring[partner])
    # A pair by cell lies in the two halves of a ring: take the half with the larger name.
    half: NDArray[Any] = ring > ring[partner_by_cell]
    return half


def _pairs(order: NDArray[Any]) -> NDArray[Any]:
    """Pair everybody with the next one in an order."""
    partner = np.empty(len(order), dtype=np.int64)
    partner[order[::2]] = order[1::2]
    partner[order[1::2]] = order[::2]
    return partner


def _vertices(values: NDArray[Any], max_edges: int) -> list[int]:
    """Number cells or values, so that at most `max_edges` people share a number.

    A value that more people have gets several numbers.
    """
    order = np.argsort(values, kind="stable")
    begins = starts_of(values[order])
    # The rank of each person among those of the same value; every `max_edges`, a new number.
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(rank % max_edges == 0) - 1
    vertices: list[int] = numbers.tolist()
    return vertices


def colour_edges(left_ends: list[int], right_ends: list[int], n_colours: int) -> list[int]:
    """A colour from 0 for each edge of a bipartite graph; edges that meet have different colours.

    Edges are coloured one by one; where none is free at both ends, two colours change places on a
    path (Kempe's chains).

    Parameters
    ----------
    left_ends, right_ends : list of int
        The vertices that each edge joins, numbered from 0 on each side.
    n_colours : int
        At least as many as edges meet at one vertex.
    """
    ends = (left_ends, right_ends)
    all_colours = (1 << n_colours) - 1
    # The colours that no edge at a vertex has, by side and vertex: bit c stands for colour c.
    free_colours = [[all_colours] * (max(side, default=-1) + 1) for side in ends]
    edge_of: tuple[list[dict[int, int]], ...] = (  # by side and vertex: colour -> edge
        [{} for _ in free_colours[0]],
        [{} for _ in free_colours[1]],
    )
    colour_of = [-1] * len(left_ends)

    def add_colour(edge: int, colour: int) -> None:
        """Give an edge a colour, which is then no longer free at both ends."""
        colour_of[edge] = colour
        for side in (0, 1):
            vertex = ends[side][edge]
            free_colours[side][vertex] ^= 1 << colour
            edge_of[side][vertex][colour] = edge

    def remove_colour(edge: int) -> None:
        """Take an edge's colour away, which is then free at both ends."""
        for side in (0, 1):
            vertex = ends[side][edge]
            free_colours[side][vertex] ^= 1 << colour_of[edge]
            del edge_of[side][vertex][colour_of[edge]]

    def lowest(bits: int) -> int:
        """The number of the lowest bit that is set."""
        return (bits & -bits).bit_length() - 1

    for edge, (left_end, right_end) in enumerate(zip(left_ends, right_ends, strict=True)):
        # A colour that is free at both ends will do.
        free_at_both = free_colours[0][left_end] & free_colours[1][right_end]
        if free_at_both:
            add_colour(edge, lowest(free_at_both))
            continue
        colour, other_colour = lowest(free_colours[0][left_end]), lowest(free_colours[1][right_end])
        # From the right end on, edges of `colour` and `other_colour` by turns. The path does not
        # come to the left end, which has no edge of `colour`.
        path, side, vertex, next_colour = [], 1, right_end, colour
        while next_colour in edge_of[side][vertex]:
            path.append(edge_of[side][vertex][next_colour])
            side = 1 - side
            vertex = ends[side][path[-1]]
            next_colour = other_colour if next_colour == colour else colour
        # Exchange the two colours along the path: then the right end has no edge of `colour`
        # either.
        exchanged = [other_colour if colour_of[step] == colour else colour for step in path]
        for step in path:
            remove_colour(step)
        for step, new in zip(path, exchanged, strict=True):
            add_colour(step, new)
        add_colour(edge, colour)  # which is free at both ends now
    return colour_of
