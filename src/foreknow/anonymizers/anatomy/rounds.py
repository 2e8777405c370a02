"""The rounds of Anatomy: who of each value goes into which group, from counts alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foreknow.sparse import IntArray, ranges

# How many people are dealt out at once.
_BLOCK = 1 << 20


def rounds_of(counts: IntArray, l: int) -> IntArray:  # noqa: E741
    """Take one person from each of the l largest buckets, again and again.

    A bucket holds the people of one value. The method of Xiao and Tao does this a round at a
    time; here, all rounds between two changes are dealt out at once. The buckets that are
    strictly larger than the l-th largest, the *high* ones, give one person in every round. The
    others are worn down together from above, level by level: those that are as high as the
    highest of them take turns. A high bucket that is no longer higher joins these turns, which
    happens fewer than l times.

    Parameters
    ----------
    counts : int64 array, shape (values,)
        People of each value; none of them more than a share 1/l of everybody.
    l : int

    Returns
    -------
    int64 array, shape (people,)
        The round, from 0, in which everybody is taken, where the people of value 0 come first,
        then those of value 1, and so on, each in the order in which they are to be taken. -1 for
        the fewer than l people who are left in the end; all of them have different values.

    Examples
    --------
    >>> rounds_of(np.array([3, 2, 2]), 2)  # doctest: +NORMALIZE_WHITESPACE
    array([ 0, 1, 2, 0, 2, 1, -1])
    """
    order = np.argsort(-counts, kind="stable")
    heights, starts = counts[order], (np.cumsum(counts) - counts)[order]
    rounds = np.full(int(counts.sum()), -1, dtype=np.int64)
    n_rounds = len(rounds) // l
    # How many buckets are at least so high, for each height.
    reaching = np.cumsum(np.bincount(counts)[::-1])[::-1]
    level = int(heights[l - 1])
    high = int(np.count_nonzero(heights > level))
    gone = 0  # how many had their turn at this level already
    now = 0
    while now < n_rounds:
        rate = l - high
        # Turns at this level and at those below it, and where each level's turns end.
        turns_at = reaching[level:0:-1] - high
        turns_at[0] -= gone
        ends = np.cumsum(turns_at)
        end = _joins(int(heights[high - 1]) - now, level, rate, ends) + now if high else n_rounds
        end = min(end, n_rounds)
        for first in starts[:high].tolist():
            rounds[first + now : first + end] = np.arange(now, end)
        n_turns, done = rate * (end - now), 0
        for buckets, at in _turns(high, level, gone, reaching, ends, n_turns):
            place = starts[buckets] + (heights[buckets] - at)
            rounds[place] = now + np.arange(done, done + len(buckets)) // rate
            done += len(buckets)
        now = end
        below = int(np.searchsorted(ends, n_turns, "right"))
        gone = n_turns - int(ends[below - 1]) if below else gone + n_turns
        level -= below
        while high and heights[high - 1] - now == level:
            # It joins behind those who had their turn: nobody gets two turns in one round.
            high -= 1
            for by_bucket in (heights, starts):
                by_bucket[high : high + gone + 1] = np.roll(by_bucket[high : high + gone + 1], -1)
    return rounds


def _joins(height: int, level: int, rate: int, ends: IntArray) -> int:
    """After how many rounds a high bucket is no higher than the one whose turn is next."""
    levels = level - np.arange(len(ends))
    turns = rate * (height - levels)  # when the bucket is down at each level
    here = np.flatnonzero((np.concatenate(([0], ends[:-1])) <= turns) & (turns < ends))
    return height - int(levels[here[0]]) if len(here) else height


def _turns(
    high: int, level: int, gone: int, reaching: IntArray, ends: IntArray, n_turns: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Who has the next turns, and how high they are then; in blocks of whole levels."""
    done, below = 0, 0
    while done < n_turns:
        last = max(int(np.searchsorted(ends, min(done + _BLOCK, n_turns))), below)
        at = level - np.arange(below, last + 1)
        firsts = np.full(len(at), high)
        firsts[0] += 0 if below else gone
        buckets, offsets = ranges(firsts, reaching[at])
        more = min(len(buckets), n_turns - done)
        yield buckets[:more], np.repeat(at, np.diff(offsets))[:more]
        done += more
        below = last + 1
