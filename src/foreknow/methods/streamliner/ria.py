"""RIA: everybody gets partners of other colours by lot, and who shares somebody is merged.

Table 5 of "Privacy Streamliner", with two things that it leaves open. Colours are drawn so that
nobody is left without partners (`foreknow.methods.streamliner.ria`). And groups are merged
with a union-find in arrays.

All lots are drawn for colours, and who of a colour is meant is drawn by lot too: like RDA it treats
the people of a colour alike, and is safe for the same reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import factorial, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.sparse import IntArray, count_pairs, ranges
from foreknow.errors import UnsupportedError
from foreknow.methods.likelihood import Bag
from foreknow.methods.streamliner.rda import Colours

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


def groups_of_ria(
    codes: NDArray[Any],
    sizes: IntArray,
    l: int,  # noqa: E741
    random: np.random.Generator,
) -> IntArray:
    """Everybody's group.

    Each member of a group brings ``l - 1`` partners of other colours into it, and no two members
    of one colour bring the same; so no colour has more than 1/l of a group.

    Parameters
    ----------
    codes : integer array, shape (people,)
        Everybody's colour.
    sizes : int64 array, shape (colours,)
        At most 1/l of the people each.
    l : int
    random : numpy.random.Generator
        Secret.

    Returns
    -------
    int64 array, shape (people,)

    Examples
    --------
    >>> groups_of_ria(np.array([1, 0, 2]), np.array([1, 1, 1]), 3, np.random.default_rng(0))
    array([0, 0, 0])
    """
    colours = Colours.of(codes, sizes)
    colours.shuffle(random)
    present = np.flatnonzero(sizes)
    sizes, starts = sizes[present], colours.starts[present]
    parent = np.arange(len(codes), dtype=colours.people.dtype)
    for some, drawn in partner_colours(sizes, l - 1, random):
        own = colours.people[ranges(starts[some], starts[some] + sizes[some])[0]]
        own_times = sizes[some] * (l - 1)
        # Nobody of one colour gets the same partner: so all draws of a colour are made together.
        asked = drawn.reshape(-1)
        if len(some) > 1:
            least = np.min_scalar_type(len(some) * len(sizes))
            asked = asked.astype(least)
            asked += np.repeat((np.arange(len(some)) * len(sizes)).astype(least), own_times)
        order = np.argsort(asked, kind="stable")
        keys, times = _counted(asked[order])
        of = keys % len(sizes)
        places = np.repeat(starts[of], times) + choices(sizes[of], times, random)
        partners = np.empty(asked.size, dtype=own.dtype)
        partners[order] = colours.people[places]
        merge(parent, np.repeat(own, l - 1), partners)
    roots = _roots(parent, np.arange(len(parent)))
    groups: IntArray = (np.cumsum(roots == np.arange(len(roots))) - 1)[roots]
    return groups


def merge(parent: NDArray[Any], one: NDArray[Any], other: NDArray[Any]) -> None:
    """Put each of some people together with another: union-find, all pairs at once.

    Parameters
    ----------
    parent : integer array, shape (people,)
        Changed in place. The root of everybody's tree is the first of their group.
    one, other : integer arrays of equal length

    Examples
    --------
    >>> parent = np.arange(5)
    >>> merge(parent, np.array([4, 1]), np.array([3, 3]))
    >>> parent[[1, 3, 4]]
    array([1, 1, 1])
    """
    while True:
        one, other = _roots(parent, one), _roots(parent, other)
        apart = one != other
        if not apart.any():
            return
        one, other = one[apart], other[apart]
        # Of several that want the same root, one wins; the rest try again. No circles, since a
        # root only ever goes below an earlier one.
        parent[np.maximum(one, other)] = np.minimum(one, other)


def _roots(parent: NDArray[Any], people: NDArray[Any]) -> NDArray[Any]:
    """The first of everybody's group; shortens the ways there."""
    found: NDArray[Any] = parent[people]
    while True:
        above: NDArray[Any] = parent[found]
        if np.array_equal(above, found):
            parent[people] = found
            return found
        found = above


