"""RIA: everybody draws partners of other colours, and people who share a partner are merged.

Table 5 of "Privacy Streamliner", with two gaps filled: colours are drawn so that nobody is left
without partners, and groups are merged with a union-find in arrays. All draws are of colours, and
who of a colour is meant is drawn too: like RDA it treats the people of a colour alike, and is safe
for the same reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, ranges, starts_of
from foreknow.methods.eligibility import by_value, shuffle_each


def groups_of_ria(
    codes: NDArray[Any], sizes: IntArray, l: int, random: np.random.Generator
) -> IntArray:
    """The group of each person: everybody draws partners, and those who share one are merged.

    `codes` is the colour (sensitive value) of each person, `sizes` how many people have each.
    """
    # People by colour, those of one colour in random order.
    people = by_value(codes, sizes, random)
    sizes = sizes[sizes > 0]
    starts = np.cumsum(sizes) - sizes
    # At first everybody is a group; partners are merged below.
    parent = np.arange(len(codes))
    for colour, size in enumerate(sizes.tolist()):
        members = people[starts[colour] : starts[colour] + size]
        drawn_colours = partner_colours(sizes, colour, l - 1, random).reshape(-1)
        # Nobody of one colour gets the same partner: so all draws of a colour are made together.
        # For each partner colour: how often it was drawn, and so many different people of it.
        order = np.argsort(drawn_colours, kind="stable")
        starts_of_partners = starts_of(drawn_colours[order])
        partner_colour = drawn_colours[order[starts_of_partners]]
        times = np.diff(starts_of_partners, append=len(drawn_colours))
        positions = np.repeat(starts[partner_colour], times) + choices(
            sizes[partner_colour], times, random
        )
        partners = np.empty(len(drawn_colours), dtype=members.dtype)
        partners[order] = people[positions]
        merge(parent, np.repeat(members, l - 1), partners)
    # Number the groups from 0 by their first person.
    roots = _roots(parent, np.arange(len(parent)))
    groups: IntArray = (np.cumsum(roots == np.arange(len(roots))) - 1)[roots]
    return groups


def merge(parent: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> None:
    """Join the groups of `first[i]` and `second[i]` for each i, in place.

    ``parent[p]`` is an earlier person of the same group as p, or p itself: then p is the root, the
    first person of the group.
    """
    while True:
        first, second = _roots(parent, first), _roots(parent, second)
        is_separate = first != second
        if not is_separate.any():
            return
        first, second = first[is_separate], second[is_separate]
        # Of several that want the same root, one wins; the rest try again. No circles, since a
        # root only ever goes below an earlier one.
        parent[np.maximum(first, second)] = np.minimum(first, second)


def _roots(parent: NDArray[Any], people: NDArray[Any]) -> NDArray[Any]:
    """The root (first person) of each person's group; shortens the paths to it."""
    roots: NDArray[Any] = parent[people]
    while not np.array_equal(above := parent[roots], roots):
        roots = above
    parent[people] = roots
    return roots


# ---- draws --------------------------------------------------------------------------------------


def partner_colours(
    sizes: IntArray, colour: int, need: int, random: np.random.Generator
) -> NDArray[Any]:
    """Draw `need` different other colours for each person of a colour; shape (people, need).

    One person draws after the other, among the colours that are not used up: each colour can be
    drawn as often as it has people. Any set may be drawn while enough is left for those who come
    later; near the end, sets are drawn that make sure of that.
    """
    unused, waiting = sizes.copy(), int(sizes[colour])
    # Nobody is their own partner.
    unused[colour] = 0
    parts: list[NDArray[Any]] = []
    while waiting:
        rows = _drawn_colours(unused, waiting, need, random)
        unused -= np.bincount(rows.reshape(-1), minlength=len(unused))
        waiting -= len(rows)
        parts.append(rows)
    return np.concatenate(parts)


