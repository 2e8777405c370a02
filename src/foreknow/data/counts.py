"""GroupCounts: how often each sensitive value occurs in each group, as sparse arrays.

It is what nearly every adversary needs of a release, and all of it. NumPy only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from inspect import getattr_static
from operator import attrgetter
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.data.arrays import IntArray, combine, count_pairs, ranges, row_sums
from foreknow.data.impossible.possible_values import EVERYBODY, Everybody, JointCells
from foreknow.data.labels.joint_labels import Bags, JointLabels
from foreknow.data.labels.labels import (
    GroupLabel,
    GroupLabels,
    Label,
    Labels,
    Part,
    in_order,
    is_label,
    is_missing,
    name_of_set,
    not_a_label,
)
from foreknow.errors import did_you_mean, refuse_other
from foreknow.needs import Lacks
from foreknow.wording import people_text
from foreknow_judge.errors import DataError, InputError, UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.grammar import Semantics as Semantics
from foreknow_judge.text import some

Kind = TypeVar("Kind", bound="GroupCounts")


@dataclass(frozen=True, eq=False, repr=False)
class GroupCounts:
    """Counts of sensitive values per group, as compressed sparse rows; immutable.

    The arrays are kept, not copied: do not write to them afterwards. Values that are equal in
    Python, such as 1, 1.0 and True, or 0.0 and -0.0, are one value, named by the first of them.

    Parameters
    ----------
    sizes : int64 array, shape (groups,)
        Number of people per group (under ``set`` and ``multiset`` not the number of rows).
    offsets : int64 array, shape (groups + 1,)
        The cells of group g are ``offsets[g]:offsets[g + 1]`` of `codes` and `counts`.
    codes : int64 array, shape (cells,)
        The value of each cell, as an index into `values`; strictly increasing within a group.
    counts : int64 array, shape (cells,)
        Number of occurrences of each cell's value, at least 1.
    values : sequence of hashable labels
        The sensitive values; each once, and none missing (None, NaN, NaT, NA).
    groups : sequence of labels, optional
        A name for each group; the default is 0, 1, ...
    semantics : {"single", "set", "multiset"}
        Whether a person has exactly one value, a set, or a bag of values.
    origin : int64 array, shape (groups,), optional
        The group of the release that each group is a part of, ascending, if further known columns
        divide those groups. None: they are not divided.
    possible : PossibleMembers or Everybody
        How many members of each group can have which values. By default, everybody can have each.

    Raises
    ------
    DataError
        If the arrays contradict each other, a group has no people, the counts of a group cannot
        come from its people, or a value is missing (give it a label, or drop it).

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cancer"]])
    >>> counts
    GroupCounts(2 groups, 5 people, 3 values, single)
    >>> counts.bag(0)
    {'AIDS': 1, 'Flu': 2}
    """

    sizes: IntArray
    offsets: IntArray
    codes: IntArray
    counts: IntArray
    values: Labels
    groups: Sequence[Label] | None = None
    semantics: Semantics = "single"
    origin: IntArray | None = None
    possible: Everybody = EVERYBODY

    def __post_init__(self) -> None:
        refuse_other("semantics is", self.semantics, get_args(Semantics), DataError)
        for name in ("sizes", "offsets", "codes", "counts"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        if not isinstance(self.values, Labels):
            object.__setattr__(self, "values", Labels(self.values))
        check_counts(self)

    # ---- building -------------------------------------------------------------------------

    @classmethod
    def from_bags(
        cls,
        bags: Iterable[Iterable[Label] | Mapping[Any, int]],
        *,
        groups: Sequence[Label] | None = None,
    ) -> GroupCounts:
        """Build counts from one bag of values per group, one value per person (``single``).

        Parameters
        ----------
        bags : iterable of iterables or of mappings value -> count
            The bag of each group.
        groups : sequence, optional
            A name for each group; the default is 0, 1, ...

        Examples
        --------
        >>> GroupCounts.from_bags([{"Flu": 2, "AIDS": 1}]).sizes
        array([3])
        """
        tallies = [tally_of(bag, g, groups) for g, bag in enumerate(bags)]
        sizes = [sum(tally.values()) for tally in tallies]
        return cls._from_tallies(tallies, sizes, groups, "single")

    @classmethod
    def from_people(
        cls,
        people: Iterable[Iterable[Iterable[Label]]],
        *,
        semantics: Semantics = "set",
        groups: Sequence[Label] | None = None,
    ) -> GroupCounts:
        """Build counts from groups of people, each person given as a set or bag of values.

        Parameters
        ----------
        people : iterable of groups; a group is an iterable of people
            A person is an iterable of values; it may be empty unless `semantics` is ``single``.
            No value may be missing (None, NaN, NaT, NA).
        semantics : {"single", "set", "multiset"}
            Under ``set``, a value that a person has twice is an error.
        groups : sequence, optional
            A name for each group; the default is 0, 1, ...

        Examples
        --------
        >>> GroupCounts.from_people([[{"Flu"}, {"Flu", "AIDS"}], [set()]], semantics="set").sizes
        array([2, 1])
        """
        tallies: list[Counter[Label]] = []
        sizes: list[int] = []
        refuse = _REFUSE_PERSON.get(semantics)
        # One tally (how often each value occurs) and one number of people for each group.
        for g, members in enumerate(people):
            tallies.append(Counter())
            sizes.append(0)
            for p, person in enumerate(members):
                person_name = f"person {p} of group {g}"
                if isinstance(person, (str, bytes, Mapping)) or not isinstance(person, Iterable):
                    what = "the text " if isinstance(person, str) else ""
                    raise DataError(
                        f"{person_name} is {what}{person!r}; give a set or list of values"
                    )
                values = labels_counted(person, person_name)
                if refuse is not None:
                    refuse(person_name, values)
                tallies[-1].update(values)
                sizes[-1] += 1
        return cls._from_tallies(tallies, sizes, groups, semantics)

    @classmethod
    def _from_tallies(
        cls,
        tallies: Sequence[Counter[Label]],
        sizes: Sequence[int],
        groups: Sequence[Label] | None,
        semantics: Semantics,
    ) -> GroupCounts:
        """Build counts from each group's tally (value: occurrences) and its number of people."""
        # All values of any group, each once.
        values = in_order(set().union(*tallies))
        refuse_values_written_alike(values)
        code_of = {value: code for code, value in enumerate(values)}
        codes: list[int] = []
        counts: list[int] = []
        for tally in tallies:
            # Codes must ascend within a group, as the arrays of a `GroupCounts` require.
            for value in sorted(tally, key=code_of.__getitem__):
                codes.append(code_of[value])
                counts.append(tally[value])
        return cls(
            sizes=whole(sizes, "people"),
            offsets=np.cumsum([0, *map(len, tallies)]),
            codes=whole(codes, "codes"),
            counts=whole(counts, "counts"),
            values=Labels(values),
            groups=groups,
            semantics=semantics,
        )

    @classmethod
    def from_pairs(
        cls,
        group_codes: NDArray[Any],
        value_codes: NDArray[Any],
        *,
        values: Sequence[Label],
        n_groups: int,
        groups: Sequence[Label] | None = None,
        weights: NDArray[Any] | None = None,
        sizes: NDArray[Any] | None = None,
        semantics: Semantics = "single",
    ) -> GroupCounts:
        """Build counts from one (group, value) pair of codes per row; each group must occur.

        Parameters
        ----------
        group_codes, value_codes : integer arrays, shape (rows,)
            The group and the value of each row, as codes from 0.
        values : sequence of labels
            The value of each code.
        n_groups : int
            The number of groups.
        groups : sequence of labels, optional
            A name for each group; the default is 0, 1, ...
        weights : integer array, shape (rows,), optional
            How often each pair counts; the default is once.
        sizes : integer array, shape (groups,), optional
            Number of people of each group; the default is the number of its values.
        semantics : {"single", "set", "multiset"}

        Raises
        ------
        DataError
            If codes are out of range, weights are below 1, or arrays contradict each other.

        Examples
        --------
        >>> counts = GroupCounts.from_pairs(
        ...     np.array([0, 0, 1]), np.array([1, 1, 0]), values=["Cold", "Flu"], n_groups=2
        ... )
        >>> counts.bag(0), counts.bag(1)
        ({'Flu': 2}, {'Cold': 1})
        """
        check_codes(group_codes, n_groups, "group")
        check_codes(value_codes, len(values), "value")
        if weights is not None:
            weights = whole(weights, "weights")
            if len(weights) and weights.min() < 1:
                raise DataError(f"weights must be at least 1, not {weights.min()}")
            check_total(weights, "occurrences")
        lengths = [len(group_codes), len(value_codes)]
        if weights is not None:
            lengths.append(len(weights))
        if len(set(lengths)) > 1:
            raise DataError(f"codes and weights must be of one length, not {lengths}")
        offsets, codes, counts = count_pairs(
            group_codes, value_codes, n_groups, len(values), weights
        )
        if sizes is None:
            # One value per person: a group has as many people as values.
            sizes = row_sums(counts, offsets)
        labels = values if isinstance(values, Labels) else Labels(values)
        return cls(sizes, offsets, codes, counts, values=labels, groups=groups, semantics=semantics)

    @classmethod
    def counted(
        cls,
        *arrays: IntArray,
        values: Labels,
        semantics: Semantics,
        groups: Sequence[Label] | None = None,
        origin: IntArray | None = None,
        possible: Everybody = EVERYBODY,
    ) -> GroupCounts:
        """Build counts without checks, from arrays that are known to be right.

        `arrays` are sizes, offsets, codes and counts, in this order, as in the class; they become
        read-only.
        """
        group_counts = object.__new__(cls)
        for name, array in zip(("sizes", "offsets", "codes", "counts"), arrays, strict=True):
            array.flags.writeable = False
            object.__setattr__(group_counts, name, array)
        set_fields(
            group_counts,
            values=values,
            groups=groups,
            semantics=semantics,
            origin=origin,
            possible=possible,
        )
        return group_counts

    def seen(self, sensitive: str | None = None, known: Sequence[str] = ()) -> GroupCounts:
        """Count one column of combinations, for an adversary who knows other columns of everybody.

        Counts of plain values are returned as they are: they have no other columns.

        Parameters
        ----------
        sensitive : str, optional
            The column that is counted; the default is the first.
        known : sequence of str
            Columns that the adversary knows; they divide groups. See `origin`.

        Raises
        ------
        DataError
            If there is no such column.
        """
        sight_counts: GroupCounts = self.values.seen_in(self, sensitive, known)
        return sight_counts

    def count_seen(
        self, combinations: JointLabels, sensitive: str, known: Sequence[str]
    ) -> GroupCounts:
        """Count one column of combinations, in groups that known columns divide; see `seen`.

        The values of these counts are combinations of values of several columns. A cell is a
        combination in a group, and a part is the people of a group with equal values in the known
        columns.
        """
        part_of_cell, group_of_part = self._divide_groups(combinations, known)
        n_parts = len(group_of_part)
        # Kept for `parts`.
        self.cache["parts", sensitive, tuple(known)] = part_of_cell
        # Each person has one combination, so the combinations of a part add up to its people.
        people = np.bincount(part_of_cell, self.counts, n_parts).astype(np.int64)
        code_of_joint, _ = combinations.columns[sensitive]
        codes, times = code_of_joint[self.codes], self.counts
        # Rules say which people cannot have which value. A rule on another column of the same row,
        # whose value is not known, must be followed jointly with the sensitive one.
        joint_cells: JointCells | None = None
        ruled_columns = combinations.ruled_beside(sensitive, known)
        if ruled_columns:
            codes_beside = {
                name: combinations.columns[name][0][self.codes] for name in ruled_columns
            }
            joint_cells = JointCells(part_of_cell, codes, codes_beside, times)
        possible = combinations.classes.possible_members(
            sensitive,
            group_of_row=part_of_cell,
            codes=self.codes,
            times=times,
            n_groups=n_parts,
            joint_cells=joint_cells,
        )
        held = combinations.held(sensitive)
        part_of_cell, codes, times = held.occurrences(part_of_cell, codes, times)
        return GroupCounts.counted(
            people,
            *count_pairs(part_of_cell, codes, n_parts, len(held.values), times),
            values=held.values,
            groups=None if known else self.groups,
            semantics=held.semantics,
            origin=group_of_part if known else None,
            possible=possible,
        )

    def _divide_groups(
        self, combinations: JointLabels, known: Sequence[str]
    ) -> tuple[NDArray[Any], IntArray]:
        """The part of each cell, as known columns divide groups into parts; and each part's group.

        Without known columns, the parts are the groups.
        """
        if not known:
            return self.cell_groups, np.arange(self.n_groups)
        # A part is a combination of a group and a value of each known column.
        code_columns, sizes = [self.cell_groups], [self.n_groups]
        for name in known:
            codes, labels = combinations.columns[name]
            code_columns.append(codes[self.codes])
            sizes.append(len(labels))
        part_of_cell, first_cells = combine(code_columns, sizes)
        return part_of_cell, self.cell_groups[first_cells]

    def parts(self, sensitive: str | None = None, known: Sequence[str] = ()) -> IntArray:
        """The part of each cell in the counts that `seen` returns, int64, shape (cells,).

        A cell is a combination of values in a group; a part is a group of `seen`, as known columns
        divide the groups of these counts.
        """
        self.seen(sensitive, known)
        key = "parts", sensitive or self.values.layout.main, tuple(known)
        # Where no known column divides the groups, the parts are the groups.
        part_of_cell: IntArray = self.cache.get(key, self.cell_groups)
        return part_of_cell

    def united(self, is_united: NDArray[np.bool_], values: Labels) -> GroupCounts:
        """Count some values as one value, which comes last.

        Under ``multiset`` the occurrences are added up, too: which person has an occurrence does
        not depend on its value, so those of a set count like those of one value.

        Parameters
        ----------
        is_united : bool array, shape (values,)
            True for the values that are counted as one.
        values : Labels
            The labels of the resulting values: the others, then the one.

        Raises
        ------
        UnsupportedError
            Under ``set``: nobody has a value twice, but somebody may have two of these.

        Examples
        --------
        >>> counts = GroupCounts.from_bags([["B20", "Z21", "Flu"], ["Flu"]])
        >>> is_united = np.array([value != "Flu" for value in counts.values])
        >>> counts.united(is_united, Labels(["Flu", "HIV"])).bag(0)
        {'Flu': 1, 'HIV': 2}
        """
        # The other values keep their order, and the united ones get the last code.
        code_among_others = np.cumsum(~is_united) - 1
        return self.recoded(np.where(is_united, len(values) - 1, code_among_others), values)

    def any_of(self, members: Iterable[Label]) -> tuple[GroupCounts, str]:
        """Count a set of values as one value.

        Parameters
        ----------
        members : iterable of labels
            The values of the set.

        Returns
        -------
        counts : GroupCounts
            The counts with the set as the last value.
        name : str
            The label of the set.

        Raises
        ------
        DataError
            If the set is empty, contains all values, or contains a value that no group has.

        Examples
        --------
        >>> counts, name = GroupCounts.from_bags(["xyz", "xz"]).any_of(["x", "y"])
        >>> name, counts.bag(0)
        ('x or y', {'z': 1, 'x or y': 2})
        """
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise DataError(f"any_of must be a list of sensitive values, such as [{members!r}]")
        labels = list(members)
        is_member = np.zeros(self.n_values, dtype=bool)
        is_member[[self.code(label) for label in labels]] = True
        # A limit on no value, or on all values, would say nothing.
        if not is_member.any() or is_member.all():
            quantifier = "every" if is_member.any() else "no"
            raise DataError(f"any_of names {quantifier} sensitive value; name some of them")
        # The name of the set must differ from the names of the values that stay.
        other_values = [self.values[code] for code in np.flatnonzero(~is_member).tolist()]
        name = name_of_set(labels, map(str, other_values))
        return self.united(is_member, Labels([*other_values, name])), name

    def recoded(self, new_codes: IntArray, values: Labels) -> GroupCounts:
        """Count values under new codes into `values`; several values may get one code.

        `new_codes` has the new code of each old one. Groups and their sizes stay.
        """
        refuse_sets(self.semantics)
        # Occurrences of values with one new code are added up, group by group.
        recoded_counts = GroupCounts.from_pairs(
            self.cell_groups,
            new_codes[self.codes],
            values=values,
            n_groups=self.n_groups,
            groups=self.groups,
            weights=self.counts,
            sizes=self.sizes,
            semantics=self.semantics,
        )
        possible = self.possible.recoded(new_codes, values)
        return replace(recoded_counts, origin=self.origin, possible=possible)

    # ---- whom it is about -----------------------------------------------------------------

    def as_kind(self, kind: type[Kind], **further_fields: Any) -> Kind:
        """The same counts, with their cached results, as another kind of counts."""
        kind_counts = object.__new__(kind)
        vars(kind_counts).update({**vars(self), **further_fields})
        return kind_counts

    def of_rows(self, schema: Any, sensitive: str) -> GroupCounts:
        """The counts with a schema (`RowCounts`), if it has rules about people; else these counts.

        Such rules say whose cases rows are, which households share a value, or what some people
        cannot have. `sensitive` is the column that is counted.
        """
        return _COUNTS_OF_ROWS[schema.unit].of(self, schema, sensitive)

    @property
    def by_policy(self) -> GroupCounts:
        """The counts without a schema, for a policy, which has its own."""
        return self

    # ---- looking --------------------------------------------------------------------------

    @property
    def units(self) -> IntArray:
        """The number of people of each group, or of different units where units are counted."""
        return self.sizes

    @property
    def of_exact_groups(self) -> bool:
        """True if labels of groups are values that people have."""
        return getattr(self.groups, "exact", False)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    @property
    def n_values(self) -> int:
        """The number of distinct sensitive values (some may occur in no group)."""
        return len(self.values)

    @cached_property
    def n_people(self) -> int:
        """The number of people over all groups."""
        return int(self.sizes.sum())

    @cached_property
    def cell_groups(self) -> IntArray:
        """The group of each cell, shape (cells,)."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.offsets))

    @cached_property
    def totals(self) -> IntArray:
        """The number of occurrences of each value over all groups, shape (values,)."""
        # Each partial sum is below 2**53, so the floats of bincount are exact.
        return np.bincount(self.codes, weights=self.counts, minlength=self.n_values).astype(
            np.int64
        )

    def code(self, value: Label) -> int:
        """The code of a value; raises `DataError` with a hint if there is no such value."""
        try:
            return self.values.codes[value]
        except (KeyError, TypeError):
            hint = did_you_mean(str(value), [str(v) for v in self.values[:1000]])
            raise DataError(f"no group contains the sensitive value {value!r}{hint}") from None

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns that group labels consist of; empty if groups have plain names."""
        columns: tuple[str, ...] = getattr(self.groups, "columns", ())
        return columns

    @property
    def group_parts(self) -> Sequence[Part]:
        """The distinct labels of each of `group_columns`, and the index of each group's label."""
        parts: Sequence[Part] = getattr(self.groups, "parts", ())
        return parts

    def group_label(self, group: int) -> Label:
        """The label of the group at a position."""
        label: Any = group if self.groups is None else self.groups[group]
        return GroupLabel(label, self.group_columns) if self.group_columns else label

    def bag(self, group: int) -> dict[Label, int]:
        """The counts of one group, by the label of the value."""
        cells = slice(self.offsets[group], self.offsets[group + 1])
        pairs = zip(self.codes[cells].tolist(), self.counts[cells].tolist(), strict=True)
        return {self.values[code]: count for code, count in pairs}

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """A cache of results about these counts."""
        return {}

    def top_sums(self, n_largest: int, groups: IntArray | None = None) -> IntArray:
        """The sum of the `n_largest` counts, or of all if fewer, in each group; shape (groups,).

        `groups` are the positions of the groups that are wanted; None: all.
        """
        n_largest = min(n_largest, self.n_values)
        chosen = slice(None) if groups is None else groups
        starts, ends = self.offsets[:-1][chosen], self.offsets[1:][chosen]
        # Counts descend within each group, so a group's largest ones are its first.
        running = self._running_descending
        return running[np.minimum(starts + n_largest, ends)] - running[starts]

    def fewest_leaving(self, first: int, n_known: int, times: Fraction) -> IntArray:
        """The least number of people who must leave each group so that no value is too common.

        A value is too common unless the values beyond the `first` commonest ones, less `n_known`
        people, occur more than `times` as often as the commonest value. If nothing else helps, all
        people leave. Shape (groups,).
        """
        # More known people than a group has make no difference, and large numbers could overflow.
        n_known = min(n_known, int(self.sizes.max(initial=0)))
        # Whole numbers of limited size, so that products below cannot overflow. Rounding `times`
        # down keeps the result a lower bound.
        denominator = min(times.denominator, _LARGEST_TERM)
        numerator = int(min(times, Fraction(_LARGEST_TERM)) * denominator)
        n_beyond = self.sizes - self.top_sums(first)
        fails = denominator * (n_beyond - n_known) <= numerator * self.top_sums(1)
        fewest = np.zeros(self.n_groups, dtype=np.int64)
        if fails.any():
            failing = self.take(np.flatnonzero(fails))
            most_staying = failing._most_staying(first, n_known, numerator, denominator)
            fewest[fails] = failing.sizes - most_staying
        return fewest

    def _most_staying(self, first: int, n_known: int, numerator: int, denominator: int) -> IntArray:
        """The most people who can stay in each group so that it no longer fails; shape (groups,).

        A group fails unless ``denominator * (people beyond the `first` values - n_known)`` is above
        ``numerator * largest count``; each of these groups does. People leave from the commonest
        values: counts above a cut are lowered to it. Newton's method finds the largest cut with
        which a group does not fail. The excess of the left side over the right is a concave
        function of the cut, so no step goes too far.
        """
        # The counts of each group, descending.
        counts, group = np.diff(self._running_descending), self.cell_groups
        starts = self.offsets[:-1]
        # Counts descend within a group, so a cell's rank is its distance from the group's start.
        is_beyond = np.arange(len(counts)) - starts[group] >= first
        # The cut begins at the largest count of each group, where nothing is lowered.
        cut, fails = self.top_sums(1), np.ones(self.n_groups, dtype=bool)
        while fails.any():
            cut_of_cell = cut[group]
            cells_beyond = np.where(is_beyond, np.minimum(counts, cut_of_cell), 0)
            n_beyond = np.add.reduceat(cells_beyond, starts)
            # A group fails while the right side is not below the left one.
            lack = numerator * cut - denominator * (n_beyond - n_known)
            fails = (lack >= 0) & (cut > 0)
            n_lowered = np.add.reduceat(is_beyond & (counts >= cut_of_cell), starts, dtype=np.int64)
            # Lowering the cut by 1 lowers the lack by `slope`; if that is not above 0, only a
            # cut at 0 is left, by which all people leave.
            slope = numerator - denominator * n_lowered
            # lack // slope + 1 is the least step that makes the lack negative.
            lower_cut = np.where(slope > 0, cut - lack // np.maximum(slope, 1) - 1, 0)
            cut = np.where(fails, np.maximum(lower_cut, 0), cut)
        return np.add.reduceat(np.minimum(counts, cut[group]), starts)

    @cached_property
    def _running_descending(self) -> IntArray:
        """Running total of all counts, largest first within each group; starts with 0."""
        n_levels = int(self.counts.max(initial=0)) + 1
        if self.n_groups * n_levels < 2**62:
            # Sorting one number per cell is faster than sorting by two keys: the group, then how
            # far the count is below the largest count of all.
            keys = self.cell_groups * n_levels
            keys += n_levels - 1 - self.counts
            is_narrow = self.n_groups * n_levels < 2**31
            keys = keys.astype(np.int32 if is_narrow else np.int64, copy=False)
            keys.sort()
            # The remainder of a key says how far the count is below the largest.
            descending = n_levels - 1 - keys % n_levels
        else:
            # The numbers would not fit into int64: sort by group, then by count.
            descending = self.counts[np.lexsort((-self.counts, self.cell_groups))]
        return np.concatenate(([0], np.cumsum(descending, dtype=np.int64)))

    def take(self, groups: NDArray[Any]) -> GroupCounts:
        """The counts of the groups at the given positions, in that order, or in a boolean mask."""
        positions = np.asarray(groups)
        # An empty list becomes an array of floats, which cannot index.
        if not positions.size:
            positions = positions.astype(np.int64)
        if positions.dtype == bool:
            if len(positions) != self.n_groups:
                raise DataError(
                    f"the mask is for {len(positions)} groups, there are {self.n_groups}"
                )
            positions = np.flatnonzero(positions)
        elif positions.size and (positions.min() < 0 or positions.max() >= self.n_groups):
            raise DataError(f"groups must lie in 0..{self.n_groups - 1}")
        cells, offsets = ranges(self.offsets[positions], self.offsets[positions + 1])
        names: Any = None if self.groups is None else [self.groups[g] for g in positions.tolist()]
        if self.group_columns:
            names = GroupLabels.of(names, self.group_columns)
        return GroupCounts(
            sizes=self.sizes[positions],
            offsets=offsets,
            codes=self.codes[cells],
            counts=self.counts[cells],
            values=self.values,
            groups=names,
            semantics=self.semantics,
            possible=self.possible.take(positions),
        )

    def merge(self, into: ArrayLike) -> GroupCounts:
        """Merge groups: group g becomes a part of the new group ``into[g]``.

        New groups are numbered from 0 and have no names; one without a member raises `DataError`.

        >>> GroupCounts.from_bags([["Flu"], ["Cold"], ["Flu"]]).merge([0, 0, 1]).sizes
        array([2, 1])
        """
        target = whole(into, "into")
        if len(target) != self.n_groups or (len(target) and target.min() < 0):
            raise DataError(f"into must name a new group, from 0, for each of {self.n_groups}")
        n_groups = int(target.max(initial=-1)) + 1
        # Each occurrence moves into the new group of its group; equal values are added up.
        merged = GroupCounts.from_pairs(
            target[self.cell_groups],
            self.codes,
            values=self.values,
            n_groups=n_groups,
            weights=self.counts,
            sizes=np.bincount(target, weights=self.sizes, minlength=n_groups).astype(np.int64),
            semantics=self.semantics,
        )
        set_fields(merged, possible=self.possible.merge(target, n_groups))
        return merged

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain lists, which JSON can hold if it can hold the labels."""
        return {
            "semantics": self.semantics,
            "values": list(self.values),
            "groups": None if self.groups is None else list(self.groups),
            "sizes": self.sizes.tolist(),
            "offsets": self.offsets.tolist(),
            "codes": self.codes.tolist(),
            "counts": self.counts.tolist(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays come back writable from a pickle; making the counts anew seals them.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        """True for equal counts of the same values; how groups are named does not matter."""
        if not isinstance(other, GroupCounts):
            return NotImplemented
        arrays = attrgetter("sizes", "offsets", "codes", "counts")
        kind = attrgetter("semantics", "values")
        return kind(self) == kind(other) and all(map(np.array_equal, arrays(self), arrays(other)))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"GroupCounts({self.n_groups} groups, {self.n_people} people, "
            f"{self.n_values} values, {self.semantics})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"


@dataclass(frozen=True, eq=False, repr=False)
class RowCounts(GroupCounts):
    """Counts of rows, with a schema whose rules about people the counts do not follow.

    Attributes
    ----------
    schema : Schema
        It says whose cases rows are, which households share a value, or what some people cannot
        have.
    sensitive : str
        The column that is counted.
    """

    schema: Any = None  # a Schema; its module imports this one
    sensitive: str | None = None

    @classmethod
    def of(cls, counts: GroupCounts, schema: Any, sensitive: str) -> GroupCounts:
        """Counts of people with their schema, if it has rules that they do not follow."""
        has_rules = any(schema.rules_of_people(sensitive).values())
        return counts.as_kind(cls, schema=schema, sensitive=sensitive) if has_rules else counts

    @property
    def by_policy(self) -> GroupCounts:
        """The counts without a schema, for a policy, which has its own."""
        plain_counts = self.as_kind(GroupCounts)
        del vars(plain_counts)["schema"], vars(plain_counts)["sensitive"]
        return plain_counts

    def rules_of_people(self) -> Lacks:
        """Rules of the schema about people that these counts do not follow."""
        return {} if self.schema is None else self.schema.rules_of_people(self.sensitive)

    def recoded(self, new_codes: IntArray, values: Labels) -> GroupCounts:
        """Count values under new codes into `values`; several values may get one code."""
        return self._with_schema(super().recoded(new_codes, values))

    def take(self, groups: NDArray[Any]) -> GroupCounts:
        """Only the given groups (positions, or a boolean mask), in that order."""
        return self._with_schema(super().take(groups))

    def merge(self, into: ArrayLike) -> GroupCounts:
        """Unite groups: group g goes into the new group ``into[g]``; codes from 0, none empty."""
        return self._with_schema(super().merge(into))

    def _with_schema(self, counts: GroupCounts) -> GroupCounts:
        """Other counts, with the schema and the column of these."""
        return counts.as_kind(type(self), schema=self.schema, sensitive=self.sensitive)


class CaseCounts(RowCounts):
    """Counts of cases, which keep their schema: it says whose cases rows are."""

    @classmethod
    def of(cls, counts: GroupCounts, schema: Any, sensitive: str) -> GroupCounts:
        """Counts of cases with their schema."""
        return counts.as_kind(cls, schema=schema, sensitive=sensitive)

    def seen(self, sensitive: str | None = None, known: Sequence[str] = ()) -> GroupCounts:
        """Count one column of combinations; see `GroupCounts.seen`."""
        sight_counts = super().seen(sensitive, known)
        if sight_counts is self:
            return self
        return sight_counts.of_rows(self.schema, sensitive or self.schema.sensitive)


# The counts of what rows are, by the unit of a schema.
_COUNTS_OF_ROWS: dict[str, type[RowCounts]] = {"person": RowCounts, "row": CaseCounts}


class UnitCounts(RowCounts):
    """Counts of the rows of each unit, such as a household; values are the numbers of units."""

    @property
    def by_policy(self) -> GroupCounts:
        """The same counts, to be described by a policy."""
        return self.as_kind(UnitCounts, schema=None)

    @property
    def units(self) -> IntArray:
        """How many different units, such as households, each group has; shape (groups,).

        The value 0 stands for all units with a single row, so each of its occurrences is a unit;
        any other value is the number of one unit, however many rows of it the group has.
        """
        times = np.where(self.codes == 0, self.counts, 1)
        return np.bincount(self.cell_groups, times, self.n_groups).astype(np.int64)


def counts_of(release: Any) -> GroupCounts:
    """The counts of a release; counts themselves are returned. `InputError` for anything else."""
    counts = release
    if not isinstance(release, GroupCounts) and getattr_static(release, "counts", None) is not None:
        # `getattr_static` looks for `counts` without counting, so an error of counting is raised
        # here and is not taken for a missing attribute.
        counts = release.counts
    if not isinstance(counts, GroupCounts):
        raise InputError(
            f"expected a Release or a GroupCounts, not {type(release).__name__}; of a table, make "
            "one by Release.from_generalized(table, quasi_identifiers=[...], sensitive=...) or "
            "Release.from_groups(table, group=..., sensitive=...), of Microdata by "
            "microdata.counts(groups)"
        )
    return counts


# Of a fraction by which people are counted in whole numbers, no term is larger.
_LARGEST_TERM = 1 << 16
_MOST_PEOPLE = 2**53  # above it, a float no longer holds every whole number


def check_counts(group_counts: GroupCounts) -> None:
    """Raise `DataError` if the arrays contradict each other or the semantics."""
    missing = group_counts.values.first_missing
    if missing is not None:
        raise DataError(f"the value label {missing} is {not_a_label(group_counts.values[missing])}")
    sizes, offsets = group_counts.sizes, group_counts.offsets
    codes, counts = group_counts.codes, group_counts.counts
    if len(offsets) != len(sizes) + 1 or offsets[0] != 0 or offsets[-1] != len(codes):
        raise DataError(
            f"offsets must have {len(sizes) + 1} entries from 0 to {len(codes)} "
            f"for {len(sizes)} groups and {len(codes)} cells"
        )
    if len(counts) != len(codes):
        raise DataError(f"{len(codes)} codes but {len(counts)} counts")
    if np.any(offsets[1:] < offsets[:-1]):
        raise DataError("offsets must not decrease")
    if group_counts.groups is not None and len(group_counts.groups) != len(sizes):
        raise DataError(f"{len(sizes)} groups but {len(group_counts.groups)} group labels")
    if len(sizes) and sizes.min() < 1:
        g = int(np.argmin(sizes))
        raise DataError(f"group {group_counts.group_label(g)!r} has {int(sizes[g])} people, not 1+")
    if len(codes):
        if codes.min() < 0 or codes.max() >= len(group_counts.values):
            raise DataError(f"value codes must lie in 0..{len(group_counts.values) - 1}")
        if counts.min() < 1:
            raise DataError("counts must be at least 1; leave a value out where it is absent")
        # A code may be smaller than the one before it only where a new group begins.
        is_rising = codes[1:] > codes[:-1]
        starts = offsets[1:-1]
        is_rising[starts[(starts > 0) & (starts < len(codes))] - 1] = True
        if not is_rising.all():
            raise DataError("value codes must increase strictly within each group")
    check_total(sizes, "people")
    check_total(counts, "occurrences")
    check_semantics = _CHECKS.get(group_counts.semantics)
    if check_semantics is not None:
        check_semantics(group_counts)


def _check_single(group_counts: GroupCounts) -> None:
    """Raise `DataError` if a group has not as many values as people, one each."""
    n_values = row_sums(group_counts.counts, group_counts.offsets)
    wrong = np.flatnonzero(n_values != group_counts.sizes)
    if len(wrong):
        g = int(wrong[0])
        raise DataError(
            f"group {group_counts.group_label(g)!r} has {people_text(int(group_counts.sizes[g]))} "
            f"but {some(int(n_values[g]), 'value', 'values')}; under 'single' everyone has exactly "
            "one"
        )


def _check_set(group_counts: GroupCounts) -> None:
    """Raise `DataError` if a value occurs more often than a group has people.

    Under ``set`` nobody has a value twice.
    """
    wrong = np.flatnonzero(group_counts.counts > group_counts.sizes[group_counts.cell_groups])
    if len(wrong):
        cell = int(wrong[0])
        g = int(group_counts.cell_groups[cell])
        raise DataError(
            f"value {group_counts.values[int(group_counts.codes[cell])]!r} occurs "
            f"{some(int(group_counts.counts[cell]), 'time', 'times')} among "
            f"{people_text(int(group_counts.sizes[g]))} of group {group_counts.group_label(g)!r}; "
            "under 'set' nobody has a value twice"
        )


_CHECKS = {"single": _check_single, "set": _check_set}


def _refuse_not_one(person_name: str, values: Counter[Label]) -> None:
    """Raise `DataError` if a person, given by their tally of values, has not just one."""
    if values.total() != 1:
        raise DataError(
            f"{person_name} has {values.total()} values; under 'single' everyone has exactly one"
        )


def _refuse_twice(person_name: str, values: Counter[Label]) -> None:
    """Raise `DataError` if a person, given by their tally of values, has a value twice."""
    if values.total() > len(values):
        raise DataError(f"{person_name} has a value twice; use semantics='multiset'")


_REFUSE_PERSON = {"single": _refuse_not_one, "set": _refuse_twice}


def whole(array: Any, name: str) -> IntArray:
    """A flat array of whole numbers as read-only int64, not copied if it is int64 already.

    Raises `DataError` for other numbers, and for an array that is not flat; `name` is in the
    message.
    """
    try:
        numbers = np.asarray(array)
        # Python's large integers make an array of objects, which may fit into int64 all the same.
        if numbers.dtype == object:
            numbers = numbers.astype(np.int64)
    except (OverflowError, TypeError, ValueError):
        raise DataError(f"{name} must hold whole numbers below 2**63") from None
    if numbers.ndim != 1:
        raise DataError(f"{name} must be a flat array, not of shape {numbers.shape}")
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise DataError(f"{name} must hold whole numbers, not {numbers.dtype}")
    if numbers.dtype == np.uint64 and numbers.size and numbers.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name} holds a number above 2**63 - 1")
    # Only the view is read-only: the caller's array stays writable.
    view = numbers.astype(np.int64, copy=False).view()
    view.flags.writeable = False
    return view


def check_codes(codes: NDArray[Any], size: int, what: str) -> None:
    """Raise `DataError` for codes outside of 0..size - 1."""
    if codes.dtype.kind not in "iu" and codes.size:
        raise DataError(f"{what} codes must be whole numbers, not {codes.dtype}")
    if codes.size and (codes.min() < 0 or codes.max() >= size):
        raise DataError(f"{what} codes must lie in 0..{size - 1}")


def check_total(amounts: IntArray, what: str) -> None:
    """Raise `DataError` for amounts whose sum a float cannot hold."""
    # NumPy's sum of floats cannot overflow; near the limit Python adds up exactly.
    rough = float(amounts.sum(dtype=np.float64))
    if rough > 2**60 or (rough > 2**52 and sum(amounts.tolist()) > _MOST_PEOPLE):
        raise DataError(f"{rough:.3g} {what} in all: more than 2**53 cannot be counted")


def bags_of(
    people: NDArray[Any],
    codes: NDArray[Any],
    n_people: int,
    values: Labels,
    semantics: Semantics,
) -> tuple[IntArray, Bags]:
    """Number the distinct sets or bags of values that people have.

    People with equal bags (each value equally often) have one number.

    Parameters
    ----------
    people, codes : integer arrays, shape (occurrences,)
        Who has which value.
    n_people : int
    values : Labels
        The value of each code.
    semantics : {"set", "multiset"}

    Returns
    -------
    bag_of_person : int64 array, shape (people,)
        The number of each person's bag.
    bags : Bags
        What is in each.
    """
    offsets, cell_codes, times = count_pairs(people, codes, n_people, len(values))
    # A person's cells are their distinct values, ascending. Round by round, people are numbered by
    # their number so far and their next value with its times; 0 stands for no further value.
    n_cells, base = np.diff(offsets), int(times.max(initial=0)) + 1
    number: NDArray[Any] = np.zeros(n_people, dtype=np.int64)
    for position in range(int(n_cells.max(initial=0))):
        has_more = n_cells > position
        cells = offsets[:-1][has_more] + position
        key = np.zeros(n_people, dtype=np.int64)
        key[has_more] = (cell_codes[cells] + 1) * base + times[cells]
        number, _ = combine([number, key], [int(number.max()) + 1, (len(values) + 1) * base])
    # The cells of the first person with each bag are those of the bag.
    _, first_people, bag_of_person = np.unique(number, return_index=True, return_inverse=True)
    cells, ends = ranges(offsets[first_people], offsets[first_people + 1])
    bags = Bags(
        offsets=ends,
        codes=cell_codes[cells],
        times=times[cells],
        values=values,
        semantics=semantics,
    )
    return bag_of_person.reshape(-1), bags


def refuse_sets(semantics: Semantics) -> None:
    """Raise `UnsupportedError` if several values are to be counted as one under ``set``.

    A person may have two of these values, each once, so their counts cannot be added up to people.
    """
    if semantics == "set":
        raise UnsupportedError(
            "any_of and at_level are unsupported under semantics 'set': a person may have several "
            "values of the set, so counts of its values do not say how many people have one; give "
            "each value a limit of its own, or publish with one value per person"
        )


def tally_of(
    bag: Iterable[Label] | Mapping[Any, int], g: int, groups: Sequence[Label] | None
) -> Counter[Label]:
    """How often each value is in a bag: an iterable of values, or a mapping to their counts.

    Raises `DataError` for a value that is missing or cannot be counted; its message names group
    `g` by its label among `groups`, if it has one.
    """
    group = f"group {g}" if groups is None or g >= len(groups) else f"group {groups[g]!r}"
    if not isinstance(bag, Iterable):
        raise DataError(f"{group} is {bag!r}; give the values of its people as a list")
    if not isinstance(bag, Mapping):
        return labels_counted(bag, group)
    tally: Counter[Label] = Counter()
    for value, count in bag.items():
        if is_missing(value):
            raise DataError(f"{group}: a value is {not_a_label(value)}")
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
            raise DataError(f"{group}: the count of {value!r} is {count!r}, not whole")
        tally[value] = int(count)  # sums of NumPy's integers could overflow
    return tally


def labels_counted(labels: Iterable[Label], whose: str) -> Counter[Label]:
    """Count labels; raise `DataError` for one that is missing or cannot be hashed.

    `whose` names the group or person in the message.
    """
    values = list(labels)
    try:
        tally = Counter(values)
        if not any(map(is_missing, tally)):
            return tally
    except TypeError:  # a label cannot be hashed; which one is said below
        pass
    position = next(i for i, v in enumerate(values) if is_missing(v) or not is_label(v))
    raise DataError(f"{whose}: value {position} is {not_a_label(values[position])}")


def refuse_values_written_alike(values: Iterable[Any]) -> None:
    """Refuse values that are different to Python, and alike where they are written: 1 and "1"."""
    first_of_text: dict[bytes, Any] = {}
    for value in values:
        # As files can hold it: half characters are written out.
        text = str(value).encode("utf-8", "backslashreplace")
        first = first_of_text.setdefault(text, value)
        if first != value:
            raise DataError(
                f"{first!r} and {value!r} are written alike, so a reader takes them for one value: "
                "give them other names, or one type"
            )
