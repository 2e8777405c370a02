"""Partners for RIA: different other colours for everybody of a colour, by lot, none used up.

Everybody of a colour draws in turn. Let `left` of them still have to draw, and `unused` be how many
people of each other colour none of them has drawn. It can go on as long as `spare`, the sum of
``min(unused, left)`` less ``need * left``, is not negative; that holds at the beginning, since the
table is l-eligible. While `spare` is at least the number of colours that are not used up, any of
these may be drawn. Otherwise colours with ``unused >= left``, the *full* ones, come first, which
keeps `spare` from falling further than it must. So it depends on these numbers alone how the next
one draws, and many draw at once as long as nothing of that changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.sparse import IntArray, count_pairs, ranges

# Cells of a table of lots.
_BLOCK = 1 << 18
# From so many draws of a set on, each set is drawn from by itself.
_MANY = 32
# Of so few colours it is always looked up which are used up.
_FEW = 64


def partner_colours(
    sizes: IntArray, need: int, random: np.random.Generator
) -> Iterator[tuple[IntArray, NDArray[Any]]]:
    """Draw other colours for everybody, some colours at a time.

    Parameters
    ----------
    sizes : int64 array, shape (colours,)
        From 1; of an l-eligible table.
    need : int
        ``l - 1``.
    random : numpy.random.Generator

    Yields
    ------
    some : int64 array
        Colours; each comes once.
    drawn : integer array, shape (people of these colours, need)
        Different colours for each of them, in the order of `some`.

    Examples
    --------
    >>> found = list(partner_colours(np.array([1, 1]), 1, np.random.default_rng(0)))
    >>> [(some.tolist(), drawn.tolist()) for some, drawn in found]
    [([0], [[1]]), ([1], [[0]])]
    """
    # Where 2 * need other colours have as many people, `spare` is never too small before the last
    # one draws, and for the last one every colour that is not used up is full.
    as_large = len(sizes) - np.searchsorted(np.sort(sizes), sizes)
    any_may = as_large > 2 * need
    for colour in np.flatnonzero(~any_may).tolist():
        yield np.array([colour]), _in_turn(sizes, colour, need, random)
    colours = np.flatnonzero(any_may)
    block = np.cumsum(sizes[colours]) // max(_BLOCK // need, 1)
    for some in np.split(colours, np.flatnonzero(np.diff(block)) + 1):
        if len(some):
            yield some, _at_once(sizes, some, need, random)


def _at_once(
    sizes: IntArray, some: IntArray, need: int, random: np.random.Generator
) -> NDArray[Any]:
    """Draw for several colours that may draw any colour that is not used up."""
    ends = np.cumsum(sizes[some])
    drawn = _others(np.repeat(some, sizes[some]), len(sizes), need, random)
    owner = np.repeat(np.arange(len(some)), sizes[some] * need)
    offsets, asked, times = count_pairs(owner, drawn.reshape(-1), len(some), len(sizes))
    over = np.flatnonzero(times > sizes[asked])
    short = np.unique(np.searchsorted(offsets, over, "right")) - 1
    for one in short.tolist():
        colour = int(some[one])
        own = slice(ends[one] - sizes[colour], ends[one])
        drawn[own] = _mended(sizes, colour, need, random, drawn[own])
    return drawn


def _others(own: IntArray, n_colours: int, need: int, random: np.random.Generator) -> NDArray[Any]:
    """Draw colours other than their own for some people."""
    drawn = _subsets(n_colours - 1, len(own), need, random)
    drawn = drawn.astype(np.min_scalar_type(n_colours - 1), copy=False)
    drawn += drawn >= own[:, None]
    return drawn


def _mended(
    sizes: IntArray, colour: int, need: int, random: np.random.Generator, rows: NDArray[Any]
) -> NDArray[Any]:
    """Let those of a colour draw again who ask for what those before them have used up."""
    while True:
        asked, small = np.unique(rows, return_inverse=True)
        small = small.reshape(rows.shape)
        keep = _possible(small, sizes[asked])
        rows = rows[keep]
        missing = int(sizes[colour]) - len(rows)
        if not missing:
            return rows
        used = np.bincount(small[keep].reshape(-1), minlength=len(asked))
        gone = int(np.count_nonzero(used == sizes[asked]))
        if len(sizes) <= _FEW or 2 * need * gone > len(sizes):
            # It is worth the while to look up what is not used up.
            return _in_turn(sizes, colour, need, random, rows)
        more = _others(np.full(missing, colour), len(sizes), need, random)
        rows = np.concatenate([rows, more])


def _in_turn(
    sizes: IntArray,
    colour: int,
    need: int,
    random: np.random.Generator,
    first: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Draw for everybody of one colour; `first` is what the first of them have drawn."""
    small = np.min_scalar_type(len(sizes) - 1)
    unused, left = sizes.copy(), int(sizes[colour])
    unused[colour] = 0
    parts: list[NDArray[Any]] = []
    rows = np.empty((0, need), dtype=small) if first is None else first
    while True:
        unused -= np.bincount(rows.reshape(-1), minlength=len(unused))
        left -= len(rows)
        parts.append(rows.astype(small))
        if not left:
            return np.concatenate(parts)
        rows = _next(unused, left, need, random)


