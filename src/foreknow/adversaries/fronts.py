"""Fronts: the undominated profiles of a release, worked out a block of values at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foreknow.adversaries.profiles import Profiles, profiles, profiles_of
from foreknow.counts import GroupCounts
from foreknow.sparse import IntArray, order_of, ranges

# How many times all profiles are looked at to find the undominated ones; a few times suffice
# unless large groups have many holders and small ones few, so that hardly one dominates another.
_EFFORT = 64
# Cells of values worked on at once, and of all values where there are no more of them: memory
# stays in proportion to them.
_BLOCK = 1 << 19
_AT_ONCE = 1 << 21
# How many bytes of undominated profiles are remembered of one release.
_REMEMBERED = 1 << 26
# What a remembered object costs beside its arrays.
_OVERHEAD = 2048


def front(counts: GroupCounts, l: int, code: int | None = None) -> Profiles:  # noqa: E741
    """Undominated profiles of all values, or of one, in order of value; worked out once.

    Parameters
    ----------
    counts : GroupCounts
        Remembers them, up to 64 MB: whatever is asked later at this l costs microseconds.
    l : int
    code : int, optional
        A value; all when left out.
    """
    l = min(l, counts.n_values)  # noqa: E741
    memory = counts.memory
    if ("front", l) in memory:
        whole: Profiles = memory["front", l]
        return whole if code is None else whole.of(code)
    key = ("front", l, code) if code is not None else ("front", l)
    if key in memory:
        known: Profiles = memory[key]
        return known
    codes = np.arange(counts.n_values) if code is None else np.array([code])
    found = _joined(list(fronts(counts, l, codes)))
    bytes_now = memory.get("bytes of fronts", 0) + found.nbytes + _OVERHEAD
    if bytes_now <= _REMEMBERED:
        memory[key] = found
        memory["bytes of fronts"] = bytes_now
    return found


def fronts(counts: GroupCounts, l: int, codes: IntArray) -> Iterator[Profiles]:  # noqa: E741
    """Undominated profiles of some values, which are ascending, a block of values at a time.

    At least one block; nothing is remembered.
    """
    l = min(l, counts.n_values)  # noqa: E741
    if len(codes) == counts.n_values and len(counts.codes) <= _AT_ONCE and _narrow(counts, l):
        yield profiles(counts, l).undominated(_EFFORT).distinct()
        return
    cells, offsets = _cells_of(counts, codes)
    # Under `set` a cell takes l more columns while it is worked on.
    most = _BLOCK // (l + 1) if counts.semantics == "set" else _BLOCK
    first = 0
    while True:
        end = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        end = min(max(end, first + 1), len(codes))
        block = cells[offsets[first] : offsets[end]]
        yield profiles_of(counts, l, block).undominated(_EFFORT).distinct()
        first = end
        if first >= len(codes):
            return


def _narrow(counts: GroupCounts, l: int) -> bool:  # noqa: E741
    return counts.semantics != "set" or len(counts.codes) * (l + 1) <= _AT_ONCE


def _cells_of(counts: GroupCounts, codes: IntArray) -> tuple[IntArray, IntArray]:
    """The cells of some values, one value after the other, and where those of each begin."""
    key = "cells by value"
    if key not in counts.memory:
        if len(codes) == 1:  # not worth to sort all
            cells = np.flatnonzero(counts.codes == codes[0])
            return cells, np.array([0, len(cells)])
        many = np.bincount(counts.codes, minlength=counts.n_values)
        order = order_of(counts.codes)
        if len(order) < 2**31:
            order = order.astype(np.int32)
        counts.memory[key] = order, np.concatenate(([0], np.cumsum(many)))
    order, starts = counts.memory[key]
    places, offsets = ranges(starts[codes], starts[codes + 1])
    return order[places], offsets


def _joined(parts: list[Profiles]) -> Profiles:
    """Profiles of one l, one block of values after the other; at least one block.

    Under ``set`` the kinds of one block say nothing of those of another.
    """
    if len(parts) == 1:
        return parts[0]
    kinds: list[IntArray] = []
    for part in parts:
        if part.kind is not None:
            shift = int(kinds[-1].max(initial=-1)) + 1 if kinds else 0
            kinds.append(part.kind if part.counts.semantics != "set" else part.kind + shift)
    return replace(
        parts[0],
        value=np.concatenate([part.value for part in parts]),
        group=np.concatenate([part.group for part in parts]),
        n=np.concatenate([part.n for part in parts]),
        s=np.concatenate([part.s for part in parts]),
        spare=np.concatenate([part.spare for part in parts]),
        kind=np.concatenate(kinds) if kinds else None,
    )
