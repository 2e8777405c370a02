"""Anatomy: groups of l people with l different sensitive values, drawn at random.

Xiao and Tao, "Anatomy: Simple and Effective Privacy Preservation", VLDB 2006.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from foreknow.call_hints import hints
from foreknow.data.arrays import IntArray, ranges
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import Codes
from foreknow.methods.eligibility import ADVICE, WithL, by_value, settled_l
from foreknow.methods.proof import by_values_alone
from foreknow.methods.protocol import (
    ONE_COLUMN,
    Grouping,
    Traits,
)
from foreknow.needs import require, several_values
from foreknow.policy.policy import Policy
from foreknow.randomness import generator
from foreknow_judge.policy.settings import Settings

# How many people are planned at once.
_BLOCK = 1 << 20


def rounds_of(counts: IntArray, l: int) -> IntArray:
    """The round in which everybody is taken, if each takes one of each of the l largest buckets.

    A bucket holds the people of one value; everybody stands bucket by bucket, in the order in which
    they are to be taken. -1 for the fewer than l people who are left in the end, all of different
    values. No value may have more than 1/l of the people.

    The method of Xiao and Tao goes a round at a time; here, all rounds between two changes are
    planned at once. The buckets that are strictly larger than the l-th largest, the *high* ones,
    give one person in every round. The others are worn down together from above, level by level:
    those that are as high as the highest of them take turns. A high bucket that is no longer
    higher joins these turns, which happens fewer than l times.

    >>> rounds_of(np.array([3, 2, 2]), 2)  # doctest: +NORMALIZE_WHITESPACE
    array([ 0, 1, 2, 0, 2, 1, -1])
    """
    # From here on buckets are in order of size, the largest first.
    order = np.argsort(-counts, kind="stable")
    heights, starts = counts[order], (np.cumsum(counts) - counts)[order]
    rounds = np.full(int(counts.sum()), -1, dtype=np.int64)
    n_rounds = len(rounds) // l
    # How many buckets are at least so high, for each height.
    reaching = np.cumsum(np.bincount(counts)[::-1])[::-1]
    # The height of the highest of the buckets that take turns; how many are higher than that.
    height = int(heights[l - 1])
    high = int(np.count_nonzero(heights > height))
    gone = 0  # how many had their turn at this level already
    turn = 0
    while turn < n_rounds:
        rate = l - high
        # How many turns there are at each level, from `level` down to 1, and in all down to it.
        turns_at = reaching[height:0:-1] - high
        turns_at[0] -= gone
        ends = np.cumsum(turns_at)
        end = _joins(int(heights[high - 1]) - turn, height, rate, ends) + turn if high else n_rounds
        # Until then nothing changes: the same high buckets, the others by turns.
        end = min(end, n_rounds)
        # High buckets give a person in every round; the others one in each of their turns.
        for first in starts[:high].tolist():
            rounds[first + turn : first + end] = np.arange(turn, end)
        n_turns, done = rate * (end - turn), 0
        for buckets, turn_level in _turns(high, height, gone, reaching, ends, n_turns):
            # A bucket that is down to a height has given its first people: this is the next one.
            position = starts[buckets] + (heights[buckets] - turn_level)
            rounds[position] = turn + np.arange(done, done + len(buckets)) // rate
            done += len(buckets)
        turn = end
        # How many levels were finished, and how many buckets had their turn at the one begun.
        below = int(np.searchsorted(ends, n_turns, "right"))
        gone = n_turns - int(ends[below - 1]) if below else gone + n_turns
        height -= below
        while high and heights[high - 1] - turn == height:
            # It joins behind those who had their turn: nobody gets two turns in one round.
            high -= 1
            for by_bucket in (heights, starts):
                by_bucket[high : high + gone + 1] = np.roll(by_bucket[high : high + gone + 1], -1)
    return rounds


def _joins(height: int, level: int, rate: int, ends: IntArray) -> int:
    """The number of rounds after which a high bucket is no higher than the next in turn.

    `height` is that of the lowest high bucket now, `level` that of the highest of the others. In
    each round `rate` of the others give a person; ``ends[i]`` is how many turns there are in all
    down to the level ``level - i``.
    """
    levels = level - np.arange(len(ends))
    turns = rate * (height - levels)  # when the bucket is down at each level
    # The first level at which the bucket arrives while the others are still at it.
    levels_reached = np.flatnonzero((np.concatenate(([0], ends[:-1])) <= turns) & (turns < ends))
    return height - int(levels[levels_reached[0]]) if len(levels_reached) else height


def _turns(
    high: int, level: int, gone: int, reaching: IntArray, ends: IntArray, n_turns: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, turn by turn, the buckets that give a person, and their heights at that moment.

    `high` buckets are left out: they give one in every round. The others stand behind them; the
    highest has the height `level`, and `gone` of that height had their turn before. ``reaching[h]``
    is how many of all buckets were at least h high at first, and ``ends[i]`` how many turns there
    are down to the level ``level - i``. In all, `n_turns` turns are yielded, a block of them at a
    time.
    """
    done, below = 0, 0
    while done < n_turns:
        # As many whole levels as fit into a block.
        last = max(int(np.searchsorted(ends, min(done + _BLOCK, n_turns))), below)
        turn_levels = level - np.arange(below, last + 1)
        # At each level the buckets that are as high, behind the high ones.
        firsts = np.full(len(turn_levels), high)
        firsts[0] += 0 if below else gone
        buckets, offsets = ranges(firsts, reaching[turn_levels])
        n_turning = min(len(buckets), n_turns - done)
        yield buckets[:n_turning], np.repeat(turn_levels, np.diff(offsets))[:n_turning]
        done += n_turning
        below = last + 1