def _counted(ordered: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Different numbers of those in order, and how often each occurs."""
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts].astype(np.int64), np.diff(starts, append=len(ordered))


# How many people of each colour are in a block; and of all blocks, in ascending order.
_Block: TypeAlias = tuple[int, ...]
_Blocks: TypeAlias = tuple[_Block, ...]
# Steps that may be taken.
_MOST = 100_000


def chance_of_ria(found: Counter[Bag], sizes: IntArray, l: int) -> Fraction:  # noqa: E741
    """How probable groups with these bags are, whatever they are called.

    Parameters
    ----------
    found : Counter of bags
        The colours of each group.
    sizes : int64 array, shape (colours,)
        Of an l-eligible table.
    l : int

    Raises
    ------
    UnsupportedError
        If the table is too large.

    Examples
    --------
    Of a, a, b, b each draws a partner; they stay in pairs if all four draw alike.

    >>> chance_of_ria(Counter({(0, 1): 2}), np.array([2, 2]), 2)
    Fraction(1, 4)
    """
    present = np.flatnonzero(sizes).tolist()
    groups = [tuple(bag.count(colour) for colour in present) for bag in found.elements()]
    return _chance(tuple(sorted(groups)), l)


@lru_cache(maxsize=4096)
def _chance(groups: _Blocks, l: int) -> Fraction:  # noqa: E741
    """The chance of the groups of people of certain colours."""
    steps = _Steps(_MOST)
    finer: dict[_Blocks, int] = {(): 1}
    for group in groups:
        cuts = list(_cuts(group, l, steps))
        more: dict[_Blocks, int] = {}
        for (blocks, many), (own, times) in product(finer.items(), cuts):
            steps.take()
            joined = tuple(sorted(blocks + own))
            more[joined] = more.get(joined, 0) + many * times
        finer = more
    draws = [_Draws(colour, l, steps) for colour in range(len(groups[0]))]
    found = Fraction(0)
    for blocks, many in finer.items():
        found += many * prod((d.within(blocks) for d in draws), start=Fraction(1))
    return found


class _Steps:
    """Steps that are left."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise UnsupportedError(
                "the table is too large for the exact chance of groups that ria makes; that the "
                "posterior is the frequency in the group is proved for any"
            )


def _cuts(group: _Block, l: int, steps: _Steps) -> Iterator[tuple[_Blocks, int]]:  # noqa: E741
    """Every way to cut a group into blocks that stars may lie in, and how much it counts.

    That is how many cuts of the people it stands for, times the Möbius function.
    """
    for blocks in _multisets(group, group, l, steps):
        ways = prod(
            factorial(many) // prod(factorial(block[colour]) for block in blocks)
            for colour, many in enumerate(group)
        )
        ways //= prod(map(factorial, Counter(blocks).values()))
        b = len(blocks)
        yield blocks, (-1) ** (b - 1) * factorial(b - 1) * ways


def _multisets(rest: _Block, most: _Block, l: int, steps: _Steps) -> Iterator[_Blocks]:  # noqa: E741
    """Every multiset of blocks that make up the rest, none of them above `most` in order."""
    if not any(rest):
        yield ()
        return
    for block in product(*(range(many + 1) for many in rest)):
        steps.take()
        if block <= most and any(block) and l * max(block) <= sum(block):
            left = tuple(a - b for a, b in zip(rest, block, strict=True))
            for others in _multisets(left, block, l, steps):
                yield (block, *others)


class _Draws:
    """The draws of one colour: the chance that partners are found within blocks."""

    def __init__(self, colour: int, l: int, steps: _Steps) -> None:  # noqa: E741
        self.colour, self.need = colour, l - 1
        self._steps = steps
        self._known: dict[_Blocks, Fraction] = {}

    def within(self, blocks: _Blocks) -> Fraction:
        """R: a block says how many members draw, at this colour, and who can be drawn, at others.

        One member after the other draws, by the rule of `partners`.
        """
        blocks = tuple(sorted(blocks))
        if blocks not in self._known:
            self._steps.take()
            self._known[blocks] = self._found(blocks)
        return self._known[blocks]

    def _found(self, blocks: _Blocks) -> Fraction:
        unused = [sum(block[colour] for block in blocks) for colour in range(len(blocks[0]))]
        left, unused[self.colour] = unused[self.colour], 0
        if not left:
            return Fraction(1)
        rows = list(self._rows(unused, left))
        found = sum((self._taken(row, blocks) for row in rows), Fraction(0))
        return found / (len(rows) * left)

    def _rows(self, unused: list[int], left: int) -> Iterator[tuple[int, ...]]:
        """The sets of colours that the next one may draw, each as likely."""
        pool = [colour for colour, many in enumerate(unused) if many]
        spare = sum(min(many, left) for many in unused) - self.need * left
        full = [colour for colour in pool if unused[colour] >= left]
        if spare >= len(pool):
            yield from combinations(pool, self.need)
        elif len(full) >= self.need:
            yield from combinations(full, self.need)
        else:
            others = [colour for colour in pool if unused[colour] < left]
            for more in combinations(others, self.need - len(full)):
                yield (*full, *more)

    def _taken(self, row: tuple[int, ...], blocks: _Blocks) -> Fraction:
        """Who draws, times the chance of a partner of each colour of the row, in the same block."""
        ways = Fraction(0)
        for block, alike in Counter(blocks).items():
            chances = block[self.colour] * alike * prod(block[colour] for colour in row)
            if chances:
                less = list(block)
                for colour in (self.colour, *row):
                    less[colour] -= 1
                rest = list(blocks)
                rest.remove(block)
                ways += chances * self.within((*rest, tuple(less)))
        return ways / prod(sum(block[colour] for block in blocks) for colour in row)