def _next(unused: IntArray, left: int, need: int, random: np.random.Generator) -> IntArray:
    """Draw for as many as draw in the same way."""
    rows: IntArray
    pool = np.flatnonzero(unused)
    lacks = left - np.minimum(unused[pool], left)
    spare = int((left - lacks).sum()) - need * left
    if spare >= len(pool):
        # Each who draws lowers `spare` by at most the number of colours that are full then.
        full_then = np.cumsum(np.bincount(lacks, minlength=left))
        n_rows = int(np.count_nonzero(spare - np.arange(left) * full_then >= len(pool)))
        rows = pool[_subsets(len(pool), n_rows, need, random)]
        rows = rows[_possible(rows, unused)]
        return rows
    full, others = pool[lacks == 0], pool[lacks > 0]
    # None of the others becomes full before.
    n_rows = int(lacks[lacks > 0].min()) if len(others) else left
    if len(full) >= need:
        rows = full[_subsets(len(full), n_rows, need, random)]
        return rows
    rows = others[_subsets(len(others), n_rows, need - len(full), random)]
    rows = rows[_possible(rows, unused)]
    # `spare` stays; so it is enough again as soon as so many colours are used up.
    rows = rows[: _until_used_up(rows, unused, len(pool) - spare)]
    return np.concatenate([np.tile(full, (len(rows), 1)), rows], axis=1)


def _possible(rows: NDArray[Any], unused: IntArray) -> NDArray[np.bool_]:
    """Which rows ask for nothing that those before them have used up; the others draw again."""
    short = np.bincount(rows.reshape(-1), minlength=len(unused)) > unused
    keep = np.ones(len(rows), dtype=bool)
    if not short.any():
        return keep
    left = {colour: int(unused[colour]) for colour in np.flatnonzero(short).tolist()}
    doubtful = np.flatnonzero(short[rows].any(axis=1))
    for place, row in zip(doubtful.tolist(), rows[doubtful].tolist(), strict=True):
        asked = [colour for colour in row if colour in left]
        if all(left[colour] for colour in asked):
            for colour in asked:
                left[colour] -= 1
        else:
            keep[place] = False
    return keep


def _until_used_up(rows: IntArray, unused: IntArray, many: int) -> int:
    """After how many rows so many colours are used up; all rows if that does not happen."""
    flat = rows.reshape(-1)
    gone = np.bincount(flat, minlength=len(unused)) == unused
    last = np.full(len(unused), -1)
    last[flat] = np.arange(len(flat)) // rows.shape[1]
    ends = np.sort(last[gone & (last >= 0)])
    return int(ends[many - 1]) + 1 if len(ends) >= many else len(rows)


def _subsets(n: int, rows: int, need: int, random: np.random.Generator) -> NDArray[Any]:
    """Draw `need` different ones of n for each row, uniformly."""
    step = max(_BLOCK // min(n, 4 * need * need), 1)
    parts = [_some(n, min(step, rows - begin), need, random) for begin in range(0, rows, step)]
    return np.concatenate(parts)


def _some(n: int, rows: int, need: int, random: np.random.Generator) -> NDArray[Any]:
    small = np.min_scalar_type(n - 1)
    if n > 4 * need * need:  # repeats are rare: draw such rows again
        picks = random.integers(0, n, size=(rows, need)).astype(small)
        again = np.arange(rows)
        while True:
            ordered = np.sort(picks[again], axis=1)
            again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
            if not len(again):
                return picks
            picks[again] = random.integers(0, n, size=(len(again), need))
    deck = np.tile(np.arange(n, dtype=small), (rows, 1))
    row = np.arange(rows)
    for place in range(need):
        drawn = random.integers(place, n, size=rows)
        deck[row, place], deck[row, drawn] = deck[row, drawn], deck[:, place].copy()
    return deck[:, :need]


def choices(sizes: IntArray, times: IntArray, random: np.random.Generator) -> IntArray:
    """Draw different members of several sets, in random order.

    Parameters
    ----------
    sizes : int64 array, shape (sets,)
        How many members each has.
    times : int64 array, shape (sets,)
        How many of them are drawn; from 1.
    random : numpy.random.Generator

    Returns
    -------
    int64 array, shape (sum of times,)
        Their numbers, from 0; set by set. Each way is as likely.

    Examples
    --------
    >>> choices(np.array([1, 3]), np.array([1, 3]), np.random.default_rng(1))
    array([0, 0, 1, 2])
    """
    many, large = times > 1, (times >= _MANY) & (sizes <= _MANY * times)
    small = many & ~large & (sizes <= 4 * times)
    sparse = many & ~large & ~small
    found = np.empty(int(times.sum()), dtype=np.int64)
    plain = np.repeat(~large & ~small, times)
    found[plain] = random.integers(0, np.repeat(sizes, times)[plain])
    found[np.repeat(small, times)] = _shuffled(sizes[small], times[small], random)
    ends = np.cumsum(times)
    for one in np.flatnonzero(large).tolist():
        own = slice(ends[one] - times[one], ends[one])
        found[own] = random.choice(int(sizes[one]), int(times[one]), replace=False)
    # Repeats are drawn again. No member is preferred in that, so all ways remain as likely.
    again = np.flatnonzero(np.repeat(sparse, times))
    if len(again):
        of_place = np.repeat(np.arange(len(sizes)), times)
    while len(again):
        keys = of_place[again] * int(sizes.max()) + found[again]
        order = np.argsort(keys, kind="stable")
        repeated = again[order[1:][keys[order[1:]] == keys[order[:-1]]]]
        found[repeated] = random.integers(0, sizes[of_place[repeated]])
        again = again[np.isin(of_place[again], of_place[repeated])]
    return found


def _shuffled(sizes: IntArray, times: IntArray, random: np.random.Generator) -> IntArray:
    """The same by shuffling all members."""
    if not len(sizes):
        return sizes
    ends = np.cumsum(sizes)
    set_of = np.repeat(np.arange(len(sizes)), sizes)
    mixed = random.permutation(len(set_of))
    order = mixed[np.argsort(set_of[mixed], kind="stable")]
    kept = order[ranges(ends - sizes, ends - sizes + times)[0]]
    return kept - (ends - sizes)[set_of[kept]]