def _drawn_colours(
    unused: IntArray, n_drawing: int, need: int, random: np.random.Generator
) -> IntArray:
    """The colours of the next person, or of as many people at once as may draw any; one row each.

    ``unused[c]`` is how often colour c may still be drawn, by `n_drawing` people who need `need`
    colours each. A colour is full if all of these may draw it, and scarce otherwise.
    """
    pool = np.flatnonzero(unused)
    # How many of those who draw must do without each colour; and how many draws are left over.
    n_lacking = n_drawing - np.minimum(unused[pool], n_drawing)
    n_spare = int((n_drawing - n_lacking).sum()) - need * n_drawing
    if n_spare >= len(pool):
        # Each who draws lowers `spare` by at most the number of colours that are full then.
        full_then = np.cumsum(np.bincount(n_lacking, minlength=n_drawing))
        n_rows = int(np.count_nonzero(n_spare - np.arange(n_drawing) * full_then >= len(pool)))
        rows: IntArray = pool[_subsets(len(pool), n_rows, need, random)]
        return rows[_possible(rows, unused)]
    # Hardly any are left over: take full colours first, which nobody later lacks for that.
    full_colours, scarce_colours = pool[n_lacking == 0], pool[n_lacking > 0]
    drawn_full = full_colours[_subsets(len(full_colours), 1, min(need, len(full_colours)), random)]
    drawn_scarce = scarce_colours[
        _subsets(len(scarce_colours), 1, need - drawn_full.shape[1], random)
    ]
    return np.concatenate([drawn_full, drawn_scarce], axis=1)


def _possible(rows: NDArray[Any], unused: IntArray) -> NDArray[np.bool_]:
    """True for each row of colours that the rows before leave over; the others draw again."""
    # Only colours that are drawn too often in all can run out.
    is_short = np.bincount(rows.reshape(-1), minlength=len(unused)) > unused
    is_kept = np.ones(len(rows), dtype=bool)
    available = {colour: int(unused[colour]) for colour in np.flatnonzero(is_short).tolist()}
    for row in np.flatnonzero(is_short[rows].any(axis=1)) if available else ():
        scarce_colours = [colour for colour in rows[row].tolist() if colour in available]
        is_kept[row] = all(available[colour] for colour in scarce_colours)
        for colour in scarce_colours if is_kept[row] else ():
            available[colour] -= 1
    return is_kept


def _subsets(n: int, rows: int, need: int, random: np.random.Generator) -> NDArray[Any]:
    """Draw `need` different ones of n for each row, each set as likely (Floyd's algorithm).

    In step i, a number up to `last` is drawn; if the row has it already, `last` itself is taken,
    which no row can have yet.
    """
    picks = np.empty((rows, need), dtype=np.min_scalar_type(n))
    for i, last in enumerate(range(n - need, n)):
        pick = random.integers(0, last + 1, size=rows)
        repeated = (picks[:, :i] == pick[:, None]).any(axis=1)
        picks[:, i] = np.where(repeated, last, pick)
    return picks


def choices(sizes: IntArray, times: IntArray, random: np.random.Generator) -> IntArray:
    """Draw ``times[s]`` different members of each set s at random, set by set, in random order.

    Members are numbered through all sets: set s has ``sizes[s]`` of them.
    """
    # Where a fourth of a set is drawn or more, all its members are shuffled.
    is_shuffled = (times > 1) & (sizes <= 4 * times)
    # The set of each member to draw, and the number of the member within it at first.
    set_of = np.repeat(np.arange(len(sizes)), times)
    member = np.empty(len(set_of), dtype=np.int64)
    member[is_shuffled[set_of]] = _choose_by_shuffling(
        sizes[is_shuffled], times[is_shuffled], random
    )
    to_draw = np.flatnonzero(~is_shuffled[set_of])
    member[to_draw] = random.integers(0, sizes[set_of[to_draw]])
    # Repeats are drawn again. No member is preferred in that, so all ways remain as likely.
    redrawn = to_draw[times[set_of[to_draw]] > 1]
    while len(redrawn):
        # Equal keys are the same member drawn twice: all but one draw again.
        keys = set_of[redrawn] * int(sizes.max()) + member[redrawn]
        order = np.argsort(keys, kind="stable")
        repeated = redrawn[order[1:][keys[order[1:]] == keys[order[:-1]]]]
        member[repeated] = random.integers(0, sizes[set_of[repeated]])
        redrawn = redrawn[np.isin(set_of[redrawn], set_of[repeated])]
    return member


def _choose_by_shuffling(sizes: IntArray, times: IntArray, random: np.random.Generator) -> IntArray:
    """Draw ``times[s]`` different members of each set s, numbered within the set, by shuffling."""
    if not len(sizes):
        return sizes
    ends = np.cumsum(sizes)
    # 0, 1, 2, ... in each set.
    members = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
    shuffle_each(members, sizes, random)
    chosen: IntArray = members[ranges(ends - sizes, ends - sizes + times)[0]]
    return chosen
