"""GroupCounts: how often each sensitive value occurs in each group, as sparse arrays.

It is what nearly every adversary needs of a release, and all of it. NumPy only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.counts_checks import (
    check_codes,
    check_counts,
    check_total,
    tally_of,
    values_of,
    whole,
)
from foreknow.errors import DataError, did_you_mean
from foreknow.labels import Label, Labels, in_order
from foreknow.sparse import IntArray, count_pairs, ranges, row_sums

Semantics: TypeAlias = Literal["single", "set", "multiset"]


@dataclass(frozen=True, eq=False, repr=False)
class GroupCounts:
    """Counts of sensitive values per group, as compressed sparse rows; immutable.

    Parameters
    ----------
    sizes : int64 array, shape (groups,)
        People per group (under ``set`` and ``multiset`` not the same as rows).
    offsets : int64 array, shape (groups + 1,)
        Cells of group g are ``offsets[g]:offsets[g + 1]`` of `codes` and `counts`.
    codes : int64 array, shape (cells,)
        Index into `values`; strictly increasing within a group.
    counts : int64 array, shape (cells,)
        Occurrences, at least 1.
    values : sequence of hashable labels
        The sensitive values; each once, and none missing (None, NaN, NaT, NA).
    groups : sequence of labels, optional
        A name for each group; positions 0, 1, ... when left out.
    semantics : {"single", "set", "multiset"}
        Whether a person has exactly one value, a set, or a bag of values.

    The arrays are kept, not copied: do not write to them afterwards. Values are the same where
    Python says that they are equal, such as 1, 1.0 and True, or 0.0 and -0.0; the first names them.

    Raises
    ------
    DataError
        If the arrays contradict each other, a group has no people, the counts of a group cannot
        come from its people, or a value is missing: give it a label, or drop it.

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

    def __post_init__(self) -> None:
        if self.semantics not in get_args(Semantics):
            known = get_args(Semantics)
            raise DataError(
                f"semantics {self.semantics!r} is unknown{did_you_mean(str(self.semantics), known)}"
            )
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
        """Build from one bag of values per group, one value per person (``single``).

        Parameters
        ----------
        bags : iterable of iterables or of mappings value -> count
            The bag of each group.
        groups : sequence, optional
            A name for each group.

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
        """Build from groups of people, each person given as a set or bag of values.

        Parameters
        ----------
        people : iterable of groups; a group is an iterable of people
            A person is an iterable of values; it may be empty unless `semantics` is ``single``.
            No value is missing (None, NaN, NaT, NA).
        semantics : {"single", "set", "multiset"}
            Under ``set`` a repeated value of one person is an error.
        groups : sequence, optional
            A name for each group.

        Examples
        --------
        >>> GroupCounts.from_people([[{"Flu"}, {"Flu", "AIDS"}], [set()]], semantics="set").sizes
        array([2, 1])
        """
        tallies: list[Counter[Label]] = []
        sizes: list[int] = []
        for g, members in enumerate(people):
            tally: Counter[Label] = Counter()
            size = 0
            for p, person in enumerate(members):
                own = values_of(person, f"person {p} of group {g}", semantics)
                if semantics == "single" and len(own) != 1:
                    raise DataError(
                        f"person {p} of group {g} has {len(own)} values; under 'single' "
                        "everyone has exactly one"
                    )
                if semantics == "set" and len(set(own)) != len(own):
                    raise DataError(
                        f"person {p} of group {g} has a value twice; use semantics='multiset'"
                    )
                tally.update(own)
                size += 1
            tallies.append(tally)
            sizes.append(size)
        return cls._from_tallies(tallies, sizes, groups, semantics)

    @classmethod
    def _from_tallies(
        cls,
        tallies: Sequence[Counter[Label]],
        sizes: Sequence[int],
        groups: Sequence[Label] | None,
        semantics: Semantics,
    ) -> GroupCounts:
        values = in_order({value for tally in tallies for value in tally})
        code = {value: i for i, value in enumerate(values)}
        offsets = np.cumsum([0, *(len(tally) for tally in tallies)])
        cells = [
            sorted((code[value], count) for value, count in tally.items()) for tally in tallies
        ]
        flat = [cell for row in cells for cell in row]
        return cls(
            whole(sizes, "people"),
            offsets,
            whole([c for c, _ in flat], "codes"),
            whole([n for _, n in flat], "counts"),
            Labels(values),
            groups,
            semantics,
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
        """Build from one (group, value) pair per row, both as codes from 0.

        Parameters
        ----------
        group_codes, value_codes : integer arrays, shape (rows,)
            The group and the value of each row.
        values, groups : sequences
            Labels of the codes.
        n_groups : int
            Number of groups; each must occur.
        weights : integer array, optional
            How often each pair counts; 1 when left out.
        sizes : integer array, optional
            People per group; the rows of each group when left out.
        semantics : {"single", "set", "multiset"}
            As in `GroupCounts`.
        """
        check_codes(group_codes, n_groups, "group")
        check_codes(value_codes, len(values), "value")
        if weights is not None:
            weights = whole(weights, "weights")
            if len(weights) and weights.min() < 1:
                raise DataError(f"weights must be at least 1, not {weights.min()}")
            check_total(weights, "occurrences")
        lengths = [len(x) for x in (group_codes, value_codes, weights) if x is not None]
        if len(set(lengths)) > 1:
            raise DataError(f"codes and weights must be of one length, not {lengths}")
        offsets, codes, counts = count_pairs(
            group_codes, value_codes, n_groups, len(values), weights
        )
        if sizes is None:
            sizes = row_sums(counts, offsets)
        labels = values if isinstance(values, Labels) else Labels(values)
        return cls(sizes, offsets, codes, counts, labels, groups, semantics)

    @classmethod
    def counted(cls, *arrays: IntArray, values: Labels, semantics: Semantics) -> GroupCounts:
        """Take sizes, offsets, codes and counts as they are: for what was counted from counts."""
        made = object.__new__(cls)
        for name, array in zip(("sizes", "offsets", "codes", "counts"), arrays, strict=True):
            array.flags.writeable = False
            object.__setattr__(made, name, array)
        for name, given in (("values", values), ("groups", None), ("semantics", semantics)):
            object.__setattr__(made, name, given)
        return made

    # ---- looking --------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    @property
    def n_values(self) -> int:
        """Number of distinct sensitive values (some may occur in no group)."""
        return len(self.values)

    @cached_property
    def n_people(self) -> int:
        """Number of people over all groups."""
        return int(self.sizes.sum())

    @cached_property
    def cell_groups(self) -> IntArray:
        """The group of each cell, shape (cells,)."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.offsets))

    @cached_property
    def totals(self) -> IntArray:
        """Occurrences of each value over all groups, shape (values,)."""
        # Each partial sum is below 2**53, so the floats of bincount are exact.
        return np.bincount(self.codes, weights=self.counts, minlength=self.n_values).astype(
            np.int64
        )

    def code(self, value: Label) -> int:
        """Code of a value; raises `DataError` with a hint when there is no such value."""
        try:
            return self.values.codes[value]
        except (KeyError, TypeError):
            hint = did_you_mean(str(value), [str(v) for v in self.values[:1000]])
            raise DataError(f"no group contains the sensitive value {value!r}{hint}") from None

    def group_label(self, group: int) -> Label:
        """Name of a group by its position."""
        return group if self.groups is None else self.groups[group]

    def bag(self, group: int) -> dict[Label, int]:
        """Counts of one group, by value label."""
        cells = slice(self.offsets[group], self.offsets[group + 1])
        pairs = zip(self.codes[cells].tolist(), self.counts[cells].tolist(), strict=True)
        return {self.values[code]: count for code, count in pairs}

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What judges have worked out about these counts, kept so that it is worked out once."""
        return {}

    def top_sums(self, most: int, groups: IntArray | None = None) -> IntArray:
        """Sum of the `most` largest counts of each (or each given) group; of all, if fewer."""
        most = min(most, self.n_values)
        chosen = slice(None) if groups is None else groups
        starts, ends = self.offsets[:-1][chosen], self.offsets[1:][chosen]
        running = self._running_descending
        return running[np.minimum(starts + most, ends)] - running[starts]

    @cached_property
    def _running_descending(self) -> IntArray:
        """Running total of all counts, largest first within each group; starts with 0."""
        top = int(self.counts.max(initial=0)) + 1
        if self.n_groups * top < 2**62:
            keys = self.cell_groups * top
            keys += top - 1 - self.counts
            if self.n_groups * top < 2**31:
                keys = keys.astype(np.int32)
            keys.sort(kind="stable")  # nearly sorted already: much faster than quicksort here
            descending = top - 1 - keys.astype(np.int64) % top
        else:
            descending = self.counts[np.lexsort((-self.counts, self.cell_groups))]
        return np.concatenate(([0], np.cumsum(descending)))

    def take(self, groups: NDArray[Any]) -> GroupCounts:
        """Only the given groups (positions, or a boolean mask), in that order."""
        wanted = np.asarray(groups)
        if not wanted.size:
            wanted = wanted.astype(np.int64)
        if wanted.dtype == bool:
            if len(wanted) != self.n_groups:
                raise DataError(f"the mask is for {len(wanted)} groups, there are {self.n_groups}")
            wanted = np.flatnonzero(wanted)
        elif wanted.size and (wanted.min() < 0 or wanted.max() >= self.n_groups):
            raise DataError(f"groups must lie in 0..{self.n_groups - 1}")
        cells, offsets = ranges(self.offsets[wanted], self.offsets[wanted + 1])
        names = None if self.groups is None else [self.groups[g] for g in wanted.tolist()]
        return GroupCounts(
            self.sizes[wanted],
            offsets,
            self.codes[cells],
            self.counts[cells],
            self.values,
            names,
            self.semantics,
        )

    def merge(self, into: ArrayLike) -> GroupCounts:
        """Unite groups: group g goes into the new group ``into[g]``; codes from 0, none empty."""
        target = whole(into, "into")
        if len(target) != self.n_groups or (len(target) and target.min() < 0):
            raise DataError(f"into must name a new group, from 0, for each of {self.n_groups}")
        n_groups = int(target.max(initial=-1)) + 1
        return GroupCounts.from_pairs(
            target[self.cell_groups],
            self.codes,
            values=self.values,
            n_groups=n_groups,
            weights=self.counts,
            sizes=np.bincount(target, weights=self.sizes, minlength=n_groups).astype(np.int64),
            semantics=self.semantics,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON where the labels are."""
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
        parts = (self.sizes, self.offsets, self.codes, self.counts)
        return (GroupCounts, (*parts, self.values, self.groups, self.semantics))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupCounts):
            return NotImplemented
        names = ("sizes", "offsets", "codes", "counts")
        return (
            self.semantics == other.semantics
            and self.values == other.values
            and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"GroupCounts({self.n_groups} groups, {self.n_people} people, "
            f"{self.n_values} values, {self.semantics})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"
