"""GDA: partners of other colours who are near by their quasi-identifiers; unsafe when it is known.

Table 7 of "Privacy Streamliner". It is here to be compared with: an adversary who knows it and
everybody's quasi-identifiers can rule out every table that it would have grouped otherwise. Four
people of ranks 1 to 4 with values a, a, b, c: the groups {1, 3}: ab and {2, 4}: ac come from one
table only.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine
from foreknow.data.columns.attribute import Attribute
from foreknow.errors import NoSafeRelease
from foreknow.features.more_methods.streamliner.rda import Plan
from foreknow.methods.eligibility import shuffle_each

# The rank of a colour that is used up, and the distance of a group that is full.
_FARTHEST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Runs:
    """People of one colour and weighted rank, by colour and rank; or groups of such, as made."""

    colours: NDArray[Any]  # of groups, shape (kinds, l)
    ranks: NDArray[Any]
    sizes: IntArray


def by_rank(
    codes: NDArray[Any],
    n_colours: int,
    attributes: Sequence[Attribute],
    weights: Mapping[str, int],
    random: np.random.Generator,
) -> tuple[Runs, IntArray]:
    """Runs of people with the same colour and weighted rank, and all people in that order.

    A colour is a sensitive value, `codes` the colour of each person. The rank is the sum of a
    person's positions in all quasi-identifiers, weighted. People of one run are in random order.
    """
    n_ranks = 1 + sum(len(a.domain) * weights.get(a.name, 1) for a in attributes)
    rank = np.zeros(len(codes), dtype=np.int64)
    for attribute in attributes:
        rank += (attribute.codes.astype(np.int64) + 1) * weights.get(attribute.name, 1)
    # Number the pairs that occur, in order of colour and then of rank.
    colour_and_rank, first_person = combine([codes, rank], [n_colours, n_ranks])
    people = np.argsort(colour_and_rank, kind="stable")
    sizes = np.bincount(colour_and_rank)
    shuffle_each(people, sizes, random)
    # Any person of a run shows its colour and rank.
    return Runs(codes[first_person].astype(np.int64), rank[first_person], sizes), people


def plan_gda(runs: Runs, values: Sequence[Any], l: int) -> Plan:
    """Plan the groups of GDA; the values are those of the colours, for the message.

    Each person of the largest colour, in order of rank, takes the first of those ``l - 1`` colours
    whose first is nearest (equally near ones by colour), until fewer than ``l`` colours are left.
    People left over join, colour by colour, the nearest group without it. Raises NoSafeRelease if a
    colour is in every group.
    """
    groups_made, remaining = _make_groups(runs, len(values), l)
    joined_late = _join_remaining(groups_made, runs, remaining, values)
    return Plan(np.repeat(groups_made.colours, groups_made.sizes, axis=0), joined_late)


def _make_groups(runs: Runs, n_colours: int, l: int) -> tuple[Runs, IntArray]:
    """Make groups of l colours until fewer than l colours are left.

    Returned are the groups, where those that take people from the same runs are one entry with
    their number, and how many people remain of each run (shape: runs). `runs` are people with one
    colour and one rank, in this order.
    """
    colours = np.arange(n_colours)
    # The run that each colour takes people from now, and the end of its runs.
    run_of = np.searchsorted(runs.colours, colours, "left").tolist()  # of each colour, the first
    end_of = np.searchsorted(runs.colours, colours, "right").tolist()
    totals = np.bincount(runs.colours, weights=runs.sizes, minlength=n_colours).astype(np.int64)
    n_of_colour = totals.tolist()
    unused = runs.sizes.copy()
    rank_of: list[int] = runs.ranks.tolist()
    unused_view = unused.data  # without a copy: one number at a time is read very often
    present = np.flatnonzero(totals)
    first_rank = np.full(n_colours, _FARTHEST)
    first_rank[present] = runs.ranks[[run_of[colour] for colour in present]]
    # A heap of colours, the largest first, by their sizes when they were last looked at.
    largest = [(-n_of_colour[colour], colour) for colour in present.tolist()]
    heapify(largest)
    all_runs_taken, sizes = array("q"), array("q")
    n_present, leader = len(present), -1
    while n_present >= l:
        # A colour leads until it is used up; then the largest one does. Its entry may be out of
        # date.
        if leader < 0 or not n_of_colour[leader]:
            while -largest[0][0] != n_of_colour[largest[0][1]]:
                heapreplace(largest, (-n_of_colour[largest[0][1]], largest[0][1]))
            leader = largest[0][1]
        members = nearest(first_rank, leader, l)
        runs_taken = [run_of[colour] for colour in members]
        # The same runs make groups until one of them is used up.
        n_groups = min([unused_view[run] for run in runs_taken])
        all_runs_taken.extend(runs_taken)
        sizes.append(n_groups)
        for colour, run in zip(members, runs_taken, strict=True):
            unused_view[run] -= n_groups
            n_of_colour[colour] -= n_groups
            if unused_view[run]:
                continue
            # Go on with the next run of the colour, if it has one.
            run_of[colour] = run + 1
            has_next = run + 1 < end_of[colour]
            first_rank[colour] = rank_of[run + 1] if has_next else _FARTHEST
            n_present -= not has_next
    positions = np.frombuffer(all_runs_taken, dtype=np.int64).reshape(-1, l)
    sizes_made = np.array(sizes, dtype=np.int64)
    return Runs(runs.colours[positions], runs.ranks[positions], sizes_made), unused


def nearest(ranks: IntArray, leader: int, n_colours: int) -> list[int]:
    """The colour `leader` and the nearest others by rank, `n_colours` in all; ties by number.

    ``ranks[c]`` is the rank of the next person of colour c.
    """
    distances = np.abs(ranks - ranks[leader])
    # Below every distance, so that the leader comes first.
    distances[leader] = -1
    # All that are no farther than the last one needed, by number: then by distance.
    near_enough = np.flatnonzero(distances <= np.partition(distances, n_colours - 1)[n_colours - 1])
    nearest_colours: list[int] = near_enough[
        np.argsort(distances[near_enough], kind="stable")[:n_colours]
    ].tolist()
    return nearest_colours


def _join_remaining(kinds: Runs, runs: Runs, unused: IntArray, values: Sequence[Any]) -> IntArray:
    """Let everybody who is left over join the nearest group that lacks their value.

    `kinds` are the groups, equal ones as one entry with their number; ``unused[r]`` people of run r
    are left over; `values` names the colours in messages. The result has a row (colour, group) for
    each person left over.
    """
    starts = (np.cumsum(kinds.sizes) - kinds.sizes).tolist()
    joined_late: list[tuple[int, int]] = []
    for colour in np.unique(runs.colours[unused > 0]).tolist():
        # Groups without the colour; each takes one person of it.
        open_kinds = np.flatnonzero(~(kinds.colours == colour).any(axis=1))
        room = kinds.sizes[open_kinds]
        # Sums of columns are quicker than those of rows.
        ranks = kinds.ranks[open_kinds].T.astype(np.int64, order="C")
        waiting = np.flatnonzero((runs.colours == colour) & (unused > 0))
        n_too_many = int(unused[waiting].sum() - room.sum())
        if n_too_many > 0:
            raise NoSafeRelease(
                f"GDA is stuck: {n_too_many:,} {'person is' if n_too_many == 1 else 'people are'} "
                f"left over with {str(values[colour])!r}, and every group holds that value "
                "already. A safe release may still exist; try variant='rda'"
            )
        for run in waiting.tolist():
            nearest = _nearest_with_room(ranks, runs.ranks[run], room, int(unused[run]))
            # Fill the nearest kinds first, until the people of the run are used up.
            n_joining = np.diff(np.minimum(np.cumsum(room[nearest]), unused[run]), prepend=0)
            for position, number in zip(nearest.tolist(), n_joining.tolist(), strict=True):
                kind = int(open_kinds[position])
                # Groups of a kind have consecutive numbers; those before this one are taken.
                first_group = starts[kind] + int(kinds.sizes[kind] - room[position])
                for group in range(first_group, first_group + number):
                    joined_late.append((colour, group))
            room[nearest] -= n_joining
    return np.array(joined_late, dtype=np.int64).reshape(-1, 2)


def _nearest_with_room(
    ranks: IntArray, wanted_ranks: IntArray, room: IntArray, n_people: int
) -> IntArray:
    """The kinds of groups nearest to a point, nearest first: so many that people find room.

    `ranks` has a column for each kind (the ranks of its members), and `room` says how many of its
    groups are free. `wanted_ranks` is the rank of the people who join.
    """
    distances = np.abs(ranks - wanted_ranks).sum(axis=0)
    distances[room == 0] = _FARTHEST
    # No more kinds than people, since each has room for one.
    n_kinds = min(n_people, int(np.count_nonzero(room)))
    farthest = distances.min()
    if n_kinds > 1:
        farthest = np.partition(distances, n_kinds - 1)[n_kinds - 1]
    # All at that distance or nearer; ties keep the order of kinds.
    nearest = np.flatnonzero(distances <= farthest)
    return np.asarray(nearest[np.argsort(distances[nearest], kind="stable")])
