"""Fronts: the profiles of a release that no other one is as bad as, for each l.

From "Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge" (Chen, LeFevre,
Ramakrishnan), section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foreknow.adversaries.counts_cache import remembered
from foreknow.adversaries.facts.profiles import Profiles, formulas_of
from foreknow.data.arrays import IntArray, order_of, ranges
from foreknow.data.counts import GroupCounts

# How many times all profiles are looked at to find the undominated ones; a few times suffice
# unless large groups have many holders and small ones few, so that hardly one dominates another.
_EFFORT = 64
# Cells of values worked on at once: memory stays in proportion to them.
BLOCK = 1 << 19
# How many bytes of undominated profiles are remembered of one release.
_REMEMBERED = 1 << 26
# What a remembered object costs beside its arrays.
_OVERHEAD = 2048


def front(counts: GroupCounts, l: int, code: int | None = None) -> Profiles:
    """The profiles that no other profile of the same value dominates, of all values or of one.

    A profile is a value of a group with the numbers that matter: people, holders, and people to
    spare with l values ruled out. `code` is the value; None for all. The result is kept with the
    counts, up to 64 MB.
    """
    l = min(l, counts.n_values)
    cache = counts.cache
    all_profiles: Profiles | None = cache.get(("front", l))
    # Those of all values are at hand: pick.
    if all_profiles is not None:
        return all_profiles if code is None else all_profiles.of(code)
    key = ("front", l) if code is None else ("front", l, code)
    undominated: Profiles | None = cache.get(key)
    if undominated is None:
        codes = np.arange(counts.n_values) if code is None else np.array([code])
        undominated = joined(list(fronts(counts, l, codes)))
        bytes_now = cache.get("bytes of fronts", 0) + undominated.nbytes + _OVERHEAD
        if bytes_now <= _REMEMBERED:
            cache |= {key: undominated, "bytes of fronts": bytes_now}
    return undominated


def fronts(counts: GroupCounts, l: int, codes: IntArray) -> Iterator[Profiles]:
    """Undominated profiles of some values, which are ascending; at least one block of them."""
    return fronts_of(counts, l, *_cells_of(counts, codes))


def fronts_of(
    counts: GroupCounts, l: int, cells: IntArray, offsets: IntArray
) -> Iterator[Profiles]:
    """The undominated profiles of some cells, a block of values at a time."""
    for block in blocks_of(counts, l, cells, offsets):
        yield block.undominated(_EFFORT).distinct()


def blocks_of(
    counts: GroupCounts, l: int, cells: IntArray, offsets: IntArray
) -> Iterator[Profiles]:
    """Yield the profiles of some cells, as many values at a time as fit into memory.

    Cells are values of groups, sorted by value: those of value v begin at ``offsets[v]``.
    """
    l = min(l, counts.n_values)
    formulas = formulas_of(counts)
    most_cells = BLOCK // formulas.columns(l)
    first = 0
    while True:
        # As many values as fit, but at least one.
        end = int(np.searchsorted(offsets, offsets[first] + most_cells, side="right")) - 1
        end = min(max(end, first + 1), len(offsets) - 1)
        block = cells[offsets[first] : offsets[end]]
        yield formulas.profiles(counts, l, block)
        first = end
        if first >= len(offsets) - 1:
            return


def _cells_of(counts: GroupCounts, codes: IntArray) -> tuple[IntArray, IntArray]:
    """The cells of some values, one value after the other, and where each value begins.

    A cell is a value of a group; the result has positions of cells in `counts`.
    """
    key = "cells by value"
    if len(codes) == 1 and key not in counts.cache:  # not worth to sort all
        cells = np.flatnonzero(counts.codes == codes[0])
        return cells, np.array([0, len(cells)])

    def by_value() -> tuple[IntArray, IntArray]:
        """All cells in order of value, and where each value begins."""
        n_cells = np.bincount(counts.codes, minlength=counts.n_values)
        order = order_of(counts.codes)
        # Half the memory.
        if len(order) < 2**31:
            order = order.astype(np.int32)
        return order, np.concatenate(([0], np.cumsum(n_cells)))

    order, starts = remembered(counts, key, by_value)
    positions, offsets = ranges(starts[codes], starts[codes + 1])
    return order[positions], offsets


def joined(profiles_to_join: list[Profiles]) -> Profiles:
    """Join profiles of one l, one block of values after the other; at least one block.

    Numbers of kinds, which say where slacks are equal, are made different in each block.
    """
    if profiles_to_join[0].kind is None:
        return profiles_to_join[0].join(*profiles_to_join[1:])
    shift, shifted = 0, []  # each block has numbered its kinds from 0
    for profiles in profiles_to_join:
        shifted.append(replace(profiles, kind=profiles.identity + shift))
        shift += int(profiles.identity.max(initial=-1)) + 1
    return shifted[0].join(*shifted[1:])
