"""Crossing groups: people in the same group of every release, and bags that differences settle.

Whoever has several releases of the same people can subtract one bag from another. A group of which
all cells but one are settled settles the last one; a settled cell is a group by itself. Where all
cells are settled, the worlds of all releases are those of one release, whose groups are the cells.
Nested groups are the case that needs no luck: their atoms are the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, count_pairs, joined, ranges
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label, Labels
from foreknow_judge.errors import DataError

ABSENT = -1  # from a release


# Rounds in which cells are settled at once. Where groups cross in a long chain, each round settles
# a few, and settles them faster one after the other.
_AT_ONCE = 50
# Of these, so many are looked up together.
_CHUNK = 1 << 16


class Round(NamedTuple):
    """Cells that are settled at once, or one after the other; and the group that settles each.

    A group settles a cell if all its other cells are settled: the values that are left of its bag
    are those of the cell.
    """

    cells: IntArray
    groups: IntArray  # numbered through all releases
    in_turn: bool = False


@dataclass(frozen=True, eq=False)
class CrossedGroups:
    """People by the groups that they are in, of several releases.

    >>> january, march = np.array([0, 0, 1, -1]), np.array([-1, -1, 0, 0])
    >>> cells = CrossedGroups.of([january, march])
    >>> cells.sizes, cells.groups.tolist(), bool(cells.settled.all())
    (array([1, 2, 1]), [[-1, 0], [0, -1], [1, 0]], True)
    """

    of_person: IntArray  # cells by position
    groups: IntArray  # by cell and release: the group, or ABSENT
    first: IntArray  # by release: the number of its first group, of all
    rounds: tuple[Round, ...]

    @classmethod
    def of(cls, memberships: Sequence[IntArray]) -> CrossedGroups:
        """The cells: people in the same group of every release.

        `memberships` has, for each release, the group of each person, -1 (absent) for those not in
        it.
        """
        n_groups = []
        for membership in memberships:
            n_groups.append(int(membership.max(initial=ABSENT)) + 1)
        # + 1 makes codes from 0 of groups, where 0 is "absent".
        cell_of_person, first_person = combine(
            [membership + 1 for membership in memberships], [n + 1 for n in n_groups]
        )
        groups = np.stack([membership[first_person] for membership in memberships], axis=1).astype(
            np.int64
        )
        first_group = np.cumsum([0, *n_groups])
        return cls(
            cell_of_person.astype(np.int64),
            groups,
            first_group,
            tuple(_settling_rounds(groups, first_group)),
        )

    @property
    def _numbered(self) -> IntArray:
        """The group of each cell in each release, numbered through all releases."""
        return np.where(self.groups == ABSENT, ABSENT, self.groups + self.first[:-1])

    @property
    def sizes(self) -> IntArray:
        """How many people each cell has."""
        return np.bincount(self.of_person, minlength=len(self.groups))

    @property
    def settled(self) -> NDArray[np.bool_]:
        """True for each cell that differences settle; with three releases, perhaps not for all."""
        is_settled = np.zeros(len(self.groups), dtype=bool)
        for settling_round in self.rounds:
            is_settled[settling_round.cells] = True
        return is_settled

    def counts(self, releases: Sequence[GroupCounts], names: Sequence[str]) -> GroupCounts:
        """The bags of all cells; those that are not settled have none.

        Raises `DataError` if releases contradict each other: then somebody has another value in one
        of them, or is not who they are taken for.

        `releases` are the counts of each release, and `names` are for errors. Each round gives a
        cell what is left of the bag of the group that settles it, and takes that out of all groups
        of the cell.
        """
        values = Labels(
            dict.fromkeys(
                _text(value) for release_counts in releases for value in release_counts.values
            )
        )
        bags = self._bags_of_groups(releases, values)
        n_values = bags.n_values
        settled_bags: list[tuple[IntArray, IntArray, IntArray]] = []  # cell, value, count
        for cells, groups, is_in_turn in self.rounds:
            if is_in_turn:
                bags_of_cells = bags.settle_in_turn(cells, groups, self._numbered[cells])
                if bags_of_cells is None:
                    raise self._contradiction(names)
                settled_bags.append(bags_of_cells)
                continue
            # Many cells at once: what is left of each cell's group is the bag of the cell.
            entries, offsets = bags.entries(groups)
            cell_of_entry = np.repeat(cells, np.diff(offsets))
            counts = bags.remaining[entries]
            is_positive = counts > 0
            cell_of_entry = cell_of_entry[is_positive]
            codes = bags.codes(entries[is_positive])
            counts = counts[is_positive]
            # A bag that gives a cell its values loses them, and so do the cell's groups elsewhere.
            settled_bags.append((cell_of_entry, codes, counts))
            for release, start in enumerate(self.first[:-1]):
                group = self.groups[cell_of_entry, release]
                is_present = group != ABSENT
                if not bags.take(group[is_present] + start, codes[is_present], counts[is_present]):
                    raise self._contradiction(names)
        if not self._agrees(bags):
            raise self._contradiction(names)
        empty = self.first[:0]
        cell_of_entry, codes, counts = joined([(empty, empty, empty), *settled_bags])
        offsets, codes, counts = count_pairs(
            cell_of_entry, codes, len(self.groups), n_values, counts
        )
        semantics = releases[0].semantics
        return GroupCounts.counted(
            self.sizes, offsets, codes, counts, values=values, semantics=semantics
        )

    def _bags_of_groups(self, releases: Sequence[GroupCounts], values: Labels) -> _Bags:
        """The bags of the groups of all releases, by the codes of their common `values`."""
        n_values = max(len(values), 1)
        keys = []
        for release_counts, start in zip(releases, self.first[:-1], strict=True):
            code_of_value = np.array([values.codes[_text(v)] for v in release_counts.values], int)
            group_of_entry = start + np.repeat(
                np.arange(release_counts.n_groups), np.diff(release_counts.offsets)
            )
            keys.append(group_of_entry * n_values + code_of_value[release_counts.codes])
        counts = np.concatenate([release_counts.counts for release_counts in releases])
        return _Bags.of(np.concatenate(keys), counts, int(self.first[-1]), n_values)

    def _agrees(self, bags: _Bags) -> bool:
        """True if the bags of all releases can be those of the same people.

        Nothing may be left of groups whose cells are all settled, and no count may be below 0.
        """
        # Groups with a cell that is not settled may have something left. ABSENT becomes another
        # group's number below, which the mask drops.
        open_groups = np.zeros(int(self.first[-1]), dtype=bool)
        unsettled = self.groups[~self.settled] + self.first[:-1]
        open_groups[unsettled[self.groups[~self.settled] != ABSENT]] = True
        left_in_closed_groups = bags.remaining[~open_groups[bags.keys // bags.n_values]]
        return bool((bags.remaining >= 0).all() and not left_in_closed_groups.any())

    def _contradiction(self, names: Sequence[str]) -> DataError:
        return DataError(
            f"{' and '.join(names)} contradict each other: somebody who is in several of them "
            "has another value in one, or is somebody else; a person has one name and one value "
            "in all releases"
        )


@dataclass(frozen=True, eq=False)
class _Bags:
    """The remaining bags of all groups."""

    keys: IntArray  # group times values, plus value; ascending
    remaining: IntArray
    offsets: IntArray  # of groups in `keys`
    n_values: int

    @classmethod
    def of(cls, keys: IntArray, counts: IntArray, n_groups: int, n_values: int) -> _Bags:
        """Sort entries by key (group times values, plus value); `counts`: how often each is."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        offsets = np.searchsorted(keys, np.arange(n_groups + 1) * n_values)
        return cls(keys, counts[order].copy(), offsets, n_values)

    def entries(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """The places of the entries of some groups, in a row, and the start of each group in it."""
        return ranges(self.offsets[groups], self.offsets[groups + 1])

    def codes(self, entries: IntArray) -> IntArray:
        """The values at some places."""
        return self.keys[entries] % self.n_values

    def settle_in_turn(
        self, cells: IntArray, groups: IntArray, numbered_groups: IntArray
    ) -> tuple[IntArray, IntArray, IntArray] | None:
        """Find the bags of cells one after another: arrays of cell, value and count.

        A cell is the people who share a group in every release. ``groups[i]`` is a group whose
        other cells are settled already, so the values that remain in it are the bag of
        ``cells[i]``. They are then taken out of all groups of this cell, ``numbered_groups[i]``
        (one for each release). None if one of these groups never had such a value; if it has too
        few, its remaining count falls below 0, and `CrossedGroups` refuses the releases later.
        """
        # A list, because it is quicker than an array to change one by one. Its last entry is that
        # of releases without this cell: it is changed, too, and never read.
        remaining = [*self.remaining.tolist(), 0]
        settled_parts = []
        for start in range(0, len(cells), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            entries, offsets = self.entries(groups[chunk])
            cell_number = np.repeat(np.arange(start, start + len(offsets) - 1), np.diff(offsets))
            codes, times_taken = self.codes(entries), [0] * len(entries)
            positions = []
            # The places of each entry's value in all groups of the cell.
            for column in numbered_groups.T:
                positions.append(self._places(column[cell_number], codes).tolist())
            for number, (entry, *entries_of_groups) in enumerate(
                zip(entries.tolist(), *positions, strict=True)
            ):
                if (times := remaining[entry]) > 0:
                    times_taken[number] = times
                    # The cell takes these values out of all its groups.
                    for entry_of_group in entries_of_groups:
                        if entry_of_group < 0:
                            return None
                        remaining[entry_of_group] -= times
            counts = np.array(times_taken, dtype=np.int64)
            is_positive = counts > 0
            settled_parts.append(
                (cells[cell_number[is_positive]], codes[is_positive], counts[is_positive])
            )
        self.remaining[:] = remaining[:-1]
        cell_of_entry, codes, counts = joined(settled_parts)
        return cell_of_entry, codes, counts

    def _places(self, groups: IntArray, codes: IntArray) -> IntArray:
        """The place of each value's entry in its group.

        One beyond all entries for no group, -1 for a group without that value.
        """
        wanted_keys = groups * self.n_values + codes
        positions = np.minimum(np.searchsorted(self.keys, wanted_keys), len(self.keys) - 1)
        positions[self.keys[positions] != wanted_keys] = -1
        positions[groups == ABSENT] = len(self.keys)
        return positions

    def take(self, groups: IntArray, codes: IntArray, counts: IntArray) -> bool:
        """Take `counts` of values out of groups; False if a group never had the value.

        Counts may fall below 0; that shows in the end.
        """
        wanted_keys = groups * self.n_values + codes
        entries = np.minimum(np.searchsorted(self.keys, wanted_keys), len(self.keys) - 1)
        if not np.array_equal(self.keys[entries], wanted_keys):
            return False
        np.subtract.at(self.remaining, entries, counts)
        return True


def _settling_rounds(groups: IntArray, first_group: IntArray) -> list[Round]:
    """The rounds in which cells are settled: each is the only unsettled cell of some group.

    `groups` has the group of each cell in each release (cells x releases); `first_group` is the
    number of each release's first group, and in the end their total.
    """
    numbered = np.where(groups == ABSENT, ABSENT, groups + first_group[:-1])
    cells = np.repeat(np.arange(len(groups)), numbered.shape[1])
    is_present = numbered.ravel() != ABSENT
    group_of_cell, cells = numbered.ravel()[is_present], cells[is_present]
    unsettled = np.bincount(group_of_cell, minlength=int(first_group[-1]))  # cells of each group
    # The sum of the positions of these cells: of a single one, it is the cell.
    sums_of_cells = np.zeros(int(first_group[-1]), dtype=np.int64)
    np.add.at(sums_of_cells, group_of_cell, cells)
    rounds: list[Round] = []
    # Only groups that just lost a cell can be next to have a single one left.
    candidates = np.arange(int(first_group[-1]))
    while len(ready_groups := candidates[unsettled[candidates] == 1]):
        # After many rounds, settling one after another is faster.
        if len(rounds) == _AT_ONCE:
            rounds.append(_round_in_turn(numbered, ready_groups, unsettled, sums_of_cells))
            break
        # A cell may be the last one of several groups: one of them is enough.
        settled_cells, position = np.unique(sums_of_cells[ready_groups], return_index=True)
        rounds.append(Round(settled_cells, ready_groups[position]))
        members = numbered[settled_cells]
        in_group = members != ABSENT
        groups_of_settled = members[in_group]
        np.subtract.at(unsettled, groups_of_settled, 1)
        np.subtract.at(
            sums_of_cells, groups_of_settled, np.repeat(settled_cells, in_group.sum(axis=1))
        )
        candidates = np.unique(groups_of_settled)
    return rounds


def _round_in_turn(
    numbered: IntArray, ready_groups: IntArray, unsettled: IntArray, total: IntArray
) -> Round:
    """One round that settles cells one after another, beginning with groups that are ready.

    `numbered` has the groups of each cell; by group, `unsettled` is the number of its unsettled
    cells and `total` the sum of their numbers, which is the cell itself once one is left.
    """
    n_unsettled, sums, members = unsettled.tolist(), total.tolist(), numbered.tolist()
    open_groups, cells, groups = ready_groups.tolist(), list[int](), list[int]()
    while open_groups:
        group = open_groups.pop()
        if n_unsettled[group] != 1:  # its last cell was settled by another group
            continue
        cell = sums[group]
        cells.append(cell)
        groups.append(group)
        for member_group in members[cell]:
            if member_group != ABSENT:
                n_unsettled[member_group] -= 1
                sums[member_group] -= cell
                if n_unsettled[member_group] == 1:
                    open_groups.append(member_group)
    return Round(np.array(cells), np.array(groups), in_turn=True)


def _text(value: Label) -> Label:
    """A value as it prints; of several sensitive columns, each part, None if missing."""
    if isinstance(value, tuple):
        return tuple(None if part is None else str(part) for part in value)
    return str(value)