_log = logging.getLogger(__name__)


class AnatomySettings(Settings):
    """``[publish.anatomy]`` in a policy file."""

    l: Annotated[int, Field(ge=2)] | None = None


@hints()
@dataclass(frozen=True)
class Anatomy(WithL):
    """Groups of l people with different sensitive values, drawn at random (bucketization).

    While l different values remain, one person is drawn at random for each of the l most frequent
    remaining values; these people make a group. Fewer than l people are left at the end. Each of
    them joins a random group that lacks their value. So no two people of a group share a value, and
    each value has at most a share 1/l of its group.

    The method uses sensitive values only, not quasi-identifiers, so the release is bucketized
    unless another form is asked for. It takes nothing from the policy except l, and only if `l` is
    None. `publish` refuses a release that does not hold the policy.

    Parameters
    ----------
    l : int, optional
        The number of people and of different values in a group. From 2. None: the smallest l with
        which the groups hold the policy, as far as the number of people with each value in each
        group can show it.

    Notes
    -----
    Randomness comes from the system's entropy unless a seed is given. An adversary who knows the
    seed can repeat the draws and learn everybody's value, so give a seed in tests only.

    Examples
    --------
    >>> from foreknow import sample
    >>> policy = Policy.load(sample.policy_path())
    >>> microdata = Microdata(sample.table_path(), policy.schema)
    >>> groups = Anatomy(l=3).partition(microdata, seed=1)
    >>> int(microdata.counts(groups).counts.max())
    1
    """

    l: int | None = None
    key: ClassVar[str] = "anatomy"
    settings: ClassVar[type[Settings]] = AnatomySettings

    def __post_init__(self) -> None:
        self._settle_l()

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table; the result also names the l that was used."""
        codes, counts = _codes(microdata)
        method, groups = settled_l(
            self, microdata, policy, counts, lambda method: method._groups(codes, counts, seed)
        )
        return Grouping(microdata.rows_of(groups), method=method)

    def _groups(self, codes: Codes, counts: IntArray, seed: int | None) -> IntArray:
        """The group of each person, from the codes of values and how many people have each.

        The round in which people are taken is their group. People who are left over join a random
        group that lacks their value.
        """
        assert self.l is not None
        random = generator(seed, "Anatomy")
        # People stand value by value, at random within each; rounds are of positions in that order.
        people = by_value(codes, counts, random)
        ends = np.cumsum(counts)
        rounds = rounds_of(counts, self.l)
        n_groups = len(rounds) // self.l
        remaining = np.flatnonzero(rounds < 0)
        _log.info("%d groups of %d, %d people left to join them", n_groups, self.l, len(remaining))
        for person in remaining.tolist():
            # Groups that hold the value already: the rounds of its other people.
            value = int(np.searchsorted(ends, person, "right"))
            rounds_of_value = rounds[ends[value] - counts[value] : ends[value]]
            rounds[person] = _draw_other(
                np.sort(rounds_of_value[rounds_of_value >= 0]), n_groups, random
            )
        groups = np.empty(len(rounds), dtype=np.int64)
        groups[people] = rounds
        return groups

    @property
    def traits(self) -> Traits:
        """The traits of the method: it uses sensitive values only.

        So everybody's posterior is the frequency of the value in the group.
        """
        return Traits(
            needs=ONE_COLUMN,
            symmetric=True,
            random=True,
            proof=by_values_alone(self.l or 2, self.l),
            notes=self._notes,
            advice=ADVICE,
            settled=self.settled,
            form="bucketized",
        )


def _codes(microdata: Microdata) -> tuple[Codes, IntArray]:
    """Everybody's value, and how often each occurs."""
    require(Anatomy, several_values(microdata.schema.semantics))
    codes = microdata.sensitive_codes
    return codes, np.bincount(codes, minlength=len(microdata.values))


def _draw_other(taken_groups: IntArray, n_groups: int, random: np.random.Generator) -> int:
    """Draw one of the groups that are not taken; `taken_groups` is in increasing order."""
    position = int(random.integers(n_groups - len(taken_groups)))
    # The rank among free groups becomes a number: add the taken groups that come before it. Before
    # the i-th taken group there are ``taken_groups[i] - i`` free ones.
    return position + int(
        np.searchsorted(taken_groups - np.arange(len(taken_groups)), position, "right")
    )
