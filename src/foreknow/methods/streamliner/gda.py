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
from foreknow.data.attribute import Attribute
from foreknow.errors import NoSafeRelease
from foreknow.methods.eligibility import shuffle_each
from foreknow.methods.streamliner.rda import Plan

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
    """Sort people by colour and weighted rank, a sum of places; equal ones in random order."""
    span = 1 + sum(len(a.domain) * weights.get(a.name, 1) for a in attributes)
    rank = np.zeros(len(codes), dtype=np.int64)
    for attribute in attributes:
        rank += (attribute.codes.astype(np.int64) + 1) * weights.get(attribute.name, 1)
    place, first = combine([codes, rank], [n_colours, span])
    people = np.argsort(place, kind="stable")
    sizes = np.bincount(place)
    shuffle_each(people, sizes, random)
    return Runs(codes[first].astype(np.int64), rank[first], sizes), people


def plan_gda(runs: Runs, values: Sequence[Any], l: int) -> Plan:
    """Plan the groups of GDA; the values are those of the colours, for the message.

    Each person of the largest colour, in order of rank, takes the first of those ``l - 1`` colours
    whose first is nearest (equally near ones by colour), until fewer than ``l`` colours are left.
    People left over join, colour by colour, the nearest group without it. One whose colour is in
    every group: NoSafeRelease.
    """
    kinds, remaining = _kinds(runs, len(values), l)
    late = _join_remaining(kinds, runs, remaining, values)
    return Plan(np.repeat(kinds.colours, kinds.sizes, axis=0), late)


def _kinds(runs: Runs, n_colours: int, l: int) -> tuple[Runs, IntArray]:
    """Make groups until fewer than l colours are left; also returns how many remain of each run."""
    colours = np.arange(n_colours)
    run_of = np.searchsorted(runs.colours, colours, "left").tolist()  # of each colour, the first
    end_of = np.searchsorted(runs.colours, colours, "right").tolist()
    totals = np.bincount(runs.colours, weights=runs.sizes, minlength=n_colours).astype(np.int64)
    total = totals.tolist()
    unused = runs.sizes.copy()
    rank_of: list[int] = runs.ranks.tolist()
    left_of = unused.data  # without a copy: one number at a time is read very often
    present = np.flatnonzero(totals)
    first = np.full(n_colours, _FARTHEST)
    first[present] = runs.ranks[[run_of[colour] for colour in present]]
    # Sizes from above, as they were when last looked at.
    largest = [(-total[colour], colour) for colour in present.tolist()]
    heapify(largest)
    runs_used, sizes = array("q"), array("q")
    n_present, leader = len(present), -1
    while n_present >= l:
        if leader < 0 or not total[leader]:
            while -largest[0][0] != total[largest[0][1]]:
                heapreplace(largest, (-total[largest[0][1]], largest[0][1]))
            leader = largest[0][1]
        members = nearest(first, leader, l)
        used = [run_of[colour] for colour in members]
        number = min([left_of[run] for run in used])
        runs_used.extend(used)
        sizes.append(number)
        for colour, run in zip(members, used, strict=True):
            left_of[run] -= number
            total[colour] -= number
            if left_of[run]:
                continue
            run_of[colour] = run + 1
            has_next = run + 1 < end_of[colour]
            first[colour] = rank_of[run + 1] if has_next else _FARTHEST
            n_present -= not has_next
    places = np.frombuffer(runs_used, dtype=np.int64).reshape(-1, l)
    sizes_made = np.array(sizes, dtype=np.int64)
    return Runs(runs.colours[places], runs.ranks[places], sizes_made), unused


def nearest(ranks: IntArray, leader: int, n_colours: int) -> list[int]:
    """A colour and the nearest others by rank, equally near ones by number."""
    distances = np.abs(ranks - ranks[leader])
    distances[leader] = -1
    # All that are no farther than the last one needed, by number: then by distance.
    near = np.flatnonzero(distances <= np.partition(distances, n_colours - 1)[n_colours - 1])
    nearest_colours: list[int] = near[
        np.argsort(distances[near], kind="stable")[:n_colours]
    ].tolist()
    return nearest_colours


def _join_remaining(kinds: Runs, runs: Runs, unused: IntArray, values: Sequence[Any]) -> IntArray:
    """Give everybody who is left over the nearest group without their colour."""
    starts = (np.cumsum(kinds.sizes) - kinds.sizes).tolist()
    late: list[tuple[int, int]] = []
    for colour in np.unique(runs.colours[unused > 0]).tolist():
        open_to = np.flatnonzero(~(kinds.colours == colour).any(axis=1))
        room = kinds.sizes[open_to]
        ranks = kinds.ranks[open_to].T.astype(np.int64, order="C")  # sums of columns are quicker
        waiting = np.flatnonzero((runs.colours == colour) & (unused > 0))
        if (stuck := int(unused[waiting].sum() - room.sum())) > 0:
            raise NoSafeRelease(
                f"GDA is stuck: {stuck:,} {'person is' if stuck == 1 else 'people are'} left "
                f"over with {str(values[colour])!r}, and every group holds that value already. A "
                "safe release may still exist; try variant='rda'"
            )
        for run in waiting.tolist():
            distances = np.abs(ranks - runs.ranks[run]).sum(axis=0)
            distances[room == 0] = _FARTHEST
            # No more groups than people, since each has room for one.
            people = min(int(unused[run]), int(np.count_nonzero(room)))
            farthest = (
                np.partition(distances, people - 1)[people - 1] if people > 1 else distances.min()
            )
            near = np.flatnonzero(distances <= farthest)
            near = near[np.argsort(distances[near], kind="stable")]
            joining = np.diff(np.minimum(np.cumsum(room[near]), unused[run]), prepend=0)
            for place, number in zip(near.tolist(), joining.tolist(), strict=True):
                kind = int(open_to[place])
                before = starts[kind] + int(kinds.sizes[kind] - room[place])
                late += [(colour, group) for group in range(before, before + number)]
            room[near] -= joining
    return np.array(late, dtype=np.int64).reshape(-1, 2)
