"""How many people of each group have each value, as columns of whole numbers.

Texts are represented by their places in sorted order, a missing text first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Group: TypeAlias = tuple[str | None, ...]
Signature: TypeAlias = tuple[str | None, ...]  # what some columns say of a person
Bag: TypeAlias = dict[str, int]
Ints: TypeAlias = NDArray[Any]  # whole numbers

# If keys span at most this many times the rows, a table of flags is used instead of sorting.
_ROOM = 32
_MOST = 1 << 62


class Measured(NamedTuple):
    """The result of a gauge."""

    amount: Fraction | None
    group: Group
    holds: bool
    each: Mapping[str, Fraction] = {}  # by setting, if the criterion has several


class Column(NamedTuple):
    """A column: its distinct texts in order, and for each row the place of its text among them."""

    texts: Sequence[str | None]
    codes: Ints

    @property
    def lacks(self) -> bool:
        """True if the text of some row is missing; the missing text is the first."""
        return None in self.texts[:1]

    def at(self, row: int) -> str | None:
        """The text of a row."""
        return self.texts[int(self.codes[row])]

    def to_list(self) -> list[str | None]:
        """The text of each row."""
        return [self.texts[code] for code in self.codes.tolist()]

    def take(self, rows: Ints) -> Column:
        """The column for some of its rows."""
        return Column(self.texts, self.codes[rows])

    @classmethod
    def of(cls, texts: Sequence[str | None], codes: Ints) -> Column:
        """A column of texts that may be in any order and may repeat."""
        order = sorted(text for text in dict.fromkeys(texts) if text is not None)
        distinct_texts = [*[None] * (None in texts), *order]
        position_of = {text: i for i, text in enumerate(distinct_texts)}
        return cls(distinct_texts, np.array([position_of[text] for text in texts], np.int32)[codes])

    @classmethod
    def stacked(cls, columns: Sequence[Column]) -> Column:
        """One column with the rows of all columns, one column after the other."""
        # All texts are put into one list; a code there is higher by the number of texts before.
        starts = np.cumsum([0, *(len(column.texts) for column in columns)]).tolist()
        codes = [
            column.codes.astype(np.int64) + start
            for column, start in zip(columns, starts, strict=False)
        ]
        return cls.of([*chain(*(column.texts for column in columns))], np.concatenate(codes))


class DistinctRows(NamedTuple):
    """Rows of some columns, and how many rows of the table each of them stands for."""

    groups: Mapping[str, Column]  # the columns that make groups, with an entry for each group
    of_group: Ints  # of each row, the number of its group
    beside: Mapping[str, Column]  # the other columns, with an entry for each row
    times: Ints  # how many rows of the table each row stands for

    @classmethod
    def of(
        cls, groups: Mapping[str, Column], columns_beside: Mapping[str, Column], times: Ints
    ) -> DistinctRows:
        """The same rows, sorted, with the groups that they are in.

        All columns have an entry for each row: those that make the groups (`groups`), and the
        others. `times` says how many rows of the table each row stands for.
        """
        key, _ = _key([column.codes for column in groups.values()])  # one number for each group
        order = _order(*_key([key, *(column.codes for column in columns_beside.values())]))
        # Sorted once by group and then by the other columns, so that nothing later has to.
        columns_beside = {name: column.take(order) for name, column in columns_beside.items()}
        times = times[order]
        first, of_group = distinct(key[order])  # the first row of each group; the group of each row
        labels = {name: column.take(order[first]) for name, column in groups.items()}
        return cls(labels, of_group.astype(np.int32), columns_beside, times)

    def column(self, name: str) -> Column:
        """A column by its name."""
        return self.beside[name] if name in self.beside else self.groups[name].take(self.of_group)

    def group(self, row: int) -> Group:
        """The labels of the group that a row is in."""
        return tuple(column.at(self.of_group[row]) for column in self.groups.values())

    def counts(self, known_columns: Sequence[str], values: Column, counts: Ints) -> GroupBags:
        """How many people of each group have each value.

        `values` and `counts` have an entry for each row: a value, and how many people have it.
        Groups are divided by the `known_columns`, so people of a group have equal labels there.
        """
        labels, of_group = list(self.groups.values()), self.of_group
        divided = [self.column(name) for name in known_columns]
        if known_columns:
            # The first row of each new group gives its labels.
            first, of_group = distinct(of_group, *(column.codes for column in divided))
            labels = [column.take(self.of_group[first]) for column in labels]
            labels += [column.take(first) for column in divided]
        return GroupBags(labels, values.texts, of_group, values.codes, counts)


class GroupBags(Mapping[Group, tuple[int, Bag]]):
    """The people and the bag of values of each group, in an order independent of the engine.

    A cell is a value that occurs in a group, with its count; `codes`, `counts` and `of_group` have
    an entry for each cell, and `starts` says where the cells of a group begin.

    Groups are sorted by the texts of their columns, a missing text first, and so are the values
    of a group. It is also a mapping from each group to its people and bag, one group at a time.
    """

    def __init__(
        self,
        labels: Sequence[Column],
        names: Sequence[Any],
        of_group: Ints,
        codes: Ints,
        counts: Ints,
    ) -> None:
        """Sort the cells (values of groups) by group and value, and find where each group begins.

        `labels` are the group columns, with a row for each group; `names` are all values. Each cell
        has a number of its group, a position of its value in `names` and a count of people. Cells
        may come in any order; those of the same group and value are added up.
        """
        self.labels, self.names = labels, names
        first, inverse = distinct(of_group.astype(np.int64) * len(names) + codes)
        group = of_group[first]
        self.codes = codes[first]  # of each cell, the position of its value in `names`
        self.counts = counts[first]
        if len(first) < len(counts):  # some cells came more than once
            self.counts = sums_at(inverse, counts, len(first))
        n_groups = len(labels[0].codes)
        # the first cell of each group, and at the end the number of cells
        self.starts = np.append(0, np.cumsum(np.bincount(group, minlength=n_groups)))
        self.people = self.sum_by_group(self.counts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Group]:
        return map(self.group, range(len(self)))

    def __getitem__(self, group: Group) -> tuple[int, Bag]:
        index = self._places[group]
        return int(self.people[index]), self.bag(index)

    @cached_property
    def _places(self) -> dict[Group, int]:
        return {group: index for index, group in enumerate(self)}

    @cached_property
    def of_group(self) -> Ints:
        """The group of each cell."""
        return np.repeat(np.arange(len(self)), self.n_values)

    @property
    def n_values(self) -> Ints:
        """How many different values each group has."""
        return np.diff(self.starts)

    @cached_property
    def sorted_counts(self) -> Ints:
        """The counts of the cells, sorted within each group from highest to lowest.

        A cell is a value of a group; its count says how many people have it.
        """
        highest_count = self.counts.max(initial=0)
        # One number says both the group and the count, if no such number overflows. To sort plain
        # numbers is faster than to sort cells by two columns, and they are nearly in order.
        if len(self) * (int(highest_count) + 1) < _MOST:
            keys = self.of_group * (highest_count + 1) + (highest_count - self.counts)
            keys.sort(kind="stable")
            return np.asarray(highest_count - keys % (highest_count + 1))
        return self.counts[np.lexsort((-self.counts, self.of_group))]

    def sum_by_group(self, of_cell: Any) -> Any:
        """For each group, the sum of `of_cell` over its cells."""
        return self._joined(np.add, of_cell)

    def max_by_group(self, of_cell: Any) -> Any:
        """For each group, the maximum of `of_cell` over its cells; 0 without cells."""
        return self._joined(np.maximum, of_cell)

    def _joined(self, how: np.ufunc, of_cell: Any) -> Any:
        results = np.zeros(len(self), of_cell.dtype)
        has_cells = self.n_values > 0
        if has_cells.any():
            results[has_cells] = how.reduceat(of_cell, self.starts[:-1][has_cells])
        return results

    def top_sum(self, n_values: int) -> Ints:
        """For each group, how many people have one of its `n_values` most frequent values."""
        sums = np.concatenate([[0], np.cumsum(self.sorted_counts)])
        first = self.starts[:-1]
        return np.asarray(sums[first + np.minimum(self.n_values, n_values)] - sums[first])

    def count_at_rank(self, rank: int) -> Ints:
        """For each group, the count of its value of rank `rank`, from 0; 0 if it has none."""
        if not len(self.sorted_counts):
            return np.zeros(len(self), np.int64)
        cells = np.minimum(self.starts[:-1] + rank, len(self.sorted_counts) - 1)
        return np.where(rank < self.n_values, self.sorted_counts[cells], 0)

    def group(self, index: int) -> Group:
        """The labels of a group."""
        return tuple(column.at(index) for column in self.labels)

    def bag(self, index: int) -> Bag:
        """How many people of a group have each value."""
        return {self.names[code]: count for code, count in self.cells(index)}

    def cells(self, index: int) -> list[tuple[int, int]]:
        """How many people of a group have each value, by the place of the value in `names`."""
        span = slice(int(self.starts[index]), int(self.starts[index + 1]))
        return list(zip(self.codes[span].tolist(), self.counts[span].tolist(), strict=True))

    def shape(self, index: int) -> tuple[int, ...]:
        """The counts of the values of a group, highest first."""
        return tuple(self.sorted_counts[self.starts[index] : self.starts[index + 1]].tolist())

    @cached_property
    def totals(self) -> Ints:
        """How many people have each value, over all groups."""
        return sums_at(self.codes, self.counts, len(self.names))

    @property
    def holders(self) -> dict[Any, int]:
        """How many people have each value that somebody has, in order of the values."""
        people = zip(self.names, self.totals.tolist(), strict=True)
        return {value: n_holders for value, n_holders in people if n_holders}

    def merged(self, one_of: Mapping[str, str]) -> GroupBags:
        """The same counts with values merged; `one_of` gives the new name of each."""
        merged = Column.of([one_of.get(name, name) for name in self.names], self.codes)
        groups = GroupBags(self.labels, merged.texts, self.of_group, merged.codes, self.counts)
        groups.people = self.people
        return groups


def sums_at(positions: Ints, amounts: Ints, n_positions: int) -> Ints:
    """For each of `n_positions` positions, the sum of the amounts whose position it is."""
    sums = np.zeros(n_positions, np.int64)
    np.add.at(sums, positions, amounts)
    return sums


def distinct(*columns: Ints) -> tuple[Ints, Ints]:
    """The first row of each kind of equal rows, kinds in order, and the kind of each row.

    The columns hold whole numbers from 0, an entry for each row. Kinds are numbered from 0 in the
    order of their rows.

    >>> first, sort = distinct(np.array([1, 0, 1, 1]), np.array([5, 7, 5, 0]))
    >>> first.tolist(), sort.tolist()
    ([1, 3, 0], [2, 0, 2, 1])
    """
    key, span = _key(columns)  # equal rows have equal numbers, all below `span`
    new = np.ones(len(key), bool)
    if (key[1:] >= key[:-1]).all():  # in order already: where the number changes, a kind begins
        np.not_equal(key[1:], key[:-1], out=new[1:])
        return np.flatnonzero(new), np.cumsum(new) - 1
    if span > _room(key):  # too many numbers for a table of flags: sort the rows
        order = _order(key, span)
        np.not_equal(key[order[1:]], key[order[:-1]], out=new[1:])
        kind_of_row: Ints = np.empty(len(key), np.int64)
        kind_of_row[order] = np.cumsum(new) - 1
        return order[new], kind_of_row
    kind, n_kinds = _ranked(key, span)
    first = np.empty(n_kinds, np.int64)
    # Written from the last row to the first, so that the first row of each kind stays.
    first[kind[::-1]] = np.arange(len(key) - 1, -1, -1)
    return first, kind


def _room(key: Ints) -> int:
    """How many entries a lookup table for these keys may have."""
    return _ROOM * len(key) + 1024


def _key(columns: Sequence[Ints]) -> tuple[Ints, int]:
    """A whole number for each row, in the order of rows; and a number that is above all of them.

    Rows are ordered by the first column, then by the second, and so on; equal rows have one number.
    The columns are read like digits of a number, the first column as the highest digit.
    """
    key, span = columns[0].astype(np.int64), int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        column_span = int(column.max(initial=0)) + 1
        # Replace numbers by their ranks, which are smaller, while a table of flags can find these.
        if span * column_span > _room(key) >= span > 1:
            key, span = _ranked(key, span)
        # The next step would overflow: ranks do not, since there are no more of them than rows.
        if span * column_span >= _MOST:
            (key, span), (column, column_span) = _ranked(key, span), _ranked(column, column_span)
        key, span = key * column_span + column, span * column_span
    return key, span


def _order(key: Ints, span: int) -> Ints:
    """The positions that sort `key`, whole numbers below `span`; equal ones keep their order."""
    if span * len(key) < _MOST:  # with positions as last digits, none are equal: any sort will do
        return np.sort(key * len(key) + np.arange(len(key))) % len(key)
    return np.argsort(key, kind="stable")


def _ranked(numbers: Ints, span: int) -> tuple[Ints, int]:
    """The rank of each number, all of which are below `span`, and how many ranks there are.

    Equal numbers have equal ranks, from 0. A table has a bit for each number up to `span`, set
    where it occurs, in words of 64 bits. So the rank is the number of bits that are set before: in
    the words before, and in the word itself.

        numbers  65 3 65 70     words  0001000...   0100001...     ranks  1 0 1 2
    """
    if span > _room(numbers):  # the table would be too large: sort instead
        distinct_numbers, ranks = np.unique(numbers, return_inverse=True)
        return ranks, len(distinct_numbers)
    occurs = np.zeros(-(-span // 64) * 64, bool)  # as many bits as fill whole words
    occurs[numbers] = True
    words = np.packbits(occurs, bitorder="little").view("<u8")
    up_to_word = np.cumsum(np.bitwise_count(words), dtype=np.int64)  # set bits, with its own
    word, bit = numbers >> 6, (numbers & 63).astype(np.uint8)
    ranks = up_to_word[word]
    # Take off the bits of the same word for the number itself and for higher numbers.
    ranks -= np.bitwise_count(words[word] >> bit)
    return ranks, int(up_to_word[-1])


def highest(above: Ints, below: Ints) -> tuple[Fraction, int]:
    """The highest ratio above / below of any row, as a fraction, and the first row that has it.

    Ratios are compared exactly, by products of whole numbers; equal rows are compared once.
    """
    rows = (
        distinct(above, below)[0] if above.dtype == below.dtype == np.int64 else range(len(above))
    )
    top, bottom, best_row = 0, 1, len(above)
    for row in rows:
        numerator, denominator = int(above[row]), int(below[row])
        # The gap is above 0 where this ratio is above the best one so far, top / bottom.
        gap = numerator * bottom - top * denominator
        if gap > 0 or (gap == 0 and row < best_row):
            top, bottom, best_row = numerator, denominator, int(row)
    return Fraction(top, bottom), best_row


def wide(numbers: Ints, limit: int) -> Ints:
    """The same whole numbers in a type in which results up to `limit` do not overflow."""
    return numbers.astype(np.int64 if limit < _MOST else object)
